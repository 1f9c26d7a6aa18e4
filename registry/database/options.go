package database

import (
	"log/slog"
	"time"
)

// Options say which database, and how a registry behaves in it.
type Options struct {
	// DSN is the database's address, as package mysql reads it.
	DSN string
	// Lease is the silence after which a leader has lost the lead, DefaultLease when zero.
	Lease time.Duration
	// Seen is the file that remembers the latest commit which this server has seen. Empty: it is remembered in memory
	// only.
	Seen string
	// Logger gets what an operator should know; nil: nobody.
	Logger *slog.Logger
	// Dial makes connections; nil: a net.Dialer's.
	Dial Dial
}

// DefaultLease and its bounds. The server's timeouts, which are in seconds, are made of it.
const (
	DefaultLease = 10 * time.Second
	LeastLease   = 2 * time.Second
	MostLease    = 5 * time.Minute
)

func (o *Options) setDefaults() {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

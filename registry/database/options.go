package database

import (
	"log/slog"
	"time"
)

// Options choose the database and the behaviour of the registry in it.
type Options struct {
	// DSN is the address of the database, in the form that mysql.Config reads.
	DSN string
	// Lease is how long a leader may be silent before it loses the leadership; zero means DefaultLease.
	Lease time.Duration
	// Seen is the file in which this server records the latest position of the registry that it has observed. If it is
	// "", the server remembers the position only in memory.
	Seen string
	// Logger receives the messages for operators; nil discards them.
	Logger *slog.Logger
	// Dial connects to the database; nil uses a net.Dialer.
	Dial Dial
}

// DefaultLease, MinLease and MaxLease are the default and the bounds of Options.Lease. The database's timeouts are
// half a lease in whole seconds, so a lease cannot be shorter.
const (
	DefaultLease = 10 * time.Second
	MinLease     = 2 * time.Second
	MaxLease     = 5 * time.Minute
)

func (o *Options) setDefaults() {
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

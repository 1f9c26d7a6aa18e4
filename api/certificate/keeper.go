package certificate

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// lookEvery is how often the files are looked at.
const lookEvery = time.Second

// Keeper has the certificate that is in force. Its methods may be called concurrently, but for Run.
type Keeper struct {
	files Files
	now   func() time.Time

	force atomic.Pointer[pair]
	fault atomic.Pointer[string] // why what the files hold now is not in force; nil if it is

	// These are Run's own: what is in force, in how many looks in a row the files could not be used, and the fault
	// that was logged last.
	taken    contents
	failed   int
	reported string
}

// Open reads the files, or says what is wrong with them; now is the clock. A certificate whose time is over, or has
// not begun, is taken: Warning says so.
func Open(files Files, now func() time.Time) (*Keeper, error) {
	k := &Keeper{files: files, now: now}
	var err error
	if k.taken, err = files.read(); err != nil {
		return nil, err
	}
	p, err := files.parse(k.taken)
	if err != nil {
		return nil, err
	}
	k.force.Store(p)
	return k, nil
}

// Run keeps up with the files until ctx ends. It may run once.
func (k *Keeper) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.look(log)
		}
	}
}

// look takes what the files hold, if that is something else than before and can be used.
func (k *Keeper) look(log *slog.Logger) {
	found, err := k.files.read()
	if err == nil && found.equal(k.taken) {
		k.settle(log, "TLS certificate files are again those in force")
		return
	}
	var p *pair
	if err == nil {
		p, err = k.files.parse(found)
	}
	if err == nil {
		err = p.outOfTime(k.files.Cert, k.now())
	}
	if err != nil {
		k.refuse(log, err)
		return
	}
	k.taken = found
	k.force.Store(p)
	log.Info("TLS certificate reloaded", "file", k.files.Cert, "expires", p.notAfter())
	k.settle(log, "TLS certificate files can be used again")
}

// settle ends a fault, if there was one.
func (k *Keeper) settle(log *slog.Logger, message string) {
	if k.fault.Swap(nil) != nil {
		log.Info(message, "file", k.files.Cert)
	}
	k.failed, k.reported = 0, ""
}

// refuse reports what is wrong with the files at the second look in a row that finds something: who renews them writes
// one after the other, and between the two they don't match.
func (k *Keeper) refuse(log *slog.Logger, err error) {
	if k.failed++; k.failed < 2 {
		return
	}
	text := err.Error()
	k.fault.Store(&text)
	if text != k.reported {
		k.reported = text
		log.Error("TLS certificate not reloaded: the one before stays in force", "expires", k.NotAfter(), "error", err)
	}
}

// Server is how to speak TLS with clients: TLS 1.2 or later, HTTP/2 if they can, with the certificate that is in force
// by then.
func (k *Keeper) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &k.force.Load().certificate,
				nil
		},
	}
}

// Client is how to speak TLS with another server of a name or address, whom this one trusts now. It does not offer
// HTTP/2.
func (k *Keeper) Client(host string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: k.force.Load().roots, ServerName: host}
}

// NotAfter is when the certificate that is in force expires.
func (k *Keeper) NotAfter() time.Time { return k.force.Load().notAfter() }

// Warning says what is wrong with the files or with the time of the certificate that is in force; empty if nothing is.
func (k *Keeper) Warning() string {
	p, now := k.force.Load(), k.now()
	err := cmp.Or(p.outOfTime(k.files.Cert, now), p.expiresSoon(k.files.Cert, now))
	fault := k.fault.Load()
	switch {
	case fault != nil && err != nil:
		return fmt.Sprintf("%v; what is in the files now can't be used: %s", err, *fault)
	case fault != nil:
		return fmt.Sprintf("the TLS certificate was not reloaded, and the one that expires at %s stays in force: %s",
			p.notAfter().UTC().Format(time.RFC3339), *fault)
	case err != nil:
		return err.Error()
	}
	return ""
}

// Names says why clients that reach this server as a host won't take its certificate, or nothing.
func (k *Keeper) Names(host string) error {
	return k.force.Load().certificate.Leaf.VerifyHostname(host)
}

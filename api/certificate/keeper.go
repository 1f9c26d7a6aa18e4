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

// checkInterval is the interval at which the files are read.
const checkInterval = time.Second

// Keeper holds the certificate in force. Its methods may be called concurrently, except Run.
type Keeper struct {
	files Files
	now   func() time.Time

	current atomic.Pointer[pair]
	fault   atomic.Pointer[string] // why the present contents of the files are not in force; nil if they are

	// Only Run uses these fields.
	loaded      contents // the contents in force
	failedLoads int      // the number of reads or checks in a row that have failed
	loggedFault string   // the last fault in the log
}

// Open reads and checks the files; now is the clock. It accepts a certificate that has expired or is not valid yet, so
// that the server starts. Warning reports it.
func Open(files Files, now func() time.Time) (*Keeper, error) {
	k := &Keeper{files: files, now: now}
	var err error
	if k.loaded, err = files.read(); err != nil {
		return nil, err
	}
	p, err := files.parse(k.loaded)
	if err != nil {
		return nil, err
	}
	k.current.Store(p)
	return k, nil
}

// Run reloads the files when they change, until ctx ends. It may run only once.
func (k *Keeper) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.reload(log)
		}
	}
}

// reload puts the files' contents in force if they have changed and are valid.
func (k *Keeper) reload(log *slog.Logger) {
	found, err := k.files.read()
	if err == nil && found.equal(k.loaded) {
		k.clearFault(log, "TLS certificate files restored")
		return
	}
	var p *pair
	if err == nil {
		p, err = k.files.parse(found)
	}
	if err == nil {
		err = p.checkValidity(k.files.Cert, k.now())
	}
	if err != nil {
		k.recordFault(log, err)
		return
	}
	k.loaded = found
	k.current.Store(p)
	log.Info("TLS certificate reloaded", "file", k.files.Cert, "expires", p.notAfter())
	k.clearFault(log, "TLS certificate files usable again")
}

// clearFault ends a fault, if there is one, and logs the message.
func (k *Keeper) clearFault(log *slog.Logger, message string) {
	if k.fault.Swap(nil) != nil {
		log.Info(message, "file", k.files.Cert)
	}
	k.failedLoads, k.loggedFault = 0, ""
}

// recordFault records and logs a fault of the files, but not at the first failure: tools that renew the files
// write one after the other, and in between the files do not match.
func (k *Keeper) recordFault(log *slog.Logger, err error) {
	if k.failedLoads++; k.failedLoads < 2 {
		return
	}
	text := err.Error()
	k.fault.Store(&text)
	if text != k.loggedFault {
		k.loggedFault = text
		log.Error("TLS certificate not reloaded: the previous one stays in force", "expires", k.NotAfter(), "error",
			err)
	}
}

// Server returns the TLS configuration of the server: TLS 1.2 or later, and HTTP/2 if the client supports it. Each
// handshake uses the certificate in force at that time.
func (k *Keeper) Server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &k.current.Load().certificate, nil
		},
	}
}

// Client returns the TLS configuration for a connection to the server with this host name or address. It trusts the
// certificates that are in force now, and does not offer HTTP/2.
func (k *Keeper) Client(host string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: k.current.Load().roots, ServerName: host}
}

// NotAfter returns when the certificate in force expires.
func (k *Keeper) NotAfter() time.Time { return k.current.Load().notAfter() }

// Warning returns a text about problems of the files and of the validity period of the certificate in force, or "".
func (k *Keeper) Warning() string {
	p, now := k.current.Load(), k.now()
	err := cmp.Or(p.checkValidity(k.files.Cert, now), p.expiresSoon(k.files.Cert, now))
	fault := k.fault.Load()
	switch {
	case fault != nil && err != nil:
		return fmt.Sprintf("%v; the present contents of the files cannot be used: %s", err, *fault)
	case fault != nil:
		return fmt.Sprintf("the TLS certificate was not reloaded, and the one that expires at %s stays in force: %s",
			p.notAfter().UTC().Format(time.RFC3339), *fault)
	case err != nil:
		return err.Error()
	}
	return ""
}

// VerifyHost returns an error if the certificate in force is not valid for the host. Clients that connect to this host
// would then refuse the certificate.
func (k *Keeper) VerifyHost(host string) error {
	return k.current.Load().certificate.Leaf.VerifyHostname(host)
}

package forward

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/elasticjob-go/elasticjob/api/admission"
	"github.com/elasticjob-go/elasticjob/api/certificate"
	"github.com/elasticjob-go/elasticjob/api/failure"
)

// dialTimeout bounds the time in which a follower connects to the leader, and separately the time of the TLS
// handshake.
const dialTimeout = 2 * time.Second

// leaderTransports carry requests to the leader. Every write gets a new connection, because on a reused connection
// Go's transport may silently send a request a second time, and a follower never repeats a write (rule T3). Both
// transports use HTTP/1.1, also over TLS: requests that share an HTTP/2 connection would all break off with it.
type leaderTransports struct {
	scheme        string
	reads, writes *http.Transport
}

// newLeaderTransports returns the transports. They use TLS if own, this server's certificate, is not nil.
func newLeaderTransports(own *certificate.Keeper) leaderTransports {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	reads := &http.Transport{
		DialContext: dialer.DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
	}
	scheme := "http"
	if own != nil {
		scheme, reads.DialTLSContext = "https", secureDial(dialer, own)
	}
	writes := reads.Clone()
	writes.DisableKeepAlives = true
	return leaderTransports{scheme: scheme, reads: reads, writes: writes}
}

// secureDial returns a dial function for TLS connections. Each connection trusts the certificates that are in force at
// that time, so that a change of them needs no restart.
func secureDial(dialer *net.Dialer, own *certificate.Keeper) func(ctx context.Context, network,
	address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		plain, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		secure := tls.Client(plain, own.Client(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = plain.Close() // its error would say less than that of the handshake
			return nil, err
		}
		return secure, nil
	}
}

func (t leaderTransports) close() {
	t.reads.CloseIdleConnections()
	t.writes.CloseIdleConnections()
}

// leaderCheckInterval is the interval at which a follower checks who leads, while it waits for an answer or for the
// next leader.
const leaderCheckInterval = 50 * time.Millisecond

// otherLeads reports whether a server with another address is known to lead.
func (h *Forwarder) otherLeads(address string) bool {
	leader, ok := h.Scheduler.Leader()
	return ok && leader.Address != address
}

// nextLeader returns the address of the leader to which the request is sent. previous is the address that the last
// attempt used. If previous is "", nextLeader returns at once. Otherwise it waits for another leader; self is true if
// this server is that leader.
func (h *Forwarder) nextLeader(ctx context.Context, r *http.Request, previous string) (address string, self bool,
	err error) {
	if previous == "" {
		address, err = h.leaderAddress(r)
		return address, false, err
	}
	tick := time.NewTicker(leaderCheckInterval)
	defer tick.Stop()
	for {
		if h.Scheduler.Health().Leading {
			return "", true, nil
		}
		if address, err = h.leaderAddress(r); err == nil && address != previous {
			return address, false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false, cmp.Or(err, errNoNext)
		case <-h.ShuttingDown.Done():
			return "", false, errShuttingDown
		}
	}
}

// leaderAddress returns the leader's address, or an error that says why the request cannot be forwarded. A request
// that another server has forwarded is not forwarded again.
func (h *Forwarder) leaderAddress(r *http.Request) (string, error) {
	if from := r.Header.Get(admission.ForwardedBy); from != "" {
		return "", failure.Unchanged("not_leading",
			"the server at %s forwarded this to a server that does not lead: try again",
			failure.Quoted(from))
	}
	leader, ok := h.Scheduler.Leader()
	switch {
	case !ok:
		return "", failure.Unchanged("no_leader", "no leader is known: try again. Last known state: %s",
			cmp.Or(h.Scheduler.Health().Detail, "waiting for an election"))
	case leader.Self || leader.Address == h.Advertise:
		return "", failure.Unchanged("not_leading",
			"the leader's address is this server's own, %s, and this server does not lead: it is just becoming or ceasing to be the leader, or an earlier run of it led a moment ago: try again. If that lasts, another server has the same --advertise",
			h.Advertise)
	}
	return leader.Address, nil
}

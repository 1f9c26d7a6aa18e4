// Package caller says who a request comes from, and what of the scheduler they may see.
package caller

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
)

// Caller is who a request comes from: nobody, on an open route, or one who was let in.
type Caller struct {
	auth.Principal
	// From is the client's address.
	From string
	// Lapsed, if not nil, reports whether what they were let in by has ended since, for answers that last.
	Lapsed func() bool
}

// LetIn reports whether it is known who this is.
func (c Caller) LetIn() bool { return c.Kind != "" }

// SeesAll reports whether the caller may read what belongs to no app, such as who leads.
func (c Caller) SeesAll() bool { return c.Includes(auth.Viewer) && c.Unrestricted() }

// ForSome reports whether what the caller may do is for some apps only.
func (c Caller) ForSome() bool { return !c.Unrestricted() }

// Actor is the caller as the audit names one.
func (c Caller) Actor() event.Actor {
	return event.Actor{Name: c.Name, Kind: string(c.Kind), From: c.From}
}

// Of is who the request of a context comes from, nobody if it was not let in.
func Of(ctx context.Context) Caller {
	who, _ := ctx.Value(callerKey{}).(Caller)
	return who
}

// With gives a context to the requests of a caller.
func With(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// WithSocketPeer gives a context to the requests of a Unix socket, which are all from one principal.
func WithSocketPeer(ctx context.Context, p auth.Principal) context.Context {
	return context.WithValue(ctx, socketKey{}, p)
}

// SocketPeer is who the requests of a Unix socket come from; false for a request that came in otherwise.
func SocketPeer(ctx context.Context) (auth.Principal, bool) {
	p, ok := ctx.Value(socketKey{}).(auth.Principal)
	return p, ok
}

// WithForwardedFor gives a context to a request that a follower has forwarded, with the address of its client, which
// the follower has proved.
func WithForwardedFor(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, forwardedForKey{}, client)
}

// Address is where a request comes from: the other end of the connection, or, of a forwarded one, what the
// follower has proved.
func Address(r *http.Request) string {
	if _, ok := SocketPeer(r.Context()); ok {
		return "socket"
	}
	if proved, ok := r.Context().Value(forwardedForKey{}).(string); ok {
		return proved
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr // of a Unix socket
}

// NotAllowed is the answer to one who was let in, and may not do this.
func NotAllowed(p auth.Principal, needs string) error {
	has := p.Role.String()
	if !p.Unrestricted() {
		has += " for the apps " + strings.Join(p.Apps, ", ")
	}
	return failure.New(http.StatusForbidden, "not_allowed", "this needs %s; %s has %s", needs, failure.Quoted(p.Name),
		has)
}

// These keys of a request's context hold the caller, who a Unix socket's requests come from, and the client's address
// as the follower that forwarded a request has proved it.
type (
	callerKey       struct{}
	socketKey       struct{}
	forwardedForKey struct{}
)

// Scheme is the scheme by which a request came to this server.
func Scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

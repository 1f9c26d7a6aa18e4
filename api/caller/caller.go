// Package caller determines the caller of a request and which apps and jobs the caller may see.
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

// Caller is the principal that sent a request. Its Kind is "" if the caller was not authenticated, as on a public
// route.
type Caller struct {
	auth.Principal
	// From is the client's address.
	From string
	// Lapsed reports whether the caller would no longer be admitted, for example because the token has expired or was
	// removed. Streams poll it. It may be nil.
	Lapsed func() bool
}

// IsAuthenticated reports whether the caller has been authenticated.
func (c Caller) IsAuthenticated() bool { return c.Kind != "" }

// CanSeeAll reports whether the caller may read data that belongs to no app, such as which server leads.
func (c Caller) CanSeeAll() bool { return c.Includes(auth.Viewer) && c.Unrestricted() }

// IsRestricted reports whether the caller's grant covers only some apps.
func (c Caller) IsRestricted() bool { return !c.Unrestricted() }

// Actor returns the caller as the audit records it.
func (c Caller) Actor() event.Actor {
	return event.Actor{Name: c.Name, Kind: string(c.Kind), From: c.From}
}

// Of returns the caller of the request with this context. It is the zero Caller if no caller was authenticated.
func Of(ctx context.Context) Caller {
	who, _ := ctx.Value(callerKey{}).(Caller)
	return who
}

// With returns a context for a request of the caller.
func With(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// WithSocketPeer returns a context for the requests over a Unix socket, which all come from the principal.
func WithSocketPeer(ctx context.Context, p auth.Principal) context.Context {
	return context.WithValue(ctx, socketKey{}, p)
}

// SocketPeer returns the principal of a request over a Unix socket. It returns false if the request came over another
// connection.
func SocketPeer(ctx context.Context) (auth.Principal, bool) {
	p, ok := ctx.Value(socketKey{}).(auth.Principal)
	return p, ok
}

// WithForwardedFor returns a context for a request that a follower has forwarded. client is the address of the
// original client, from the follower's proof.
func WithForwardedFor(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, forwardedForKey{}, client)
}

// Address returns the client's address: "socket" for a Unix socket, the address in the follower's proof for a
// forwarded request, otherwise the other end of the connection.
func Address(r *http.Request) string {
	if _, ok := SocketPeer(r.Context()); ok {
		return "socket"
	}
	if client, ok := r.Context().Value(forwardedForKey{}).(string); ok {
		return client
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr // it has no port
}

// NotAllowed returns the error for an authenticated caller who lacks a role or a grant (403). needs describes what is
// required, such as "the role admin".
func NotAllowed(p auth.Principal, needs string) error {
	has := p.Role.String()
	if !p.Unrestricted() {
		has += " for the apps " + strings.Join(p.Apps, ", ")
	}
	return failure.New(http.StatusForbidden, "not_allowed", "this needs %s; %s has %s", needs, failure.Quoted(p.Name),
		has)
}

// These are keys of values in a request's context.
type (
	callerKey       struct{} // the Caller
	socketKey       struct{} // the principal of a Unix socket
	forwardedForKey struct{} // the client's address in a follower's proof
)

// Scheme returns the URL scheme of a request's connection: "https" with TLS, otherwise "http".
func Scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

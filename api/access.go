package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// caller is who a request comes from: nobody, on an open route, or one who was let in.
type caller struct {
	auth.Principal
	// from is the client's address.
	from string
	// lapsed, if not nil, reports whether what they were let in by has ended since, for answers that last.
	lapsed func() bool
}

// letIn reports whether it is known who this is.
func (c caller) letIn() bool { return c.Kind != "" }

// seesAll reports whether the caller may read what belongs to no app, such as who leads.
func (c caller) seesAll() bool { return c.Includes(auth.Viewer) && c.Unrestricted() }

// forSome reports whether what the caller may do is for some apps only.
func (c caller) forSome() bool { return !c.Unrestricted() }

// actor is the caller as the audit names one.
func (c caller) actor() event.Actor {
	return event.Actor{Name: c.Name, Kind: string(c.Kind), From: c.from}
}

// These keys of a request's context hold the caller; whoever a Unix socket's requests come from; that the listener can
// be reached from other machines; and the client's address as the follower that forwarded a request has proved it.
type (
	callerKey       struct{}
	socketKey       struct{}
	wideKey         struct{}
	forwardedForKey struct{}
)

func callerOf(ctx context.Context) caller {
	who, _ := ctx.Value(callerKey{}).(caller)
	return who
}

// clientAddress is where a request comes from: the other end of the connection, or, of a forwarded one, what the
// follower has proved.
func clientAddress(r *http.Request) string {
	if _, ok := r.Context().Value(socketKey{}).(auth.Principal); ok {
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

// admit lets a request in, or ends it here. Its order is that of the original: who asks comes before what is asked
// for.
func (s *Server) admit(c *gin.Context) {
	rule := s.ruleOf(c)
	who, err := s.identify(c.Request, rule)
	c.Request = c.Request.WithContext(scheduler.WithActor(context.WithValue(c.Request.Context(), callerKey{}, who),
		who.actor()))
	if err == nil {
		err = rule.check(who.Principal)
	}
	if err == nil {
		err = bound(c.Writer, c.Request, rule)
	}
	if err != nil {
		dropBadCookie(c, err)
		fail(c.Writer, c.Request, s.log, err)
		c.Abort()
	}
}

// identify finds out who asks. On an open route whoever can't be identified is nobody.
func (s *Server) identify(r *http.Request, rule rule) (who caller, err error) {
	who.from = clientAddress(r)
	if p, ok := r.Context().Value(socketKey{}).(auth.Principal); ok {
		who.Principal = p
		return who, nil
	}
	state := s.state()
	unguarded := state == auth.Empty && isOfThisMachine(r)
	if err := s.checkOrigin(r, rule, unguarded); err != nil {
		return who, err
	}
	if unguarded {
		who.Principal = auth.Principal{Kind: auth.Machine, Grant: auth.Grant{Role: auth.Admin}}
		who.lapsed = func() bool { return s.state() == auth.Closed }
		return who, nil
	}
	who.Principal, who.lapsed, err = s.authenticate(r, state)
	if rule.scope == open {
		err = nil
	}
	return who, err
}

// isOfThisMachine reports whether a request came in by a loopback address of a listener that has no others, and by no
// proxy: one on this machine connects from here for clients that are anywhere.
func isOfThisMachine(r *http.Request) bool {
	wide, _ := r.Context().Value(wideKey{}).(bool)
	here, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !wide && ok && here.IP.IsLoopback() && !isProxied(r)
}

// proxyHeaders are headers that reverse proxies, load balancers and CDNs add to requests, and that clients of this API
// don't send. A * at the end of a name stands for any rest. A proxy whose headers are missing here would open a server
// without users to all its clients.
var proxyHeaders = []string{
	"Forwarded*", "X-Forwarded*", "Via", "X-Via*", "Proxy-*", "X-Proxy*", "Wl-Proxy-*", "X-Real-*", "X-Remote-*",
	"X-Client-*", "Client-Ip", "X-Cluster-*", "True-Client-*", "X-True-Client-*", "X-Original-*", "X-Originating-*",
	"X-Rewrite-*", "X-Host", "X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Varnish*", "X-Envoy-*", "X-Arr-*",
	"Cdn-*", "X-Cdn-*", "Cf-*", "Fastly-*", "X-Fastly-*", "Akamai-*", "X-Akamai-*", "Incap-*", "X-Sucuri-*", "Ali-*",
	"Eagleid", "Fly-*", "X-Azure-*", "X-Appengine-*", "X-Cloud-Trace-*", "X-Amzn-*", "X-Amz-*", "Cloudfront-*",
	"Do-Connecting-*", "X-Vercel-*", "X-Nf-*", "X-Heroku-*", "Tailscale-*", "Ngrok-*",
}

// isProxied reports whether a request has a header that a proxy adds. What the header says is never believed.
func isProxied(r *http.Request) bool {
	for name := range r.Header {
		for _, known := range proxyHeaders {
			begin, all := strings.CutSuffix(known, "*")
			if name == known || all && strings.HasPrefix(name, begin) {
				return true
			}
		}
	}
	return false
}

var (
	errNoUsers = failed(http.StatusForbidden, "no_users",
		"this server has no users yet, and its address can be reached from other machines, or the request came through a proxy: so it serves health and artifacts only. "+
			"On its machine, type: scheduler user add NAME --role admin, with the --registry, --zk, --zk-namespace or --data-dir that the server has; then POST /api/login")
	errAccessUnknown = notBegun("access_unknown",
		"who may do what is not known here at present, as the registry does not answer: try again; if that lasts, look at the registry")
	errTokenMissing = failed(http.StatusUnauthorized, "token_missing",
		"this server asks who you are: POST /api/login with a username and a password, and send the accessToken of its answer, "+
			"or an API token, as Authorization: Bearer TOKEN")
	errSeveralTokens = badRequest("several_tokens",
		"the request brings several tokens: send one, as Authorization: Bearer TOKEN or as accessToken, once")
	errNoOrigin = failed(http.StatusForbidden, "origin_not_allowed",
		"a change that is asked for with a session's cookie needs the header Origin, which browsers send; "+
			"programs send a token as Authorization: Bearer TOKEN")
)

// authenticate finds out who has the token that a request brings, and says later whether it has lapsed since. One that
// came as a cookie goes on as Authorization, so that the leader need not know how it came.
func (s *Server) authenticate(r *http.Request, state auth.State) (nobody auth.Principal, lapsed func() bool,
	err error) {
	if state == auth.Empty {
		return nobody, nil, errNoUsers
	}
	token, byCookie, err := givenToken(r)
	if err != nil && state == auth.Unknown || s.opts.Access == nil {
		return nobody, nil, errAccessUnknown
	}
	if err != nil {
		return nobody, nil, err
	}
	p, err := s.opts.Access.Authenticate(token)
	if err != nil {
		return nobody, nil, err
	}
	if byCookie {
		if !isRead(r.Method) && r.Header.Get("Origin") == "" {
			return nobody, nil, errNoOrigin
		}
		r.Header.Del("Cookie")
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return p, func() bool {
		_, err := s.opts.Access.Authenticate(token)
		return errors.As(err, new(*auth.Refused)) // and not because nobody knows at present
	}, nil
}

// givenToken is the one token that a request brings: as Authorization: Bearer, in the header of the original's
// clients, written in either way, or as a session's cookie. Who brings several that differ, or a header twice, may not
// mean what a proxy before us has taken it for.
func givenToken(r *http.Request) (token string, byCookie bool, err error) {
	take := func(given string) {
		if given = strings.TrimSpace(given); given == "" {
			return
		}
		if token != "" && token != given {
			err = errSeveralTokens
		}
		token = given
	}
	other := false
	for _, name := range []string{"Authorization", "accessToken", "Access-Token"} {
		values := r.Header.Values(name)
		if len(values) > 1 {
			return "", false, errSeveralTokens
		}
		if len(values) == 0 {
			continue
		}
		text := values[0]
		if name == "Authorization" {
			scheme, rest, _ := strings.Cut(text, " ")
			if !strings.EqualFold(scheme, "Bearer") { // such as Basic, for a proxy
				other = other || text != ""
				continue
			}
			text = rest
		}
		take(text)
	}
	byCookie = token == ""
	for _, cookie := range r.CookiesNamed(sessionCookie(r)) {
		take(cookie.Value)
	}
	switch {
	case err != nil:
		return "", false, err
	case token == "" && other:
		return "", false, &auth.Refused{Code: auth.BadToken,
			Why: "that is no token of this server: send Authorization: Bearer TOKEN"}
	case token == "":
		return "", false, errTokenMissing
	}
	return token, byCookie, nil
}

// refusedAccess is what an error of auth.Access is answered with, or nil for any other error.
func refusedAccess(err error) *failure {
	var refused *auth.Refused
	var many *auth.TooMany
	switch {
	case errors.As(err, &refused):
		return failed(http.StatusUnauthorized, refused.Code, "%s", refused.Why)
	case errors.As(err, &many):
		f := failed(http.StatusTooManyRequests, "too_many_logins", "%s", many.Error())
		f.retryAfter = many.RetryAfter
		return f
	case errors.Is(err, auth.ErrUnavailable):
		return errAccessUnknown
	case errors.Is(err, auth.ErrFull):
		return failed(http.StatusConflict, "access_full", "%s", err.Error())
	}
	return nil
}

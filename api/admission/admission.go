// Package admission decides whether a request is admitted. The decision depends on its caller, its origin, and the
// rule of its route.
package admission

import (
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// Options are the dependencies of an Admission.
type Options struct {
	Answers *answer.Writer
	// Access authenticates tokens. If it is nil, only requests of public routes and requests over the Unix socket are
	// admitted.
	Access interface {
		Authenticate(token string) (auth.Principal, error)
	}
	// State returns Empty if there are no users, so that no login is required, Closed if one is required, and Unknown
	// if that is not known now.
	State func() auth.State
	// Proofs signs and verifies the headers with which a follower forwards a request. If it is nil, this server does
	// not sign these headers, and ignores those that it receives.
	Proofs Proofs
	// Advertise is the host:port under which others reach this server. While no login is required, a request is
	// admitted only if its header Host names this machine itself or the host of Advertise.
	Advertise string
	// RuleOf returns the rule of a request's route.
	RuleOf func(c *gin.Context) route.Rule
}

// Admission admits requests or answers them with an error.
type Admission struct{ Options }

// New returns an Admission.
func New(o Options) *Admission { return &Admission{o} }

// Admit admits a request, or answers it with an error and aborts it. As in Apache ElasticJob-Cloud, the caller is
// authenticated before the content of the request is checked.
func (h *Admission) Admit(c *gin.Context) {
	rule := h.RuleOf(c)
	who, err := h.identify(c.Request, rule)
	c.Request = c.Request.WithContext(scheduler.WithActor(caller.With(c.Request.Context(), who), who.Actor()))
	if err == nil {
		err = rule.Check(who.Principal)
	}
	if err == nil {
		err = request.Bound(c.Writer, c.Request, rule.Scope == route.ScopePublic)
	}
	if err != nil {
		access.DropBadCookie(c, err)
		h.Answers.Fail(c.Writer, c.Request, err)
		c.Abort()
	}
}

// identify determines the caller, and checks the origin of the request unless it came over the Unix socket. On a
// public route, a caller who cannot be authenticated is anonymous.
func (h *Admission) identify(r *http.Request, rule route.Rule) (who caller.Caller, err error) {
	who.From = caller.Address(r)
	if p, ok := caller.SocketPeer(r.Context()); ok {
		who.Principal = p
		return who, nil
	}
	state := h.State()
	unguarded := state == auth.Empty && caller.IsLocal(r)
	if err := h.checkOrigin(r, rule, unguarded); err != nil {
		return who, err
	}
	if unguarded {
		who.Principal = auth.Principal{Kind: auth.Machine, Grant: auth.Grant{Role: auth.Admin}}
		who.Lapsed = func() bool { return h.State() == auth.Closed }
		return who, nil
	}
	who.Principal, who.Lapsed, err = h.authenticate(r, state)
	if rule.Scope == route.ScopePublic {
		err = nil
	}
	return who, err
}

var (
	errNoUsers = failure.New(http.StatusForbidden, "no_users",
		"this server has no users yet. Until it has one, it serves only health and artifacts to requests that come through a proxy, or to an address that other machines can reach. Create the first user on its machine: scheduler user add NAME --role admin, with the --registry, --zk, --zk-namespace or --data-dir that the server has; then POST /api/login")
	errTokenMissing = failure.New(http.StatusUnauthorized, "token_missing",
		"a token is required: POST /api/login with a username and a password and send the accessToken of the answer, or send an API token, as Authorization: Bearer TOKEN")
	errSeveralTokens = failure.BadRequest("several_tokens",
		"the request has several tokens: send one, as Authorization: Bearer TOKEN or as accessToken, once")
	errNoOrigin = failure.New(http.StatusForbidden, "origin_not_allowed",
		"a change requested with a session cookie needs the header Origin, which browsers send; "+
			"programs send a token as Authorization: Bearer TOKEN")
)

// authenticate returns the principal of a request's token, and a function that reports later whether the token has
// become invalid. It moves a token from a cookie into the header Authorization, so that a follower forwards both kinds
// of requests in the same form.
func (h *Admission) authenticate(
	r *http.Request, state auth.State,
) (p auth.Principal, lapsed func() bool, err error) {
	if state == auth.Empty {
		return p, nil, errNoUsers
	}
	token, byCookie, err := requestToken(r)
	// Without a usable token, the caller can't be told to log in while it is unknown whether that is required.
	if err != nil && state == auth.Unknown || h.Access == nil {
		return p, nil, failure.ErrAccessUnknown
	}
	if err != nil {
		return p, nil, err
	}
	p, err = h.Access.Authenticate(token)
	if err != nil {
		return p, nil, err
	}
	if byCookie {
		if !failure.IsRead(r.Method) && r.Header.Get("Origin") == "" {
			return p, nil, errNoOrigin
		}
		r.Header.Del("Cookie")
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return p, func() bool {
		_, err := h.Access.Authenticate(token)
		return errors.As(err, new(*auth.Refused)) // any other error leaves open whether the token is valid
	}, nil
}

// requestToken returns the token of a request: from Authorization: Bearer, from the header of the original's clients
// in either spelling, or from the session cookie. byCookie is set if only the cookie has it. A request with different
// tokens, or with the same header twice, is an error, because a proxy may have authorized another token than this
// server would.
func requestToken(r *http.Request) (token string, byCookie bool, err error) {
	add := func(text string) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		if token != "" && token != text {
			err = errSeveralTokens
		}
		token = text
	}
	otherScheme := false
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
			if !strings.EqualFold(scheme, "Bearer") { // such as Basic, whose credentials are for a proxy
				otherScheme = otherScheme || text != ""
				continue
			}
			text = rest
		}
		add(text)
	}
	byCookie = token == ""
	for _, cookie := range r.CookiesNamed(access.SessionCookie(r)) {
		add(cookie.Value)
	}
	switch {
	case err != nil:
		return "", false, err
	case token == "" && otherScheme:
		return "", false, &auth.Refused{Code: auth.BadToken,
			Why: "the credentials are not a token of this server: send Authorization: Bearer TOKEN"}
	case token == "":
		return "", false, errTokenMissing
	}
	return token, byCookie, nil
}

// Package access handles the routes of logins, sessions, users and API tokens.
package access

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
)

// Access manages users, logins and API tokens. *auth.Access implements it; its methods document their errors.
type Access interface {
	// State, Authenticate, Users and Tokens return at once.
	State() auth.State
	Authenticate(token string) (auth.Principal, error)
	Login(ctx context.Context, name, password, from string) (token string, p auth.Principal, err error)
	Logout(ctx context.Context, p auth.Principal) error
	// CheckPassword checks a password as Login does, without issuing a token.
	CheckPassword(ctx context.Context, name, password, from string) error

	Users() ([]auth.Account, error)
	AddUser(ctx context.Context, actor event.Actor, name, password string, grant auth.Grant) (auth.Account, error)
	ChangeUser(ctx context.Context, actor event.Actor, name string, grant auth.Grant) (auth.Account, error)
	SetPassword(ctx context.Context, actor event.Actor, name, password string) error
	EndLogins(ctx context.Context, actor event.Actor, name string) error
	ReplaceKeys(ctx context.Context, actor event.Actor) error
	RemoveUser(ctx context.Context, actor event.Actor, name string) error

	Tokens() ([]auth.APIToken, error)
	AddToken(ctx context.Context, actor event.Actor, name string, grant auth.Grant, expires time.Time) (token string,
		made auth.APIToken, err error)
	RemoveToken(ctx context.Context, actor event.Actor, name string) error
}

var _ Access = (*auth.Access)(nil)

// Options are the dependencies of the handlers of logins, users and tokens.
type Options struct {
	Log     *slog.Logger
	Answers *answer.Writer
	// Access may be nil. Then no one can log in.
	Access Access
	// OpenID is the provider whose users may log in; nil if there is none. Issuer issues login tokens for these users.
	OpenID OpenID
	Issuer Issuer
	// RequestTimeout bounds the callback that completes a login by OpenID.
	RequestTimeout time.Duration
}

// Handlers handles the routes of logins, users and tokens.
type Handlers struct{ Options }

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Routes returns the routes of logins, users and tokens.
func (h *Handlers) Routes() []route.Route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return route.Group("Users and tokens", []route.Route{
		{Method: get, Path: "/api/login", Rule: route.Public, Answer: h.loginMethods, Local: true,
			Does: route.Does("Returns the ways to log in").Gives(LoginMethods{}).Fails(http.StatusServiceUnavailable)},
		{Method: post, Path: "/api/login", Rule: route.Public, Answer: h.login, Local: true,
			Does: route.Does("Returns a login token for a name and a password").Reads(route.BodyOf(loginBody{})).
				Gives(loggedIn{}).
				Fails(http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable)},
		{Method: post, Path: "/api/session", Rule: route.Public, Answer: h.beginSession, Local: true,
			Does: route.Does("Logs a browser in; the token is in a cookie that scripts cannot read").
				Reads(route.BodyOf(loginBody{})).Gives(whoAmI{}, route.CookieHeader).
				Fails(http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable)},
		{Method: get, Path: "/api/session", Rule: route.Authenticated, Answer: h.session, Local: true,
			Does: route.Does("Returns the caller and the caller's permissions").Gives(whoAmI{})},
		{Method: del, Path: "/api/session", Rule: route.Authenticated, Answer: h.endSession, Local: true,
			Does: route.Does("Logs out: the login's token becomes invalid").Gives(true, route.CookieHeader)},
		{Method: get, Path: "/api/users", Rule: route.AdminsOfAll, Answer: h.users, Local: true,
			Does: route.Does("Lists all users, without passwords").Gives([]auth.Account{})},
		{Method: post, Path: "/api/users", Rule: route.AdminsOfAll, Answer: h.addUser, Local: true,
			Does: route.Does("Adds a user").Reads(route.BodyOf(userBody{})).Gives(auth.Account{})},
		{Method: get, Path: "/api/users/{userName}", Rule: route.AdminsOfAll, Answer: h.user, Local: true,
			Does: route.Does("Returns one user").Gives(auth.Account{})},
		{Method: put, Path: "/api/users/{userName}", Rule: route.AdminsOfAll, Answer: h.changeUser, Local: true,
			Does: route.Does("Changes a user's role and apps; ends the user's logins").
				Reads(route.BodyOf(grantBody{})).Gives(auth.Account{})},
		{Method: del, Path: "/api/users/{userName}", Rule: route.AdminsOfAll, Answer: h.removeUser, Local: true,
			Does: route.Does("Removes a user and ends the user's logins").Gives(true)},
		{Method: del, Path: "/api/users/{userName}/logins", Rule: route.AdminsOfAll, Answer: h.endLogins, Local: true,
			Does: route.Does("Ends all logins of a name").Gives(true)},
		{Method: del, Path: "/api/logins", Rule: route.AdminsOfAll, Answer: h.replaceKeys, Local: true,
			Does: route.Does("Ends all logins of all users and replaces the signing keys").Gives(true)},
		{Method: put, Path: "/api/users/{userName}/password", Rule: route.Authenticated, Answer: h.setPassword,
			Local: true,
			Does: route.Does("Sets a user's password; ends the user's logins").Reads(route.BodyOf(passwordBody{})).
				Gives(true).Fails(http.StatusTooManyRequests)},
		{Method: get, Path: "/api/tokens", Rule: route.AdminsOfAll, Answer: h.tokens, Local: true,
			Does: route.Does("Lists API tokens, without their secrets").Gives([]auth.APIToken{})},
		{Method: post, Path: "/api/tokens", Rule: route.AdminsOfAll, Answer: h.addToken, Local: true,
			Does: route.Does("Creates an API token; only this answer contains it").
				Reads(route.BodyOf(tokenBody{})).Gives(madeToken{})},
		{Method: del, Path: "/api/tokens/{tokenName}", Rule: route.AdminsOfAll, Answer: h.removeToken, Local: true,
			Does: route.Does("Removes an API token").Gives(true)},
		{Method: get, Path: "/api/oidc/login", Rule: route.Public, Raw: h.beginOpenID, Local: true,
			Does: route.Does("Redirects a browser to the OpenID provider").Redirects(http.StatusFound).
				Fails(http.StatusNotFound, http.StatusServiceUnavailable)},
		{Method: get, Path: "/api/oidc/callback", Rule: route.Public, Raw: h.endOpenID, Local: true,
			Does: route.Does("Completes a login through the OpenID provider").Redirects(http.StatusSeeOther).
				Fails(http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable)},
	})
}

// State returns whether a login is required. It is the state of Access, but a server with an OpenID provider requires
// a login even if there are no users. Without Access it is auth.Unknown, so that no one is admitted.
func (h *Handlers) State() auth.State {
	if h.Access == nil {
		return auth.Unknown
	}
	if state := h.Access.State(); state != auth.Empty || h.OpenID == nil {
		return state
	}
	return auth.Closed // the provider's users can log in
}

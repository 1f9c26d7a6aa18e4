package access

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/auth"
)

// loggedIn is the answer to a login, in the original's form.
type loggedIn struct {
	AccessToken string `json:"accessToken"`
}

// loginBody is the body of a login.
type loginBody struct {
	_        struct{} `additionalProperties:"false"`
	Username string   `json:"username"`
	Password string   `json:"password"`
}

// LoginMethods are the ways to log in to this server.
type LoginMethods struct {
	Password bool `json:"password"`
	OpenID   bool `json:"openId"`
}

// loginMethods answers with the ways to log in. Clients request it before they log in.
func (h *Handlers) loginMethods(*gin.Context) (any, error) {
	if h.State() == auth.Unknown {
		return nil, failure.ErrAccessUnknown
	}
	return LoginMethods{Password: h.Access.State() != auth.Empty, OpenID: h.OpenID != nil}, nil
}

// login answers with a token for a user's name and password, as the original does.
func (h *Handlers) login(c *gin.Context) (any, error) {
	token, _, err := h.authenticate(c)
	return loggedIn{AccessToken: token}, err
}

var errNoUsers = failure.New(http.StatusForbidden, "no_users",
	"there are no users yet; create the first on the server's machine: scheduler user add NAME --role admin, with the --registry, --zk, --zk-namespace or --data-dir that the server has")

// authenticate checks the name and the password in the body, and issues a login token.
func (h *Handlers) authenticate(c *gin.Context) (token string, p auth.Principal, err error) {
	f, err := request.ReadForm[loginBody](c)
	if err != nil {
		return "", p, err
	}
	name, password := f.Text("username"), f.Text("password")
	if err := f.With(nil); err != nil {
		return "", p, err
	}
	switch h.State() {
	case auth.Unknown:
		return "", p, failure.ErrAccessUnknown
	case auth.Empty:
		return "", p, errNoUsers
	}
	return h.Access.Login(c.Request.Context(), name, password, caller.Address(c.Request))
}

// whoAmI is the answer of GET /api/session.
type whoAmI struct {
	Name string    `json:"name"`
	Kind auth.Kind `json:"kind"`
	auth.Grant
	Expires time.Time `json:"expires,omitzero"`
}

func (h *Handlers) session(c *gin.Context) (any, error) {
	return whoAmIOf(caller.Of(c.Request.Context()).Principal), nil
}

func whoAmIOf(p auth.Principal) whoAmI {
	return whoAmI{Name: p.Name, Kind: p.Kind, Grant: p.Grant, Expires: p.Expires}
}

// beginSession logs a browser in. The token goes into a cookie that scripts cannot read.
func (h *Handlers) beginSession(c *gin.Context) (any, error) {
	token, p, err := h.authenticate(c)
	if err != nil {
		return nil, err
	}
	setSession(c, token, p.Expires)
	return whoAmIOf(p), nil
}

// endSession ends the login that authenticated the request. Its token becomes invalid for all clients that have it.
func (h *Handlers) endSession(c *gin.Context) (any, error) {
	who := caller.Of(c.Request.Context()).Principal
	if who.Session == "" {
		return nil, failure.BadRequest("no_session",
			"the request was not made with a login, so there is no login to end")
	}
	setSession(c, "", time.Time{})
	return true, h.changeError(c, h.Access.Logout(c.Request.Context(), who))
}

// SessionCookie returns the name of the cookie that holds a login token. With TLS, the name's prefix makes browsers
// reject such a cookie from another host or from a connection without TLS.
func SessionCookie(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-elasticjob"
	}
	return "elasticjob"
}

// setSession stores a login token in the browser until it expires. An empty token deletes the cookie.
func setSession(c *gin.Context, token string, expires time.Time) {
	cookie := &http.Cookie{Name: SessionCookie(c.Request), Value: token, Path: "/", Expires: expires,
		Secure: c.Request.TLS != nil, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.Writer, cookie)
}

// DropBadCookie deletes the browser's session cookie if the cookie's token is not valid: the error of the request is a
// 401, and the request has no other token in the header Authorization.
func DropBadCookie(c *gin.Context, err error) {
	f := failure.FromError(c.Request, err)
	if f == nil || f.Status != http.StatusUnauthorized || strings.TrimSpace(c.GetHeader("Authorization")) != "" {
		return
	}
	if _, err := c.Request.Cookie(SessionCookie(c.Request)); err == nil {
		setSession(c, "", time.Time{})
	}
}

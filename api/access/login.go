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

// loggedIn has the form of the original's answer to a login.
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

// logins answers with the ways to log in, for clients that are not logged in yet.
func (h *Handlers) logins(*gin.Context) (any, error) {
	if h.State() == auth.Unknown {
		return nil, failure.ErrAccessUnknown
	}
	return LoginMethods{Password: h.Access.State() != auth.Empty, OpenID: h.OpenID != nil}, nil
}

// login answers with a token for a user's name and password, as the original does.
func (h *Handlers) login(c *gin.Context) (any, error) {
	token, _, err := h.logIn(c)
	return loggedIn{AccessToken: token}, err
}

var errNoUsers = failure.New(http.StatusForbidden, "no_users",
	"there are no users yet; create the first on the server's machine: scheduler user add NAME --role admin, with the --registry, --zk, --zk-namespace or --data-dir that the server has")

func (h *Handlers) logIn(c *gin.Context) (token string, p auth.Principal, err error) {
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
	return about(caller.Of(c.Request.Context()).Principal), nil
}

func about(p auth.Principal) whoAmI {
	return whoAmI{Name: p.Name, Kind: p.Kind, Grant: p.Grant, Expires: p.Expires}
}

// beginSession logs a browser in. The token goes into a cookie that scripts cannot read.
func (h *Handlers) beginSession(c *gin.Context) (any, error) {
	token, p, err := h.logIn(c)
	if err != nil {
		return nil, err
	}
	setSession(c, token, p.Expires)
	return about(p), nil
}

// endSession ends the login that authenticated the request, wherever else its token is used.
func (h *Handlers) endSession(c *gin.Context) (any, error) {
	who := caller.Of(c.Request.Context()).Principal
	if who.Session == "" {
		return nil, failure.BadRequest("no_session", "the request was not made with a login, so there is no login to end")
	}
	setSession(c, "", time.Time{})
	return true, h.changeError(c, h.Access.Logout(c.Request.Context(), who))
}

// SessionCookie returns the name of the cookie that holds a login token. With TLS its prefix makes browsers ensure
// that neither another host nor a connection without TLS has set it.
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

// DropBadCookie deletes the browser's session cookie if the error says that its token is no longer valid.
func DropBadCookie(c *gin.Context, err error) {
	f := failure.FromError(c.Request, err)
	_, none := c.Request.Cookie(SessionCookie(c.Request))
	if none == nil && f != nil && f.Status == http.StatusUnauthorized &&
		strings.TrimSpace(c.GetHeader("Authorization")) == "" {
		setSession(c, "", time.Time{})
	}
}

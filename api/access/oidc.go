package access

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// OpenID logs users in through an OpenID provider; *oidc.Provider implements it. An error that clients may see has a
// method Code, which returns a key of openIDStatus.
type OpenID interface {
	// Begin starts a login. It returns the address to which the browser is redirected, and the value of a cookie for
	// the browser.
	Begin() (address, cookie string, err error)
	// Finish completes a login and returns the user. It takes the cookie's value and the query of the callback.
	Finish(ctx context.Context, cookie string, query url.Values) (auth.Principal, error)
}

// Issuer issues login tokens for users of an OpenID provider; *auth.Access implements it.
type Issuer interface {
	// Issue issues a token with the given lifetime; zero means the usual lifetime.
	Issue(p auth.Principal, lifetime time.Duration) (token string, issued auth.Principal, err error)
}

// openIDStatus maps the codes of OpenID's errors to HTTP statuses.
var openIDStatus = map[string]int{
	"oidc_unavailable": http.StatusServiceUnavailable,
	"bad_login":        http.StatusBadRequest,
	"login_refused":    http.StatusForbidden,
	"no_role":          http.StatusForbidden,
}

// openIDFailure converts an error with a known code into a failure. It returns any other error unchanged.
func openIDFailure(err error) error {
	var coded interface{ Code() string }
	if errors.As(err, &coded) && openIDStatus[coded.Code()] != 0 {
		return failure.New(openIDStatus[coded.Code()], coded.Code(), "%s", err.Error())
	}
	return err
}

var errNoOpenID = failure.NotFound("no_oidc", "this server has no OpenID provider: it is named with --oidc-issuer")

// loginCookieAge is how long a browser keeps the cookie of an unfinished login. The login itself may expire sooner.
const loginCookieAge = 10 * time.Minute

// beginOpenID redirects a browser to the provider.
func (h *Handlers) beginOpenID(c *gin.Context) {
	if h.OpenID == nil {
		h.fail(c, errNoOpenID)
		return
	}
	address, cookie, err := h.OpenID.Begin()
	if err != nil {
		h.fail(c, openIDFailure(err))
		return
	}
	setLogin(c, cookie, int(loginCookieAge.Seconds()))
	c.Redirect(http.StatusFound, address)
}

// endOpenID handles the callback, to which the provider redirects a browser. After a login it always redirects to the
// front page, so that a crafted query cannot redirect the browser anywhere else.
func (h *Handlers) endOpenID(c *gin.Context) {
	if h.OpenID == nil {
		h.fail(c, errNoOpenID)
		return
	}
	cookie, _ := c.Request.Cookie(loginCookie(c.Request)) // Finish checks the signature of the value
	if cookie == nil {
		cookie = &http.Cookie{}
	}
	setLogin(c, "", -1) // a login can be completed only once
	ctx, cancel := context.WithTimeout(c.Request.Context(), h.RequestTimeout)
	defer cancel()
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		h.fail(c, failure.BadRequest("bad_query", "the query is not correctly encoded: %v", err))
		return
	}
	who, err := h.OpenID.Finish(ctx, cookie.Value, query)
	if err != nil {
		h.Log.InfoContext(ctx, "OpenID login refused", "remote", caller.Address(c.Request), "error", err)
		h.fail(c, openIDFailure(err))
		return
	}
	token, issued, err := h.Issuer.Issue(who, 0)
	if err != nil {
		h.fail(c, err)
		return
	}
	h.Log.InfoContext(ctx, "logged in by OpenID", "name", who.Name, "role", who.Role, "remote",
		caller.Address(c.Request))
	setSession(c, token, issued.Expires)
	redirect(c, http.StatusSeeOther, frontPage)
}

// loginCookie returns the name of the cookie of an unfinished login.
func loginCookie(r *http.Request) string { return SessionCookie(r) + "-login" }

// setLogin stores an unfinished login in a cookie for maxAge seconds; a negative maxAge deletes the cookie. The cookie
// cannot be SameSite=Strict, because the browser must send it when the provider redirects to the callback.
func setLogin(c *gin.Context, value string, maxAge int) {
	http.SetCookie(c.Writer, &http.Cookie{Name: loginCookie(c.Request), Value: value, Path: "/", MaxAge: maxAge,
		Secure: c.Request.TLS != nil, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

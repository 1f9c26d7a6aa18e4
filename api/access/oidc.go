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

// OpenID logs people in by an OpenID provider; *oidc.Provider does. Errors that are for them say by Code what they
// are.
type OpenID interface {
	// Begin begins a login: the browser keeps the cookie's value and goes to the address.
	Begin() (address, cookie string, err error)
	// Finish says who has logged in, by that value and the query that the provider has sent the browser back with.
	Finish(ctx context.Context, cookie string, query url.Values) (auth.Principal, error)
}

// Issuer makes login tokens for people whom it does not know itself; *auth.Access does.
type Issuer interface {
	// Issue makes one that lasts as long as others do, if the lifetime is zero.
	Issue(p auth.Principal, lifetime time.Duration) (token string, issued auth.Principal, err error)
}

// openIDStatus are the statuses for the codes of an OpenID's errors.
var openIDStatus = map[string]int{
	"oidc_unavailable": http.StatusServiceUnavailable,
	"bad_login":        http.StatusBadRequest,
	"login_refused":    http.StatusForbidden,
	"no_role":          http.StatusForbidden,
}

func openIDFailure(err error) error {
	var known interface{ Code() string }
	if errors.As(err, &known) && openIDStatus[known.Code()] != 0 {
		return failure.New(openIDStatus[known.Code()], known.Code(), "%s", err.Error())
	}
	return err
}

var errNoOpenID = failure.NotFound("no_oidc", "this server has no OpenID provider: it is named with --oidc-issuer")

// loginWithin is how long a browser keeps the cookie of a login. The login itself may be over sooner.
const loginWithin = 10 * time.Minute

// beginOpenID sends a browser to the provider.
func (h *Handlers) beginOpenID(c *gin.Context) {
	if h.OpenID == nil {
		h.Answers.Fail(c.Writer, c.Request, errNoOpenID)
		return
	}
	address, cookie, err := h.OpenID.Begin()
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, openIDFailure(err))
		return
	}
	setLogin(c, cookie, int(loginWithin.Seconds()))
	c.Redirect(http.StatusFound, address)
}

// endOpenID is where the provider sends a browser back to. It goes on to the front page, and nowhere else, whatever
// the query says.
func (h *Handlers) endOpenID(c *gin.Context) {
	if h.OpenID == nil {
		h.Answers.Fail(c.Writer, c.Request, errNoOpenID)
		return
	}
	given, _ := c.Request.Cookie(loginCookie(c.Request)) // one of several is tried: what it is was signed
	if given == nil {
		given = &http.Cookie{}
	}
	setLogin(c, "", -1) // a login is finished once
	ctx, cancel := context.WithTimeout(c.Request.Context(), h.RequestTimeout)
	defer cancel()
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, failure.BadRequest("bad_query", "the query is not encoded right: %v", err))
		return
	}
	who, err := h.OpenID.Finish(ctx, given.Value, query)
	if err != nil {
		h.Log.InfoContext(ctx, "login by OpenID refused", "remote", caller.Address(c.Request), "error", err)
		h.Answers.Fail(c.Writer, c.Request, openIDFailure(err))
		return
	}
	token, issued, err := h.Issuer.Issue(who, 0)
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	h.Log.InfoContext(ctx, "login by OpenID", "name", who.Name, "role", who.Role, "remote", caller.Address(c.Request))
	setSession(c, token, issued.Expires)
	c.Redirect(http.StatusSeeOther, "/")
}

// loginCookie is the name of the cookie of a login that is under way.
func loginCookie(r *http.Request) string { return SessionCookie(r) + "-login" }

// setLogin gives the browser a login to keep. It must come back with the provider's redirect, so it can't be
// SameSite=Strict.
func setLogin(c *gin.Context, value string, maxAge int) {
	http.SetCookie(c.Writer, &http.Cookie{Name: loginCookie(c.Request), Value: value, Path: "/", MaxAge: maxAge,
		Secure: c.Request.TLS != nil, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

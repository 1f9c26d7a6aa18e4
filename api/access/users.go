package access

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/registry"
)

// These are the bodies of requests about users and tokens.
type (
	userBody struct {
		_        struct{} `additionalProperties:"false"`
		Name     string   `json:"name"`
		Password string   `json:"password" minLength:"8" maxLength:"1024"`
		auth.Grant
	}
	grantBody struct {
		_ struct{} `additionalProperties:"false"`
		auth.Grant
	}
	passwordBody struct {
		_        struct{} `additionalProperties:"false"`
		Password string   `json:"password" minLength:"8" maxLength:"1024"`
		// Current is required if users change their own passwords.
		Current string `json:"current,omitempty" description:"The password that you have, to change your own."`
	}
	tokenBody struct {
		_    struct{} `additionalProperties:"false"`
		Name string   `json:"name"`
		auth.Grant
		Expires time.Time `json:"expires,omitzero" description:"Without it the token does not expire."`
	}
)

// changeError converts the error of a change of users or tokens. An error that clients may see stays unchanged. Any
// other error comes from the registry, and the answer is 503, because that is no fault of this server.
func (h *Handlers) changeError(c *gin.Context, err error) error {
	var refused *auth.Refused
	var violations document.Violations
	switch {
	case err == nil, failure.FromAccessError(err) != nil, errors.As(err, &refused), errors.As(err, &violations),
		errors.Is(err, auth.ErrNotFound), errors.Is(err, auth.ErrExists):
		return err
	case errors.Is(err, registry.ErrOutcomeUnknown), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled):
		return failure.Unavailable("outcome_unknown",
			"the registry did not answer, and the change may have been done: check before you send it again")
	}
	h.Log.WarnContext(c.Request.Context(), "users and tokens not changed", "error", err)
	return failure.Unchanged("registry_silent",
		"users and tokens could not be changed: try again; if that lasts, see the server's log")
}

// userError is changeError with codes for the errors of a user or token: that it does not exist, that it exists
// already, or that it is the last admin. kind is "user" or "token".
func (h *Handlers) userError(c *gin.Context, kind string, err error) error {
	switch {
	case errors.Is(err, auth.ErrNotFound):
		return failure.NotFound(kind+"_not_found", "%s", err.Error())
	case errors.Is(err, auth.ErrLastAdmin):
		return failure.New(http.StatusConflict, "last_admin", "%s", err.Error())
	case errors.Is(err, auth.ErrExists):
		return failure.New(http.StatusConflict, kind+"_exists", "%s", err.Error())
	}
	return h.changeError(c, err)
}

func (h *Handlers) users(*gin.Context) (any, error) {
	list, err := h.Access.Users()
	return answer.OrEmpty(list), err
}

func (h *Handlers) user(c *gin.Context) (any, error) {
	name, err := request.PathValue(c, "userName")
	if err != nil {
		return nil, err
	}
	list, err := h.Access.Users()
	for _, u := range list {
		if u.Name == name {
			return u, nil
		}
	}
	if err == nil {
		err = failure.NotFound("user_not_found", "there is no user %s; GET /api/users lists all", failure.Quoted(name))
	}
	return nil, err
}

func (h *Handlers) addUser(c *gin.Context) (any, error) {
	f, err := request.ReadForm[userBody](c)
	if err != nil {
		return nil, err
	}
	name, password, grant := f.Text("name"), f.Text("password"), f.Grant()
	if err := f.With(auth.CheckName(name).And(auth.CheckNewPassword(password)).OrNil()); err != nil {
		return nil, err
	}
	u, err := h.Access.AddUser(c.Request.Context(), caller.Of(c.Request.Context()).Actor(), name, password, grant)
	return u, h.userError(c, "user", err)
}

func (h *Handlers) changeUser(c *gin.Context) (any, error) {
	name, err := request.PathValue(c, "userName")
	if err != nil {
		return nil, err
	}
	f, err := request.ReadForm[grantBody](c)
	if err != nil {
		return nil, err
	}
	grant := f.Grant()
	if err := f.With(nil); err != nil {
		return nil, err
	}
	u, err := h.Access.ChangeUser(c.Request.Context(), caller.Of(c.Request.Context()).Actor(), name, grant)
	return u, h.userError(c, "user", err)
}

// setPassword sets a user's password. Users may change their own passwords if they send the current one, so that
// access to an unattended browser is not enough. An admin for all apps may set the passwords of other users.
func (h *Handlers) setPassword(c *gin.Context) (any, error) {
	name, err := request.PathValue(c, "userName")
	if err != nil {
		return nil, err
	}
	who := caller.Of(c.Request.Context())
	own := who.Kind == auth.User && who.Name == name
	if err := route.AdminsOfAll.Check(who.Principal); !own && err != nil {
		return nil, err
	}
	f, err := request.ReadForm[passwordBody](c)
	if err != nil {
		return nil, err
	}
	password, current := f.Text("password"), f.Text("current")
	if own && !f.Has("current") {
		f.Refuse("current", "is missing: to change your own password, send the one that you have")
	}
	if err := f.With(auth.CheckNewPassword(password).OrNil()); err != nil {
		return nil, err
	}
	if own {
		if err := h.Access.CheckPassword(c.Request.Context(), name, current, who.From); err != nil {
			return nil, h.currentPasswordError(c, err)
		}
	}
	return true, h.userError(c, "user", h.Access.SetPassword(c.Request.Context(), who.Actor(), name, password))
}

// currentPasswordError converts the error of a check of the current password. A wrong password is not answered with
// 401, because the caller is authenticated and stays logged in.
func (h *Handlers) currentPasswordError(c *gin.Context, err error) error {
	if refused := new(auth.Refused); errors.As(err, &refused) {
		return document.Violations{document.Violate("current", "", "is not your password")}
	}
	return h.changeError(c, err)
}

func (h *Handlers) removeUser(c *gin.Context) (any, error) {
	name, err := request.PathValue(c, "userName")
	if err != nil {
		return nil, err
	}
	return true, h.userError(c, "user", h.Access.RemoveUser(c.Request.Context(),
		caller.Of(c.Request.Context()).Actor(), name))
}

// endLogins ends all logins of a name. There need not be a user with this name: it may belong to a user of an OpenID
// provider.
func (h *Handlers) endLogins(c *gin.Context) (any, error) {
	name, err := request.PathValue(c, "userName")
	if err != nil {
		return nil, err
	}
	return true, h.changeError(c, h.Access.EndLogins(c.Request.Context(), caller.Of(c.Request.Context()).Actor(),
		name))
}

// replaceKeys replaces the keys that sign login tokens, which ends the logins of all users.
func (h *Handlers) replaceKeys(c *gin.Context) (any, error) {
	return true, h.changeError(c, h.Access.ReplaceKeys(c.Request.Context(), caller.Of(c.Request.Context()).Actor()))
}

func (h *Handlers) tokens(*gin.Context) (any, error) {
	list, err := h.Access.Tokens()
	return answer.OrEmpty(list), err
}

// madeToken is the only answer that contains an API token.
type madeToken struct {
	auth.APIToken
	Token string `json:"token"`
}

func (h *Handlers) addToken(c *gin.Context) (any, error) {
	f, err := request.ReadForm[tokenBody](c)
	if err != nil {
		return nil, err
	}
	name, grant, expires := f.Text("name"), f.Grant(), f.Moment("expires")
	if err := f.With(auth.CheckName(name).OrNil()); err != nil {
		return nil, err
	}
	token, created, err := h.Access.AddToken(c.Request.Context(), caller.Of(c.Request.Context()).Actor(), name, grant,
		expires)
	return madeToken{created, token}, h.userError(c, "token", err)
}

func (h *Handlers) removeToken(c *gin.Context) (any, error) {
	name, err := request.PathValue(c, "tokenName")
	if err != nil {
		return nil, err
	}
	return true, h.userError(c, "token", h.Access.RemoveToken(c.Request.Context(),
		caller.Of(c.Request.Context()).Actor(), name))
}

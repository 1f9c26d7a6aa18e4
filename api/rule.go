package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// scope says for whom a route is, beside the role that it needs. A route without one lets nobody in.
type scope int

const (
	_ scope = iota
	// open is for everybody; nobody is asked who they are.
	open
	// oneself is for everybody who was let in: it is about themselves, whatever their role.
	oneself
	// byApp is for who has the role for all apps or for some: the scheduler shows them theirs (scope.go).
	byApp
	// whole is for who has the role for all apps.
	whole
)

// rule says who may use a route.
type rule struct {
	needs auth.Role
	scope scope
}

// String is for whom the rule is, as docs/security.md says it.
func (r rule) String() string {
	switch r.scope {
	case open:
		return "everybody"
	case oneself:
		return "who is let in"
	case byApp:
		return r.needs.String() + " for the app"
	case whole:
		return r.needs.String() + " for all apps"
	}
	return "nobody"
}

// ruleOf is the rule of a request's route. Only those who are let in are told that there is no such route.
func (s *Server) ruleOf(c *gin.Context) rule {
	path := s.routePath(c)
	if path == "" {
		return rule{scope: oneself}
	}
	method := c.Request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return s.rules[method+" "+path]
}

// check says why somebody is not allowed to use the route, or nothing.
func (r rule) check(p auth.Principal) error {
	switch {
	case r.scope == open, r.scope == oneself && p.Kind != "",
		r.scope == byApp && p.Includes(r.needs), r.scope == whole && p.Includes(r.needs) && p.Unrestricted():
		return nil
	}
	return caller.NotAllowed(p, "the role "+r.String())
}

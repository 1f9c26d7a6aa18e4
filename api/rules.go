package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/route"
)

// ruleOf returns the rule of a request's route. For an unknown route it is ScopeAuthenticated, so that only
// authenticated callers learn that the route does not exist.
func (s *Server) ruleOf(c *gin.Context) route.Rule {
	path := s.pages.RoutePath(c)
	if path == "" {
		return route.Rule{Scope: route.ScopeAuthenticated}
	}
	method := c.Request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return s.rules[method+" "+path]
}

package api

import (
	"net/http"

	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/gin-gonic/gin"
)

// ruleOf is the rule of a request's route. Only those who are let in are told that there is no such route.
func (s *Server) ruleOf(c *gin.Context) route.Rule {
	path := s.pages.RoutePath(c)
	if path == "" {
		return route.Rule{Scope: route.Oneself}
	}
	method := c.Request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return s.rules[method+" "+path]
}

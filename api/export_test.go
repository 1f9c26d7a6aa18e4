package api

import (
	"context"
	"net/http"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
)

// anyServer returns a server that answers nothing; it is used for its routes.
func anyServer() *Server { return New(Options{Scheduler: struct{ Scheduler }{}}) }

// RouteNames returns all rows of the route table as "METHOD /path".
func RouteNames() []string {
	var names []string
	for _, r := range anyServer().table {
		names = append(names, r.Method+" "+r.Path)
	}
	return names
}

// ReservedAppNames returns the names that no app may have, because routes of the API have them in the place of an
// app's name [D05].
func ReservedAppNames() []string { return route.ReservedNames(anyServer().table, "appName") }

// ReservedJobNames returns the names that no job may have, for the same reason [D05].
func ReservedJobNames() []string { return route.ReservedNames(anyServer().table, "jobName") }

// RouteRule is a route of the router with its rule.
type RouteRule struct {
	Method, Path, Who string
	Needs             auth.Role
	Complete          bool
}

// Routes returns all routes of the router itself, instead of those of the table that it was built from.
func (s *Server) Routes() (list []RouteRule) {
	for _, r := range s.engine.Routes() {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rule := s.rules[method+" "+r.Path]
		list = append(list, RouteRule{r.Method, s.byPath[r.Path].Path, rule.String(), rule.Needs, complete(rule)})
	}
	return list
}

// EmptyRuleLetsIn reports whether an empty rule admits a caller.
func EmptyRuleLetsIn(p auth.Principal) bool { return route.Rule{}.Check(p) == nil }

// AnswersByApp returns a value of the answer's type for every route by app, except raw routes.
func AnswersByApp() map[string]any {
	all := map[string]any{}
	for _, r := range anyServer().table {
		if r.Scope == route.ScopeByApp && r.Raw == nil && r.Does.Answer().Content[0].Type != nil {
			all[r.Method+" "+r.Path] = r.Does.Answer().Content[0].Type
		}
	}
	return all
}

// Shown returns an answer as a caller receives it.
func (s *Server) Shown(ctx context.Context, who auth.Principal, answer any) (any, error) {
	return caller.Redactor(caller.With(ctx, caller.Caller{Principal: who}), s.opts.Scheduler)(answer)
}

// complete reports whether a rule says for whom it is.
func complete(r route.Rule) bool {
	if r.Scope == route.ScopeByApp || r.Scope == route.ScopeAllApps {
		return r.Needs != auth.NoRole
	}
	return (r.Scope == route.ScopePublic || r.Scope == route.ScopeAuthenticated) && r.Needs == auth.NoRole
}

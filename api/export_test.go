package api

import (
	"context"
	"net/http"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
)

// RouteNames are all rows of the route table as "METHOD /path".
func RouteNames() []string {
	var names []string
	for _, r := range (&Server{}).routes() {
		names = append(names, r.method+" "+r.path)
	}
	return names
}

// ReservedAppNames are the names that no app may have: routes of the API have
// them in the place of an app's name [D05].
func ReservedAppNames() []string { return reservedNames((&Server{}).routes(), "appName") }

// ReservedJobNames are the names that no job may have, for the same reason [D05].
func ReservedJobNames() []string { return reservedNames((&Server{}).routes(), "jobName") }

// RouteRule is a route of the router, with its rule.
type RouteRule struct {
	Method, Path, Who string
	Needs             auth.Role
	Complete          bool
}

// Routes are all of the router's own, and not of the table that it was made of.
func (s *Server) Routes() (list []RouteRule) {
	for _, r := range s.engine.Routes() {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rule := s.rules[method+" "+r.Path]
		list = append(list, RouteRule{r.Method, s.byPath[r.Path].path, rule.String(), rule.needs, rule.complete()})
	}
	return list
}

// EmptyRuleLetsIn asks the rule of a route that has none.
func EmptyRuleLetsIn(p auth.Principal) bool { return rule{}.check(p) == nil }

// AnswersByApp has a value of the type that each route answers with that is for who sees some apps, but for raw ones.
func AnswersByApp() map[string]any {
	all := map[string]any{}
	for _, r := range (&Server{}).routes() {
		if r.scope == byApp && r.raw == nil && r.does.answer.Content[0].Type != nil {
			all[r.method+" "+r.path] = r.does.answer.Content[0].Type
		}
	}
	return all
}

// Shown is an answer as somebody gets it.
func (s *Server) Shown(ctx context.Context, who auth.Principal, answer any) (any, error) {
	return caller.Hiding(caller.With(ctx, caller.Caller{Principal: who}), s.opts.Scheduler)(answer)
}

// complete reports whether a rule says for whom it is.
func (r rule) complete() bool {
	if r.scope == byApp || r.scope == whole {
		return r.needs != auth.NoRole
	}
	return (r.scope == open || r.scope == oneself) && r.needs == auth.NoRole
}

// Match is what a search finds.
type Match = match

// Find looks for a text in another that comes in pieces of a size.
func Find(text, wanted string, most, size int) (found []Match, next int64) {
	f := newFinder(wanted, 0, most)
	for {
		n := min(size, len(text))
		f.take([]byte(text[:n]), n == len(text))
		if text = text[n:]; text == "" || f.full() {
			return f.found, f.next()
		}
	}
}

// CountFires is what GET /api/overview/fires costs, once in some seconds.
func CountFires(schedules []config.ScheduleView, now time.Time) { countFires(schedules, now) }

// NewQuota makes one as those of searches and of checks of packages are.
func NewQuota() *Quota { return &Quota{quota{code: "running", what: "requests of a kind"}} }

// Quota is what bounds costly requests.
type Quota struct{ quota }

// EnterAs is enter for a request of that caller.
func (q *Quota) EnterAs(p auth.Principal) (leave func(), err error) {
	return q.enter(caller.Caller{Principal: p})
}

// NewStreams counts streams of events.
func NewStreams() *Streams { return &Streams{streams{what: "events"}} }

// Streams are what bounds answers that last.
type Streams struct{ streams }

// EnterAs is enter for a stream of that caller.
func (s *Streams) EnterAs(p auth.Principal, most int) (leave func(), err error) {
	return s.enter(caller.Caller{Principal: p}, most)
}

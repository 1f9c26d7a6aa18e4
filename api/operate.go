package api

import (
	"cmp"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// leader says who leads, as far as this server knows.
func (s *Server) leader(*gin.Context) (any, error) {
	l, ok := s.opts.Scheduler.Leader()
	if !ok {
		return nil, unavailable("no_leader", "nobody is known to lead: %s",
			cmp.Or(s.opts.Scheduler.Health().Detail, "waiting for an election"))
	}
	l.Since = l.Since.UTC()
	return l, nil
}

// reconcile asks the cluster about our tasks now ([D20]: too soon is 429).
func (s *Server) reconcile(explicit bool) handler {
	return func(c *gin.Context) (any, error) {
		ctx := c.Request.Context()
		return true, s.opts.Scheduler.Reconcile(ctx, scopeOf(ctx), explicit)
	}
}

var sandboxApp = textParameter("appName", "The app whose executors it is about.").such("my_app").needed()

// sandbox lists where an app's executors keep their files ([D21]: from what offers
// and updates reported, no agent is asked).
func (s *Server) sandbox(c *gin.Context) (any, error) {
	q := queryOf(c)
	if err := q.err(); err != nil {
		return nil, err
	}
	name := sandboxApp.of(q)
	if name == "" {
		return nil, badRequest("app_name_missing",
			"Lack param 'appName': say of which app, as in /api/operate/sandbox?appName=my_app")
	}
	name, err := known(c, "app", name)
	if err != nil {
		return nil, err
	}
	views, err := seeOf(c.Request.Context(), s, explain.Reader.Sandboxes, name)
	return orEmpty(views), err
}

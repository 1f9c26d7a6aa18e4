package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
)

// routes is the table of all routes: those of contract 1.3 to 1.5 in the
// documented form and in that of 3.0.1, then the new ones. HEAD goes wherever GET goes.
func (s *Server) routes() []route.Route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return slices.Concat(
		s.apps.Routes(), s.jobs.Routes(), s.runs.Routes(), s.logs.Routes(), s.history.Routes(), s.cluster.Routes(),
		s.access.Routes(), s.example.Routes(), s.pages.Routes(), s.health.Routes(), s.description.Routes(),
		route.Group("The server", []route.Route{
			{Method: get, Path: "/metrics", Rule: route.Scrapers, Raw: gin.WrapH(s.metrics), Local: true,
				Does: route.Does("Gives the metrics, for Prometheus").Streams("text/plain",
					"Metrics in the form of Prometheus.", nil)},
			{Method: get, Path: "/artifacts/{name}", Rule: route.Everybody, Raw: s.artifact, Local: true,
				Does: route.Does("Gives the executor's binary, for agents").Streams("application/octet-stream", "The file.",
					nil).Fails(http.StatusServiceUnavailable)},
		}),
	)
}

// register puts the table into the router.
func (s *Server) register(table []route.Route) {
	for _, r := range table {
		path := strings.NewReplacer("{file}", "*file", "{", ":", "}", "").Replace(r.Path)
		s.byPath[path] = r
		work := r.Raw
		if work == nil {
			work = s.answering(r)
		}
		work = s.leaderOnly(r, request.WithQuery(r.Takes, work))
		if r.Lasts != nil {
			work = s.bounding(r.Streams, r.Lasts, work)
		}
		s.rules[r.Method+" "+path] = r.Rule
		s.engine.Handle(r.Method, path, work)
		if r.Method == http.MethodGet {
			s.engine.Handle(http.MethodHead, path, work)
		}
	}
}

// answering wraps the handler of a route that answers with JSON.
func (s *Server) answering(r route.Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), request.TimeFor(c, s.opts.RequestTimeout))
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		if len(r.Takes) == 0 && !r.AnyQuery {
			if err := request.QueryOf(c).Err(); err != nil {
				s.answers.Fail(c.Writer, c.Request, err)
				return
			}
		}
		value, err := r.Answer(c)
		if err != nil {
			s.answers.Fail(c.Writer, c.Request, caller.HideInError(ctx, s.opts.Scheduler, s.faulty.Explain(c, err)))
			return
		}
		hide := caller.Hiding(ctx, s.opts.Scheduler)
		list, byRow := value.(answer.Rows)
		if !byRow {
			if value, err = hide(value); err != nil {
				s.answers.Fail(c.Writer, c.Request, err)
				return
			}
		}
		s.answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, r *http.Request) {
			if byRow {
				s.answers.Rows(w, r, list, hide)
				return
			}
			answer.JSON(w, http.StatusOK, value)
		})
	}
}

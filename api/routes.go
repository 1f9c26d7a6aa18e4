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
		s.access.Routes(),
		route.Group("Before you register", []route.Route{
			{Method: get, Path: "/api/example", Rule: route.Readers, Answer: s.example,
				Does: route.Does("Gives an app and a job that are ready to be published and registered").Gives(exampleDocuments{})},
			{Method: get, Path: examplePath, Rule: route.Everybody, Raw: s.examplePackage, Local: true,
				Does: route.Does("Gives the package of the example").Streams("application/gzip", "The package.", nil)},
		}),
		route.Group("The server", []route.Route{
			{Method: get, Path: "/", Rule: route.Everybody, Raw: s.front, Local: true,
				Does: route.Does("Says what this is; a browser gets the console").Streams("text/plain; charset=utf-8",
					"Some lines for people.", nil).OrGives("text/html; charset=utf-8")},
			{Method: get, Path: "/static/{hash}/{file}", Rule: route.Everybody, Raw: s.static, Local: true,
				Does: route.Does("Gives a file of the console; the file may be in folders, and then has slashes").Streams("*/*", "The file.", nil)},
			{Method: get, Path: "/healthz", Rule: route.Everybody, Answer: s.healthz, Local: true, AnyQuery: true,
				Does: route.Does("Answers while the process lives").Gives(health{})},
			{Method: get, Path: "/readyz", Rule: route.Everybody, Answer: s.readyz, Local: true, AnyQuery: true,
				Does: route.Does("Says whether this server can do its work now").Gives(health{}).Fails(http.StatusServiceUnavailable)},
			{Method: get, Path: "/metrics", Rule: route.Scrapers, Raw: gin.WrapH(s.metrics), Local: true,
				Does: route.Does("Gives the metrics, for Prometheus").Streams("text/plain",
					"Metrics in the form of Prometheus.", nil)},
			{Method: get, Path: "/api/openapi.json", Rule: route.Readers, Raw: s.openAPI, Local: true,
				Does: route.Does("Describes this API, as OpenAPI 3.1").Gives(map[string]any{})},
			{Method: get, Path: "/api/docs", Rule: route.Everybody, Raw: s.docs, Local: true,
				Does: route.Does("Shows that description in a browser").Streams("text/html; charset=utf-8", "A page.",
					nil).Fails(http.StatusNotFound)},
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

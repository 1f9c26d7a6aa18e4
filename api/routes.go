package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/cluster"
	"github.com/elasticjob-go/elasticjob/api/description"
	"github.com/elasticjob-go/elasticjob/api/example"
	"github.com/elasticjob-go/elasticjob/api/health"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/jobs"
	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/api/runs"
)

// routes returns the table of all routes: those of ElasticJob-Cloud and the new ones. Where its manual and its release
// 3.0.1 differ, the table has both forms. HEAD works where GET does.
func (s *Server) routes() []route.Route {
	const get = http.MethodGet
	opts := s.opts
	return slices.Concat(
		logs.New(logs.Options{Log: s.log, Answers: s.answers, Scheduler: opts.Scheduler, Files: opts.Logs,
			Followed: s.outputStreams, FollowInterval: opts.FollowInterval, WriteTimeout: opts.WriteTimeout,
			Now: opts.Now, ShuttingDown: s.shuttingDown.Done()}).Routes(),
		history.New(history.Options{History: opts.History, Scheduler: opts.Scheduler, Now: opts.Now}).Routes(),
		runs.New(runs.Options{Scheduler: opts.Scheduler, History: opts.History, Now: opts.Now}).Routes(),
		apps.New(apps.Options{Scheduler: opts.Scheduler, Reserved: s.reserved("appName"),
			AllowFile: opts.AllowFile, PodTemplate: opts.PodTemplate, Packages: opts.Packages}).Routes(),
		jobs.New(jobs.Options{Scheduler: opts.Scheduler, Reserved: s.reserved("jobName"), Now: opts.Now,
			Zone: opts.Zone}).Routes(),
		cluster.New(cluster.Options{Answers: s.answers, Scheduler: opts.Scheduler, Faulty: s.faulty,
			Followed: s.eventStreams, FrameworkName: opts.FrameworkName, Version: opts.Version, Warning: opts.Warning,
			Zone: opts.Zone, Now: opts.Now, ShuttingDown: s.shuttingDown.Done()}).Routes(),
		example.New(example.Options{Answers: s.answers, AgentURL: opts.AgentURL,
			ExampleImage: opts.ExampleImage}).Routes(),
		health.New(health.Options{Scheduler: opts.Scheduler, Version: opts.Version, Warning: opts.Warning,
			Advertise: opts.Advertise, State: s.access.State}).Routes(),
		description.New(description.Options{Answers: s.answers, Version: opts.Version,
			Table: func() []route.Route { return s.table }}).Routes(),
		s.access.Routes(), s.pages.Routes(),
		route.Group("The server", []route.Route{
			{Method: get, Path: "/metrics", Rule: route.MetricsReaders, Raw: gin.WrapH(s.metrics), Local: true,
				Does: route.Does("Returns the metrics, for Prometheus").Streams("text/plain",
					"Metrics in the form of Prometheus.", nil)},
			{Method: get, Path: "/artifacts/{name}", Rule: route.Public, Raw: s.artifact, Local: true,
				Does: route.Does("Returns the executor's binary, for agents").
					Streams("application/octet-stream", "The file.", nil).Fails(http.StatusServiceUnavailable)},
		}),
	)
}

// reserved returns a function that reports whether a name is reserved [D05]: another route has it in place of the
// variable.
func (s *Server) reserved(variable string) func(name string) bool {
	return func(name string) bool { return slices.Contains(s.reservedNames[variable], name) }
}

// register adds the routes of the table to the router.
func (s *Server) register(table []route.Route) {
	for _, r := range table {
		path := strings.NewReplacer("{file}", "*file", "{", ":", "}", "").Replace(r.Path)
		s.byPath[path] = r
		work := r.Raw
		if work == nil {
			work = s.answerJSON(r)
		}
		work = s.forwarder.LeaderOnly(r, request.WithQuery(r.Takes, work))
		if r.IsStream != nil {
			work = s.limitStreams(r.Streams, r.IsStream, work)
		}
		s.rules[r.Method+" "+path] = r.Rule
		s.engine.Handle(r.Method, path, work)
		if r.Method == http.MethodGet {
			s.engine.Handle(http.MethodHead, path, work)
		}
	}
}

// answerJSON returns the gin handler of a route with a Handler. It calls the Handler and answers with its result or
// error, in which it hides what the caller may not see.
func (s *Server) answerJSON(r route.Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), request.Timeout(c, s.opts.RequestTimeout))
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
			s.answers.Fail(c.Writer, c.Request, caller.RedactError(ctx, s.opts.Scheduler, s.faulty.Explain(c, err)))
			return
		}
		redact := caller.Redactor(ctx, s.opts.Scheduler)
		list, isList := value.(answer.Rows)
		if !isList {
			if value, err = redact(value); err != nil {
				s.answers.Fail(c.Writer, c.Request, err)
				return
			}
		}
		s.answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, r *http.Request) {
			if isList {
				s.answers.Rows(w, r, list, redact)
				return
			}
			answer.JSON(w, http.StatusOK, value)
		})
	}
}

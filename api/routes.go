package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// handler is a route's work: a value to answer as JSON, or an error.
type handler func(c *gin.Context) (any, error)

// route is one row of the table of all routes. Paths are written as in the
// documents, with variables in braces.
type route struct {
	method, path string
	// answer makes JSON; query says that it reads the query by itself, else
	// none is taken.
	answer handler
	query  bool
	// raw, instead of answer, writes by itself.
	raw gin.HandlerFunc
	// local is answered by every server itself, leader or not; open needs no token.
	local, open bool
}

// routes is the table of all routes: those of contract 1.3 to 1.5 in the
// documented form and in that of 3.0.1, then the new ones. HEAD goes wherever GET goes.
func (s *Server) routes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	// What the database alone answers needs no leader. A server that was given none asks the one that leads.
	stored := s.opts.History != nil
	return []route{
		{method: post, path: "/api/app", answer: s.apps.register},
		{method: put, path: "/api/app", answer: s.apps.update},
		{method: get, path: "/api/app/list", answer: s.apps.list},
		{method: get, path: "/api/app/{appName}", answer: s.apps.get},
		{method: del, path: "/api/app/{appName}", answer: s.deleteApp, query: true},
		{method: get, path: "/api/app/{appName}/disable", answer: s.isAppDisabled},
		{method: post, path: "/api/app/{appName}/disable", answer: s.apps.disable(true)},
		{method: post, path: "/api/app/{appName}/enable", answer: s.apps.disable(false)},
		{method: del, path: "/api/app/{appName}/disable", answer: s.apps.disable(false)},

		{method: post, path: "/api/job/register", answer: s.jobs.register},
		{method: put, path: "/api/job/update", answer: s.jobs.update},
		{method: del, path: "/api/job/deregister", answer: s.deregisterJob(bodyJobName)},
		{method: del, path: "/api/job/{jobName}/deregister", answer: s.deregisterJob(pathName("job"))},
		{method: get, path: "/api/job/{jobName}/disable", answer: s.isJobDisabled},
		{method: post, path: "/api/job/{jobName}/disable", answer: s.jobs.disable(true)},
		{method: post, path: "/api/job/{jobName}/enable", answer: s.jobs.disable(false)},
		{method: del, path: "/api/job/{jobName}/disable", answer: s.jobs.disable(false)},
		{method: post, path: "/api/job/{jobName}/pause", answer: s.pauseJob(true)},
		{method: post, path: "/api/job/{jobName}/resume", answer: s.pauseJob(false)},
		{method: post, path: "/api/job/{jobName}/shutdown", answer: s.shutDownJob},
		{method: post, path: "/api/job/trigger", answer: s.trigger(bodyJobName, false)},
		{method: post, path: "/api/job/{jobName}/trigger", answer: s.trigger(pathName("job"), true)},
		{method: get, path: "/api/job/jobs", answer: s.jobs.list},
		{method: get, path: "/api/job/jobs/{jobName}", answer: s.jobs.get},
		{method: get, path: "/api/job/tasks/running", answer: s.runningTasks},
		{method: get, path: "/api/job/tasks/ready", answer: s.readyJobs},
		{method: get, path: "/api/job/tasks/failover", answer: s.failoverShards},
		{method: get, path: "/api/job/{jobName}/explain", answer: s.explain},
		{method: get, path: "/api/job/{jobName}/executions", answer: s.jobExecutions, query: true},
		{method: get, path: "/api/job/{jobName}/statistics", answer: s.fromHistory(s.jobStatistics), query: true},
		{method: get, path: "/api/job/events/executions", answer: s.fromHistory(runEvents), query: true, local: stored},
		{method: get, path: "/api/job/events/statusTraces", answer: s.fromHistory(traceEvents), query: true, local: stored},
		{method: get, path: "/api/job/statistics/tasks/results", answer: s.fromHistory(s.taskResults), query: true, local: stored},
		{method: get, path: "/api/job/statistics/tasks/results/{period}", answer: s.fromHistory(s.taskResultsOf), query: true, local: stored},
		{method: get, path: "/api/job/statistics/tasks/running", answer: s.lastWeek(History.TasksRunning), query: true, local: stored},
		{method: get, path: "/api/job/statistics/jobs/executionType", answer: s.executionTypes},
		{method: get, path: "/api/job/statistics/jobs/running", answer: s.lastWeek(History.JobsRunning), query: true, local: stored},
		{method: get, path: "/api/job/statistics/jobs/register", answer: s.fromHistory(jobsRegistered), query: true, local: stored},

		{method: get, path: "/api/executions", answer: s.executions, query: true},
		{method: get, path: "/api/execution/{executionId}", answer: withID("executionId", s.execution)},
		{method: post, path: "/api/execution/{executionId}/kill", answer: withID("executionId", s.killExecution)},
		{method: get, path: "/api/task/{taskId}/logs", raw: s.logs},
		{method: post, path: "/api/task/{taskId}/kill", answer: withID("taskId", s.killTask)},
		{method: post, path: "/api/task/{taskId}/forget", answer: withID("taskId", s.forgetTask)},

		{method: post, path: "/api/operate/reconcile/explicit", answer: s.reconcile(true)},
		{method: post, path: "/api/operate/reconcile/implicit", answer: s.reconcile(false)},
		{method: get, path: "/api/operate/sandbox", answer: s.sandbox, query: true},
		{method: get, path: "/api/operate/faulty", answer: s.faulty},
		{method: get, path: "/api/leader", answer: s.leader, local: true},

		{method: get, path: "/", raw: s.front, local: true, open: true},
		{method: get, path: "/healthz", answer: s.healthz, query: true, local: true, open: true},
		{method: get, path: "/readyz", answer: s.readyz, query: true, local: true, open: true},
		{method: get, path: "/metrics", raw: gin.WrapH(s.metrics), local: true},
		{method: get, path: "/artifacts/{name}", raw: s.artifact, local: true, open: true},
	}
}

// register puts the table into the router.
func (s *Server) register(table []route) {
	for _, r := range table {
		path := strings.NewReplacer("{", ":", "}", "").Replace(r.path)
		s.byPath[path] = r
		work := r.raw
		if work == nil {
			work = s.answering(r)
		}
		work = s.leaderOnly(r, work)
		s.engine.Handle(r.method, path, work)
		if r.method == http.MethodGet {
			s.engine.Handle(http.MethodHead, path, work)
		}
	}
}

// answering wraps the handler of a route that answers with JSON.
func (s *Server) answering(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), s.opts.RequestTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		if !r.query {
			if err := readQuery(c.Request).err(); err != nil {
				fail(c.Writer, c.Request, s.log, err)
				return
			}
		}
		value, err := r.answer(c)
		if err != nil {
			fail(c.Writer, c.Request, s.log, s.orFaulty(c, err))
			return
		}
		writeJSON(c.Writer, http.StatusOK, value)
	}
}

// reservedNames are the literal segments that stand where other routes have the
// variable, after the same literals; whatever the method, so that a name stays
// usable when routes are added to its neighbours.
func reservedNames(table []route, variable string) []string {
	var names []string
	for _, r := range table {
		before, _, found := strings.Cut(r.path, "{"+variable+"}")
		if !found {
			continue
		}
		for _, other := range table {
			rest, beside := strings.CutPrefix(other.path, before)
			name, _, _ := strings.Cut(rest, "/")
			if beside && name != "" && name[0] != '{' {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

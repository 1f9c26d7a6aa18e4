package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/auth"
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
	// local is answered by every server itself, leader or not.
	local bool
	// rule says who may use it. A route without a whole one lets nobody in, and fails a test.
	rule
}

// The rules of most routes.
var (
	everybody      = rule{scope: open}
	themselves     = rule{scope: oneself}
	readers        = rule{auth.Viewer, byApp}
	operators      = rule{auth.Operator, byApp}
	publishers     = rule{auth.Admin, byApp}
	scrapers       = rule{auth.Metrics, whole}
	readersOfAll   = rule{auth.Viewer, whole}
	operatorsOfAll = rule{auth.Operator, whole}
	adminsOfAll    = rule{auth.Admin, whole}
)

// routes is the table of all routes: those of contract 1.3 to 1.5 in the
// documented form and in that of 3.0.1, then the new ones. HEAD goes wherever GET goes.
func (s *Server) routes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	// What the database alone answers needs no leader. A server that was given none asks the one that leads.
	stored := s.opts.History != nil
	return []route{
		{method: post, path: "/api/app", rule: publishers, answer: publishing(s.apps.register, s.registerCheckedApp), query: true},
		{method: put, path: "/api/app", rule: publishers, answer: publishing(s.apps.update, s.updateCheckedApp), query: true},
		{method: post, path: "/api/app/check", rule: publishers, answer: s.checkApp, query: true},
		{method: get, path: "/api/app/list", rule: readers, answer: s.apps.list},
		{method: get, path: "/api/app/{appName}", rule: readers, answer: s.apps.get},
		{method: del, path: "/api/app/{appName}", rule: publishers, answer: s.deleteApp, query: true},
		{method: get, path: "/api/app/{appName}/disable", rule: readers, answer: s.isAppDisabled},
		{method: post, path: "/api/app/{appName}/disable", rule: operators, answer: s.apps.disable(true)},
		{method: post, path: "/api/app/{appName}/enable", rule: operators, answer: s.apps.disable(false)},
		{method: del, path: "/api/app/{appName}/disable", rule: operators, answer: s.apps.disable(false)},

		{method: post, path: "/api/job/register", rule: publishers, answer: s.jobs.register},
		{method: put, path: "/api/job/update", rule: publishers, answer: s.jobs.update},
		{method: post, path: "/api/job/check", rule: publishers, answer: s.checkJob, query: true},
		{method: get, path: "/api/cron", rule: readers, answer: s.explainCron, query: true, local: true},
		{method: del, path: "/api/job/deregister", rule: publishers, answer: s.deregisterJob(bodyJobName)},
		{method: del, path: "/api/job/{jobName}/deregister", rule: publishers, answer: s.deregisterJob(pathName("job"))},
		{method: get, path: "/api/job/{jobName}/disable", rule: readers, answer: s.isJobDisabled},
		{method: post, path: "/api/job/{jobName}/disable", rule: operators, answer: s.jobs.disable(true)},
		{method: post, path: "/api/job/{jobName}/enable", rule: operators, answer: s.jobs.disable(false)},
		{method: del, path: "/api/job/{jobName}/disable", rule: operators, answer: s.jobs.disable(false)},
		{method: post, path: "/api/job/{jobName}/pause", rule: operators, answer: s.pauseJob(true)},
		{method: post, path: "/api/job/{jobName}/resume", rule: operators, answer: s.pauseJob(false)},
		{method: post, path: "/api/job/{jobName}/shutdown", rule: operators, answer: s.shutDownJob},
		{method: post, path: "/api/job/trigger", rule: operators, answer: s.trigger(bodyJobName, false)},
		{method: post, path: "/api/job/{jobName}/trigger", rule: operators, answer: s.trigger(pathName("job"), true)},
		{method: get, path: "/api/job/jobs", rule: readers, answer: s.jobs.list},
		{method: get, path: "/api/job/jobs/{jobName}", rule: readers, answer: s.jobs.get},
		{method: get, path: "/api/job/tasks/running", rule: readers, answer: s.runningTasks},
		{method: get, path: "/api/job/tasks/ready", rule: readers, answer: s.readyJobs},
		{method: get, path: "/api/job/tasks/failover", rule: readers, answer: s.failoverShards},
		{method: get, path: "/api/job/{jobName}/explain", rule: readers, answer: s.explain},
		{method: get, path: "/api/job/{jobName}/executions", rule: readers, answer: s.jobExecutions, query: true},
		{method: get, path: "/api/job/{jobName}/changes", rule: readers, answer: s.jobChanges, query: true},
		{method: get, path: "/api/job/{jobName}/grid", rule: readers, answer: s.jobGrid, query: true},
		{method: get, path: "/api/job/{jobName}/statistics", rule: readers, answer: s.fromHistory(s.jobStatistics), query: true},
		{method: get, path: "/api/job/events/executions", rule: readers, answer: s.fromHistory(s.runEvents), query: true, local: stored},
		{method: get, path: "/api/job/events/statusTraces", rule: readers, answer: s.fromHistory(s.traceEvents), query: true, local: stored},
		{method: get, path: "/api/job/statistics/tasks/results", rule: readersOfAll, answer: s.fromHistory(s.taskResults), query: true, local: stored},
		{method: get, path: "/api/job/statistics/tasks/results/{period}", rule: readersOfAll, answer: s.fromHistory(s.taskResultsOf), query: true, local: stored},
		{method: get, path: "/api/job/statistics/tasks/running", rule: readersOfAll, answer: s.lastWeek(History.TasksRunning), query: true, local: stored},
		{method: get, path: "/api/job/statistics/jobs/executionType", rule: readers, answer: s.executionTypes},
		{method: get, path: "/api/job/statistics/jobs/running", rule: readersOfAll, answer: s.lastWeek(History.JobsRunning), query: true, local: stored},
		{method: get, path: "/api/job/statistics/jobs/register", rule: readersOfAll, answer: s.fromHistory(jobsRegistered), query: true, local: stored},

		{method: get, path: "/api/events", rule: readers, raw: s.events},
		{method: get, path: "/api/jobs", rule: readers, answer: s.jobPage, query: true},
		{method: get, path: "/api/overview", rule: readers, answer: s.overview},

		{method: get, path: "/api/executions", rule: readers, answer: s.executions, query: true},
		{method: get, path: "/api/execution/{executionId}", rule: readers, answer: withID("executionId", s.execution)},
		{method: post, path: "/api/execution/{executionId}/kill", rule: operators, answer: withID("executionId", s.killExecution)},
		{method: post, path: "/api/execution/{executionId}/again", rule: operators, answer: s.triggerAgain},
		{method: get, path: "/api/task/{taskId}/logs", rule: readers, raw: s.logs},
		{method: get, path: "/api/task/{taskId}/logs/search", rule: readers, answer: s.searchLog, query: true},
		{method: post, path: "/api/task/{taskId}/kill", rule: operators, answer: withID("taskId", s.killTask)},
		{method: post, path: "/api/task/{taskId}/forget", rule: operators, answer: withID("taskId", s.forgetTask)},

		{method: get, path: "/api/cluster", rule: readersOfAll, answer: s.cluster, query: true},
		{method: get, path: "/api/cluster/agents/{agentId}", rule: readersOfAll, answer: withID("agentId", s.agent)},
		{method: get, path: "/api/overview/fires", rule: readersOfAll, answer: s.firesAhead},
		{method: get, path: "/api/overview/series", rule: readersOfAll, answer: s.series, query: true},

		{method: post, path: "/api/operate/reconcile/explicit", rule: operatorsOfAll, answer: s.reconcile(true)},
		{method: post, path: "/api/operate/reconcile/implicit", rule: operatorsOfAll, answer: s.reconcile(false)},
		{method: get, path: "/api/operate/sandbox", rule: readersOfAll, answer: s.sandbox, query: true},
		{method: get, path: "/api/operate/faulty", rule: readersOfAll, answer: s.faulty},
		{method: get, path: "/api/audit", rule: adminsOfAll, answer: s.audit, query: true},
		{method: get, path: "/api/leader", rule: readersOfAll, answer: s.leader, local: true},

		{method: get, path: "/api/login", rule: everybody, answer: s.logins, local: true},
		{method: post, path: "/api/login", rule: everybody, answer: s.login, local: true},
		{method: post, path: "/api/session", rule: everybody, answer: s.beginSession, local: true},
		{method: get, path: "/api/session", rule: themselves, answer: s.session, local: true},
		{method: del, path: "/api/session", rule: themselves, answer: s.endSession, local: true},
		{method: get, path: "/api/users", rule: adminsOfAll, answer: s.users, local: true},
		{method: post, path: "/api/users", rule: adminsOfAll, answer: s.addUser, local: true},
		{method: get, path: "/api/users/{userName}", rule: adminsOfAll, answer: s.user, local: true},
		{method: put, path: "/api/users/{userName}", rule: adminsOfAll, answer: s.changeUser, local: true},
		{method: del, path: "/api/users/{userName}", rule: adminsOfAll, answer: s.removeUser, local: true},
		{method: del, path: "/api/users/{userName}/logins", rule: adminsOfAll, answer: s.endLogins, local: true},
		{method: del, path: "/api/logins", rule: adminsOfAll, answer: s.replaceKeys, local: true},
		{method: put, path: "/api/users/{userName}/password", rule: themselves, answer: s.setPassword, local: true},
		{method: get, path: "/api/tokens", rule: adminsOfAll, answer: s.tokens, local: true},
		{method: post, path: "/api/tokens", rule: adminsOfAll, answer: s.addToken, local: true},
		{method: del, path: "/api/tokens/{tokenName}", rule: adminsOfAll, answer: s.removeToken, local: true},

		{method: get, path: "/api/oidc/login", rule: everybody, raw: s.beginOpenID, local: true},
		{method: get, path: "/api/oidc/callback", rule: everybody, raw: s.endOpenID, local: true},

		{method: get, path: "/", rule: everybody, raw: s.front, local: true},
		{method: get, path: "/static/{hash}/{file}", rule: everybody, raw: s.static, local: true},
		{method: get, path: "/healthz", rule: everybody, answer: s.healthz, query: true, local: true},
		{method: get, path: "/readyz", rule: everybody, answer: s.readyz, query: true, local: true},
		{method: get, path: "/metrics", rule: scrapers, raw: gin.WrapH(s.metrics), local: true},
		{method: get, path: "/api/schema/app", rule: readers, answer: s.schemaOfApp, local: true},
		{method: get, path: "/api/schema/job", rule: readers, answer: s.schemaOfJob, local: true},
		{method: get, path: "/api/example", rule: readers, answer: s.example},
		{method: get, path: examplePath, rule: everybody, raw: s.examplePackage, local: true},
		{method: get, path: "/artifacts/{name}", rule: everybody, raw: s.artifact, local: true},
	}
}

// register puts the table into the router.
func (s *Server) register(table []route) {
	for _, r := range table {
		path := strings.NewReplacer("{file}", "*file", "{", ":", "}", "").Replace(r.path)
		s.byPath[path] = r
		work := r.raw
		if work == nil {
			work = s.answering(r)
		}
		work = s.leaderOnly(r, work)
		s.rules[r.method+" "+path] = r.rule
		s.engine.Handle(r.method, path, work)
		if r.method == http.MethodGet {
			s.engine.Handle(http.MethodHead, path, work)
		}
	}
}

// answering wraps the handler of a route that answers with JSON.
func (s *Server) answering(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), timeFor(c, s.opts.RequestTimeout))
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
		s.compressed(c.Writer, c.Request, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, value) })
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

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
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// handler is a route's work: a value to answer as JSON, or an error.
type handler func(c *gin.Context) (any, error)

// route is one row of the table of all routes. Paths are written as in the
// documents, with variables in braces.
type route struct {
	method, path string
	// answer makes JSON.
	answer handler
	// takes are the parameters of its query. Any other is refused, but with anyQuery, which is for probes.
	takes    []request.Declared
	anyQuery bool
	// tag is the group that the API's description has it in, does what that says of it beside its rule and its
	// parameters.
	tag  string
	does description
	// raw, instead of answer, writes by itself.
	raw gin.HandlerFunc
	// lasts reports whether the answer lasts as long as its client likes, and streams counts those; nil for most.
	lasts   func(*gin.Context) bool
	streams *streams
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
	return slices.Concat(
		under("Apps", []route{
			{method: post, path: "/api/app", rule: publishers,
				answer: publishing(s.apps.register, s.registerCheckedApp),
				takes:  []request.Declared{checkFirst},
				does: does("Publishes a new app").reads(jsonBody("App",
					exampleApp)).gives(publishedApp{}).fails(http.StatusTooManyRequests)},
			{method: put, path: "/api/app", rule: publishers, answer: publishing(s.apps.update, s.updateCheckedApp),
				takes: []request.Declared{checkFirst},
				does: does("Changes the given fields of an app; null sets the default").reads(jsonBody("AppChange",
					exampleAppChange)).gives(publishedApp{}).fails(http.StatusNotFound, http.StatusTooManyRequests)},
			{method: get, path: "/api/app/list", rule: readers, answer: s.apps.list,
				takes: listTakes, does: does("Lists all apps, by name").gives([]app.Config{}, linkHeader)},
			{method: get, path: "/api/app/{appName}", rule: readers, answer: s.apps.get,
				does: does("Gives one app").gives(app.Config{})},
			{method: del, path: "/api/app/{appName}", rule: publishers, answer: s.deleteApp,
				takes: []request.Declared{withItsJobs}, does: does("Deletes an app").gives(views.AppView{})},
			{method: get, path: "/api/app/{appName}/disable", rule: readers, answer: s.isAppDisabled,
				does: does("Says whether an app is disabled").gives(true)},
			{method: post, path: "/api/app/{appName}/disable", rule: operators, answer: s.apps.disable(true),
				does: does("Disables an app and so all its jobs").gives(views.AppView{})},
			{method: post, path: "/api/app/{appName}/enable", rule: operators, answer: s.apps.disable(false),
				does: does("Enables an app").gives(views.AppView{})},
			{method: del, path: "/api/app/{appName}/disable", rule: operators, answer: s.apps.disable(false),
				does: does("Enables an app, as the original has it").gives(views.AppView{})},
		}),
		under("Jobs", []route{
			{method: post, path: "/api/job/register", rule: publishers, answer: s.jobs.register,
				does: does("Registers a new job").reads(jsonBody("Job",
					exampleJob)).gives(views.JobView{}).fails(http.StatusNotFound)},
			{method: put, path: "/api/job/update", rule: publishers, answer: s.jobs.update,
				does: does("Changes the given fields of a job, from the next execution on; null sets the default").reads(jsonBody("JobChange", exampleJobChange)).gives(views.JobView{}).fails(http.StatusNotFound)},
			{method: del, path: "/api/job/deregister", rule: publishers, answer: s.deregisterJob(request.JobNameInBody),
				does: does("Removes the job whose name is the body").reads(nameBody...).gives(views.JobView{}).fails(http.StatusNotFound)},
			{method: del, path: "/api/job/{jobName}/deregister", rule: publishers,
				answer: s.deregisterJob(request.PathName("job")),
				does:   does("Removes a job").gives(views.JobView{})},
			{method: get, path: "/api/job/{jobName}/disable", rule: readers, answer: s.isJobDisabled,
				does: does("Says whether a job, or its app, is disabled").gives(true)},
			{method: post, path: "/api/job/{jobName}/disable", rule: operators, answer: s.jobs.disable(true),
				does: does("Disables a job: no new runs, running ones are killed").gives(views.JobView{})},
			{method: post, path: "/api/job/{jobName}/enable", rule: operators, answer: s.jobs.disable(false),
				does: does("Enables a job: it fires from now on").gives(views.JobView{})},
			{method: del, path: "/api/job/{jobName}/disable", rule: operators, answer: s.jobs.disable(false),
				does: does("Enables a job, as the original has it").gives(views.JobView{})},
			{method: post, path: "/api/job/{jobName}/pause", rule: operators, answer: s.pauseJob(true),
				does: does("Pauses a job: no new runs, running ones run on, what waits is held").gives(views.JobView{})},
			{method: post, path: "/api/job/{jobName}/resume", rule: operators, answer: s.pauseJob(false),
				does: does("Ends a job's pause").gives(views.JobView{})},
			{method: post, path: "/api/job/{jobName}/shutdown", rule: operators, answer: s.shutDownJob,
				does: does("Shuts a job down: no new runs, running ones run to their end, then it is disabled").gives(views.JobView{})},
			{method: post, path: "/api/job/trigger", rule: operators, answer: s.trigger(request.JobNameInBody, false),
				does: does("Asks for a run of the job whose name is the body").with(idempotencyHeader).reads(nameBody...).gives(triggered{}).fails(http.StatusNotFound)},
			{method: post, path: "/api/job/{jobName}/trigger", rule: operators,
				answer: s.trigger(request.PathName("job"), true),
				does:   does("Asks for a run of a job, which may have settings of its own").with(idempotencyHeader).mayRead(jsonBody("TriggerSettings", exampleTrigger)).gives(triggered{})},
			{method: get, path: "/api/job/jobs", rule: readers, answer: s.jobs.list,
				takes: listTakes, does: does("Lists all jobs, by name").gives([]jobs.Config{}, linkHeader)},
			{method: get, path: "/api/job/jobs/{jobName}", rule: readers, answer: s.jobs.get,
				does: does("Gives one job").gives(jobs.Config{})},
			{method: get, path: "/api/job/{jobName}/explain", rule: readers, answer: s.explain,
				does: does("Says what a job does, what it waits for, when it fires next, and how its last run ended").gives(views.Explanation{})},
		}),
		under("Before you register", []route{
			{method: post, path: "/api/app/check", rule: publishers, answer: s.checkApp,
				takes: []request.Declared{checkUpdate},
				does:  does("Fetches the package of an app as an executor would, and says what is in it").reads(jsonBody("AppChange", exampleApp)).gives(PackageFacts{}).fails(http.StatusNotFound, http.StatusTooManyRequests)},
			{method: post, path: "/api/job/check", rule: publishers, answer: s.checkJob,
				takes: []request.Declared{checkUpdate, language},
				does:  does("Says all that registering or updating a job would say, and changes nothing").reads(jsonBody("JobChange", exampleJob)).gives(jobCheck{}).fails(http.StatusNotFound)},
			{method: get, path: "/api/cron", rule: readers, answer: s.explainCron, local: true,
				takes: []request.Declared{theCron, theZone, fireCount, language},
				does:  does("Puts a cron in words, with its next fires").gives(cronView{}).fails(http.StatusUnprocessableEntity)},
			{method: get, path: "/api/schema/app", rule: readers, answer: s.schemaOfApp, local: true,
				does: does("Gives the JSON Schema of an app's document").givesSchema()},
			{method: get, path: "/api/schema/job", rule: readers, answer: s.schemaOfJob, local: true,
				does: does("Gives the JSON Schema of a job's document").givesSchema()},
			{method: get, path: "/api/example", rule: readers, answer: s.example,
				does: does("Gives an app and a job that are ready to be published and registered").gives(exampleDocuments{})},
			{method: get, path: examplePath, rule: everybody, raw: s.examplePackage, local: true,
				does: does("Gives the package of the example").streams("application/gzip", "The package.", nil)},
		}),
		under("Runs and output", []route{
			{method: get, path: "/api/job/tasks/running", rule: readers, answer: s.runningTasks,
				does: does("Lists the tasks on the cluster").gives([]taskContext{})},
			{method: get, path: "/api/job/tasks/ready", rule: readers, answer: s.readyJobs,
				does: does("Lists the jobs that wait for resources, and how many runs wait").gives([]readyJob{})},
			{method: get, path: "/api/job/tasks/failover", rule: readers, answer: s.failoverShards,
				does: does("Lists the shards that wait to be run again after their task was lost").gives([]failoverShard{})},
			{method: get, path: "/api/job/{jobName}/executions", rule: readers, answer: s.jobExecutions,
				takes: executionsTake, does: does("Lists the runs of a job, the newest fire first").gives([]executionRow{}, linkHeader, warningHeader)},
			{method: get, path: "/api/job/{jobName}/grid", rule: readers, answer: s.jobGrid,
				takes: []request.Declared{gridLimit},
				does: does("Gives a job's last runs with all their shards, the oldest of them first").gives(grid{},
					warningHeader)},
			{method: get, path: "/api/job/statistics/jobs/executionType", rule: readers, answer: s.executionTypes,
				does: does("Counts the jobs that are registered now by their types").gives(jobCounts{})},
			{method: get, path: "/api/executions", rule: readers, answer: s.executions,
				takes: append([]request.Declared{runsOfJob}, executionsTake...),
				does: does("Lists the runs of all jobs, the newest fire first").gives([]executionRow{}, linkHeader,
					warningHeader)},
			{method: get, path: "/api/execution/{executionId}", rule: readers,
				answer: withID("executionId", s.execution),
				does:   does("Gives one run with all its shards and, with a history, its life").gives(executionAnswer{})},
			{method: post, path: "/api/execution/{executionId}/kill", rule: operators,
				answer: withID("executionId", s.killExecution),
				does:   does("Ends what runs of a run, and what waits of it, for good").gives(wish{})},
			{method: post, path: "/api/execution/{executionId}/again", rule: operators, answer: s.triggerAgain,
				does: does("Triggers the job of a run with what that run had of its own").with(idempotencyHeader).gives(triggered{}).fails(http.StatusUnprocessableEntity)},
			{method: get, path: "/api/task/{taskId}/logs", rule: readers, raw: s.logs, lasts: follows,
				streams: &s.followed,
				takes:   []request.Declared{logStream, logFrom, logTail, logLimit, logFollow, logDownload},
				does:    does("Gives the output of a task, and with follow what comes of it").streams("text/plain; charset=utf-8", "The output as it is.", "one line\n", logHeaders...).fails(http.StatusConflict, http.StatusGone)},
			{method: get, path: "/api/task/{taskId}/logs/search", rule: readers, answer: s.searchLog,
				takes: []request.Declared{logStream, matchText, logFrom, matchLimit},
				does: does("Finds lines in the output of a task").gives(found{}).fails(http.StatusConflict,
					http.StatusGone, http.StatusTooManyRequests)},
			{method: post, path: "/api/task/{taskId}/kill", rule: operators, answer: withID("taskId", s.killTask),
				does: does("Ends one task, whatever failover and maxRetries say").gives(wish{})},
			{method: post, path: "/api/task/{taskId}/forget", rule: operators, answer: withID("taskId", s.forgetTask),
				does: does("Takes your word that a task on an unreachable agent has ended").gives(wish{})},
		}),
		under("Live", []route{
			{method: get, path: "/api/events", rule: readers, raw: s.events, lasts: always, streams: &s.streams,
				does: does("Follows what changes, as server-sent events").streams("text/event-stream",
					"Events hello, summary and changed, and comments, until the connection ends.", exampleEvents)},
			{method: get, path: "/api/jobs", rule: readers, answer: s.jobPage,
				takes: jobPageTakes, does: does("Gives one page of the jobs: searched, filtered, sorted").gives(view.Page{})},
			{method: get, path: "/api/overview", rule: readers, answer: s.overview,
				does: does("Shows the cluster at a glance, and what needs a look now").gives(overviewAnswer{})},
		}),
		under("History", []route{
			{method: get, path: "/api/job/{jobName}/statistics", rule: readers, answer: s.fromHistory(s.jobStatistics),
				takes: []request.Declared{statisticsSince}, does: does("Says how a job did").gives(search.JobStatistics{})},
			{method: get, path: "/api/job/events/executions", rule: readers, answer: s.fromHistory(s.runEvents),
				local: stored,
				takes: searchTakes(search.Runs),
				does:  does("Searches the runs of shards that are recorded").gives(search.Answer[search.Run]{}).fails(http.StatusNotFound)},
			{method: get, path: "/api/job/events/statusTraces", rule: readers, answer: s.fromHistory(s.traceEvents),
				local: stored,
				takes: searchTakes(search.Traces),
				does:  does("Searches the recorded changes of tasks' states").gives(search.Answer[search.Trace]{}).fails(http.StatusNotFound)},
			{method: get, path: "/api/job/statistics/tasks/results", rule: readersOfAll,
				answer: s.fromHistory(s.taskResults), local: stored,
				takes: []request.Declared{last24Hours},
				does:  does("Gives the results of each minute of the last 24 hours").gives([]search.TaskResults{})},
			{method: get, path: "/api/job/statistics/tasks/results/{period}", rule: readersOfAll,
				answer: s.fromHistory(s.taskResultsOf), local: stored,
				does: does("Gives the results in all of a period: online, lastWeek, lastHour or lastMinute").gives(search.TaskResults{})},
			{method: get, path: "/api/job/statistics/tasks/running", rule: readersOfAll,
				answer: s.lastWeek(History.TasksRunning), local: stored,
				takes: []request.Declared{sinceLastWeek},
				does:  does("Says how many tasks ran, each minute of this day and the seven before it").gives([]search.Running{})},
			{method: get, path: "/api/job/statistics/jobs/running", rule: readersOfAll,
				answer: s.lastWeek(History.JobsRunning), local: stored,
				takes: []request.Declared{sinceLastWeek},
				does:  does("Says how many jobs had a task that ran, each minute of this day and the seven before it").gives([]search.Running{})},
			{method: get, path: "/api/job/statistics/jobs/register", rule: readersOfAll,
				answer: s.fromHistory(jobsRegistered), local: stored,
				does: does("Says how many jobs were registered, each day").gives([]search.Registered{})},
		}),
		under("Audit", []route{
			{method: get, path: "/api/job/{jobName}/changes", rule: readers, answer: s.jobChanges,
				takes: auditTakes("action", "limit", "cursor"),
				does:  does("Lists what people have changed of a job, the newest first").gives(search.Answer[changeRow]{}, warningHeader)},
			{method: get, path: "/api/audit", rule: adminsOfAll, answer: s.audit,
				takes: auditTakes(search.AuditParameters...),
				does: does("Lists what people have changed, the newest first").gives(search.Answer[auditRow]{},
					warningHeader)},
		}),
		under("Cluster", []route{
			{method: get, path: "/api/cluster", rule: readersOfAll, answer: s.cluster,
				takes: []request.Declared{ofAgent, agentPage, agentsPerPage},
				does:  does("Shows the cluster as the leader knows it, with one page of its agents").gives(views.ClusterView{})},
			{method: get, path: "/api/cluster/agents/{agentId}", rule: readersOfAll,
				answer: withID("agentId", s.agent),
				does:   does("Gives one agent, its executors, and tasks that run there").gives(views.AgentDetail{})},
			{method: get, path: "/api/overview/fires", rule: readersOfAll, answer: s.firesAhead,
				does: does("Says how many jobs fire in each minute of the next hour").gives(firesAhead{})},
			{method: get, path: "/api/overview/series", rule: readersOfAll, answer: s.series,
				takes: []request.Declared{seriesRange},
				does:  does("Gives numbers over time: what ended, was launched, ran and waited, and how late fires were").gives(series{}, warningHeader)},
		}),
		under("Operation", []route{
			{method: post, path: "/api/operate/reconcile/explicit", rule: operatorsOfAll, answer: s.reconcile(true),
				does: does("Asks the cluster now about every task that is known here").gives(true).fails(http.StatusTooManyRequests)},
			{method: post, path: "/api/operate/reconcile/implicit", rule: operatorsOfAll, answer: s.reconcile(false),
				does: does("Asks the cluster for all of the framework's tasks that it knows").gives(true).fails(http.StatusTooManyRequests)},
			{method: get, path: "/api/operate/sandbox", rule: readersOfAll, answer: s.sandbox,
				takes: []request.Declared{sandboxApp},
				does:  does("Says where the executors of an app keep their files").gives([]views.SandboxView{}).fails(http.StatusNotFound)},
			{method: get, path: "/api/operate/faulty", rule: readersOfAll, answer: s.faulty,
				does: does("Lists the documents in the registry that can't be used").gives([]views.FaultyView{})},
			{method: get, path: "/api/leader", rule: readersOfAll, answer: s.leader, local: true,
				does: does("Says who leads, as far as this server knows").gives(scheduler.LeaderView{})},
		}),
		under("The server", []route{
			{method: get, path: "/", rule: everybody, raw: s.front, local: true,
				does: does("Says what this is; a browser gets the console").streams("text/plain; charset=utf-8",
					"Some lines for people.", nil).orGives("text/html; charset=utf-8")},
			{method: get, path: "/static/{hash}/{file}", rule: everybody, raw: s.static, local: true,
				does: does("Gives a file of the console; the file may be in folders, and then has slashes").streams("*/*", "The file.", nil)},
			{method: get, path: "/healthz", rule: everybody, answer: s.healthz, local: true, anyQuery: true,
				does: does("Answers while the process lives").gives(health{})},
			{method: get, path: "/readyz", rule: everybody, answer: s.readyz, local: true, anyQuery: true,
				does: does("Says whether this server can do its work now").gives(health{}).fails(http.StatusServiceUnavailable)},
			{method: get, path: "/metrics", rule: scrapers, raw: gin.WrapH(s.metrics), local: true,
				does: does("Gives the metrics, for Prometheus").streams("text/plain",
					"Metrics in the form of Prometheus.", nil)},
			{method: get, path: "/api/openapi.json", rule: readers, raw: s.openAPI, local: true,
				does: does("Describes this API, as OpenAPI 3.1").gives(map[string]any{})},
			{method: get, path: "/api/docs", rule: everybody, raw: s.docs, local: true,
				does: does("Shows that description in a browser").streams("text/html; charset=utf-8", "A page.",
					nil).fails(http.StatusNotFound)},
			{method: get, path: "/artifacts/{name}", rule: everybody, raw: s.artifact, local: true,
				does: does("Gives the executor's binary, for agents").streams("application/octet-stream", "The file.",
					nil).fails(http.StatusServiceUnavailable)},
		}),
		under("Who may connect", []route{
			{method: get, path: "/api/login", rule: everybody, answer: s.logins, local: true,
				does: does("Says how one can log in here").gives(ways{}).fails(http.StatusServiceUnavailable)},
			{method: post, path: "/api/login", rule: everybody, answer: s.login, local: true,
				does: does("Gives a token for a name and a password").reads(bodyOf(loginBody{})).gives(loggedIn{}).fails(http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable)},
			{method: post, path: "/api/session", rule: everybody, answer: s.beginSession, local: true,
				does: does("Logs a browser in: the token is in a cookie that scripts can't read").reads(bodyOf(loginBody{})).gives(whoAmI{}, cookieHeader).fails(http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable)},
			{method: get, path: "/api/session", rule: themselves, answer: s.session, local: true,
				does: does("Says who you are, and what you may do").gives(whoAmI{})},
			{method: del, path: "/api/session", rule: themselves, answer: s.endSession, local: true,
				does: does("Ends the login, wherever its token is used").gives(true, cookieHeader)},
			{method: get, path: "/api/users", rule: adminsOfAll, answer: s.users, local: true,
				does: does("Lists all users, without passwords").gives([]auth.Account{})},
			{method: post, path: "/api/users", rule: adminsOfAll, answer: s.addUser, local: true,
				does: does("Adds a user").reads(bodyOf(userBody{})).gives(auth.Account{})},
			{method: get, path: "/api/users/{userName}", rule: adminsOfAll, answer: s.user, local: true,
				does: does("Gives one user").gives(auth.Account{})},
			{method: put, path: "/api/users/{userName}", rule: adminsOfAll, answer: s.changeUser, local: true,
				does: does("Gives a user another role, and apps; the logins of the user end").reads(bodyOf(grantBody{})).gives(auth.Account{})},
			{method: del, path: "/api/users/{userName}", rule: adminsOfAll, answer: s.removeUser, local: true,
				does: does("Removes a user, whose logins end").gives(true)},
			{method: del, path: "/api/users/{userName}/logins", rule: adminsOfAll, answer: s.endLogins, local: true,
				does: does("Ends all logins of a name").gives(true)},
			{method: del, path: "/api/logins", rule: adminsOfAll, answer: s.replaceKeys, local: true,
				does: does("Ends all logins of everybody, and replaces the keys that they were signed with").gives(true)},
			{method: put, path: "/api/users/{userName}/password", rule: themselves, answer: s.setPassword, local: true,
				does: does("Sets a user's password; all logins of the user end").reads(bodyOf(passwordBody{})).gives(true).fails(http.StatusTooManyRequests)},
			{method: get, path: "/api/tokens", rule: adminsOfAll, answer: s.tokens, local: true,
				does: does("Lists API tokens, without what makes them tokens").gives([]auth.APIToken{})},
			{method: post, path: "/api/tokens", rule: adminsOfAll, answer: s.addToken, local: true,
				does: does("Makes an API token, which is shown this once").reads(bodyOf(tokenBody{})).gives(madeToken{})},
			{method: del, path: "/api/tokens/{tokenName}", rule: adminsOfAll, answer: s.removeToken, local: true,
				does: does("Removes an API token").gives(true)},
			{method: get, path: "/api/oidc/login", rule: everybody, raw: s.beginOpenID, local: true,
				does: does("Sends a browser to the OpenID provider").redirects(http.StatusFound).fails(http.StatusNotFound, http.StatusServiceUnavailable)},
			{method: get, path: "/api/oidc/callback", rule: everybody, raw: s.endOpenID, local: true,
				does: does("Takes a browser back from the OpenID provider, and logs it in").redirects(http.StatusSeeOther).fails(http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable)},
		}),
	)
}

// under puts routes into a group.
func under(tag string, routes []route) []route {
	for i := range routes {
		routes[i].tag = tag
	}
	return routes
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
		work = s.leaderOnly(r, request.WithQuery(r.takes, work))
		if r.lasts != nil {
			work = s.bounding(r.streams, r.lasts, work)
		}
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
		if len(r.takes) == 0 && !r.anyQuery {
			if err := request.QueryOf(c).Err(); err != nil {
				s.answers.Fail(c.Writer, c.Request, err)
				return
			}
		}
		value, err := r.answer(c)
		if err != nil {
			s.answers.Fail(c.Writer, c.Request, caller.HideInError(ctx, s.opts.Scheduler, s.orFaulty(c, err)))
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

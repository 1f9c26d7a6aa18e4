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
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// routes is the table of all routes: those of contract 1.3 to 1.5 in the
// documented form and in that of 3.0.1, then the new ones. HEAD goes wherever GET goes.
func (s *Server) routes() []route.Route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return slices.Concat(
		s.runs.Routes(), s.logs.Routes(), s.history.Routes(), s.access.Routes(),
		route.Group("Apps", []route.Route{
			{Method: post, Path: "/api/app", Rule: route.Publishers,
				Answer: publishing(s.apps.register, s.registerCheckedApp),
				Takes:  []request.Declared{checkFirst},
				Does: route.Does("Publishes a new app").Reads(route.JSONBody("App",
					exampleApp)).Gives(publishedApp{}).Fails(http.StatusTooManyRequests)},
			{Method: put, Path: "/api/app", Rule: route.Publishers, Answer: publishing(s.apps.update, s.updateCheckedApp),
				Takes: []request.Declared{checkFirst},
				Does: route.Does("Changes the given fields of an app; null sets the default").Reads(route.JSONBody("AppChange",
					exampleAppChange)).Gives(publishedApp{}).Fails(http.StatusNotFound, http.StatusTooManyRequests)},
			{Method: get, Path: "/api/app/list", Rule: route.Readers, Answer: s.apps.list,
				Takes: listTakes, Does: route.Does("Lists all apps, by name").Gives([]app.Config{}, route.LinkHeader)},
			{Method: get, Path: "/api/app/{appName}", Rule: route.Readers, Answer: s.apps.get,
				Does: route.Does("Gives one app").Gives(app.Config{})},
			{Method: del, Path: "/api/app/{appName}", Rule: route.Publishers, Answer: s.deleteApp,
				Takes: []request.Declared{withItsJobs}, Does: route.Does("Deletes an app").Gives(views.AppView{})},
			{Method: get, Path: "/api/app/{appName}/disable", Rule: route.Readers, Answer: s.isAppDisabled,
				Does: route.Does("Says whether an app is disabled").Gives(true)},
			{Method: post, Path: "/api/app/{appName}/disable", Rule: route.Operators, Answer: s.apps.disable(true),
				Does: route.Does("Disables an app and so all its jobs").Gives(views.AppView{})},
			{Method: post, Path: "/api/app/{appName}/enable", Rule: route.Operators, Answer: s.apps.disable(false),
				Does: route.Does("Enables an app").Gives(views.AppView{})},
			{Method: del, Path: "/api/app/{appName}/disable", Rule: route.Operators, Answer: s.apps.disable(false),
				Does: route.Does("Enables an app, as the original has it").Gives(views.AppView{})},
		}),
		route.Group("Jobs", []route.Route{
			{Method: post, Path: "/api/job/register", Rule: route.Publishers, Answer: s.jobs.register,
				Does: route.Does("Registers a new job").Reads(route.JSONBody("Job",
					exampleJob)).Gives(views.JobView{}).Fails(http.StatusNotFound)},
			{Method: put, Path: "/api/job/update", Rule: route.Publishers, Answer: s.jobs.update,
				Does: route.Does("Changes the given fields of a job, from the next execution on; null sets the default").Reads(route.JSONBody("JobChange", exampleJobChange)).Gives(views.JobView{}).Fails(http.StatusNotFound)},
			{Method: del, Path: "/api/job/deregister", Rule: route.Publishers, Answer: s.deregisterJob(request.JobNameInBody),
				Does: route.Does("Removes the job whose name is the body").Reads(route.NameBody...).Gives(views.JobView{}).Fails(http.StatusNotFound)},
			{Method: del, Path: "/api/job/{jobName}/deregister", Rule: route.Publishers,
				Answer: s.deregisterJob(request.PathName("job")),
				Does:   route.Does("Removes a job").Gives(views.JobView{})},
			{Method: get, Path: "/api/job/{jobName}/disable", Rule: route.Readers, Answer: s.isJobDisabled,
				Does: route.Does("Says whether a job, or its app, is disabled").Gives(true)},
			{Method: post, Path: "/api/job/{jobName}/disable", Rule: route.Operators, Answer: s.jobs.disable(true),
				Does: route.Does("Disables a job: no new runs, running ones are killed").Gives(views.JobView{})},
			{Method: post, Path: "/api/job/{jobName}/enable", Rule: route.Operators, Answer: s.jobs.disable(false),
				Does: route.Does("Enables a job: it fires from now on").Gives(views.JobView{})},
			{Method: del, Path: "/api/job/{jobName}/disable", Rule: route.Operators, Answer: s.jobs.disable(false),
				Does: route.Does("Enables a job, as the original has it").Gives(views.JobView{})},
			{Method: post, Path: "/api/job/{jobName}/pause", Rule: route.Operators, Answer: s.pauseJob(true),
				Does: route.Does("Pauses a job: no new runs, running ones run on, what waits is held").Gives(views.JobView{})},
			{Method: post, Path: "/api/job/{jobName}/resume", Rule: route.Operators, Answer: s.pauseJob(false),
				Does: route.Does("Ends a job's pause").Gives(views.JobView{})},
			{Method: post, Path: "/api/job/{jobName}/shutdown", Rule: route.Operators, Answer: s.shutDownJob,
				Does: route.Does("Shuts a job down: no new runs, running ones run to their end, then it is disabled").Gives(views.JobView{})},
			{Method: post, Path: "/api/job/trigger", Rule: route.Operators, Answer: s.trigger(request.JobNameInBody, false),
				Does: route.Does("Asks for a run of the job whose name is the body").With(request.IdempotencyHeader).Reads(route.NameBody...).Gives(route.Triggered{}).Fails(http.StatusNotFound)},
			{Method: post, Path: "/api/job/{jobName}/trigger", Rule: route.Operators,
				Answer: s.trigger(request.PathName("job"), true),
				Does:   route.Does("Asks for a run of a job, which may have settings of its own").With(request.IdempotencyHeader).MayRead(route.JSONBody("TriggerSettings", exampleTrigger)).Gives(route.Triggered{})},
			{Method: get, Path: "/api/job/jobs", Rule: route.Readers, Answer: s.jobs.list,
				Takes: listTakes, Does: route.Does("Lists all jobs, by name").Gives([]jobs.Config{}, route.LinkHeader)},
			{Method: get, Path: "/api/job/jobs/{jobName}", Rule: route.Readers, Answer: s.jobs.get,
				Does: route.Does("Gives one job").Gives(jobs.Config{})},
		}),
		route.Group("Before you register", []route.Route{
			{Method: post, Path: "/api/app/check", Rule: route.Publishers, Answer: s.checkApp,
				Takes: []request.Declared{checkUpdate},
				Does:  route.Does("Fetches the package of an app as an executor would, and says what is in it").Reads(route.JSONBody("AppChange", exampleApp)).Gives(PackageFacts{}).Fails(http.StatusNotFound, http.StatusTooManyRequests)},
			{Method: post, Path: "/api/job/check", Rule: route.Publishers, Answer: s.checkJob,
				Takes: []request.Declared{checkUpdate, language},
				Does:  route.Does("Says all that registering or updating a job would say, and changes nothing").Reads(route.JSONBody("JobChange", exampleJob)).Gives(jobCheck{}).Fails(http.StatusNotFound)},
			{Method: get, Path: "/api/cron", Rule: route.Readers, Answer: s.explainCron, Local: true,
				Takes: []request.Declared{theCron, theZone, fireCount, language},
				Does:  route.Does("Puts a cron in words, with its next fires").Gives(cronView{}).Fails(http.StatusUnprocessableEntity)},
			{Method: get, Path: "/api/schema/app", Rule: route.Readers, Answer: s.schemaOfApp, Local: true,
				Does: route.Does("Gives the JSON Schema of an app's document").GivesSchema()},
			{Method: get, Path: "/api/schema/job", Rule: route.Readers, Answer: s.schemaOfJob, Local: true,
				Does: route.Does("Gives the JSON Schema of a job's document").GivesSchema()},
			{Method: get, Path: "/api/example", Rule: route.Readers, Answer: s.example,
				Does: route.Does("Gives an app and a job that are ready to be published and registered").Gives(exampleDocuments{})},
			{Method: get, Path: examplePath, Rule: route.Everybody, Raw: s.examplePackage, Local: true,
				Does: route.Does("Gives the package of the example").Streams("application/gzip", "The package.", nil)},
		}),
		route.Group("Live", []route.Route{
			{Method: get, Path: "/api/events", Rule: route.Readers, Raw: s.events, Lasts: always, Streams: s.streams,
				Does: route.Does("Follows what changes, as server-sent events").Streams("text/event-stream",
					"Events hello, summary and changed, and comments, until the connection ends.", exampleEvents)},
			{Method: get, Path: "/api/jobs", Rule: route.Readers, Answer: s.jobPage,
				Takes: jobPageTakes, Does: route.Does("Gives one page of the jobs: searched, filtered, sorted").Gives(view.Page{})},
			{Method: get, Path: "/api/overview", Rule: route.Readers, Answer: s.overview,
				Does: route.Does("Shows the cluster at a glance, and what needs a look now").Gives(overviewAnswer{})},
		}),
		route.Group("Cluster", []route.Route{
			{Method: get, Path: "/api/cluster", Rule: route.ReadersOfAll, Answer: s.cluster,
				Takes: []request.Declared{ofAgent, agentPage, agentsPerPage},
				Does:  route.Does("Shows the cluster as the leader knows it, with one page of its agents").Gives(views.ClusterView{})},
			{Method: get, Path: "/api/cluster/agents/{agentId}", Rule: route.ReadersOfAll,
				Answer: route.WithID("agentId", s.agent),
				Does:   route.Does("Gives one agent, its executors, and tasks that run there").Gives(views.AgentDetail{})},
			{Method: get, Path: "/api/overview/fires", Rule: route.ReadersOfAll, Answer: s.firesAhead,
				Does: route.Does("Says how many jobs fire in each minute of the next hour").Gives(firesAhead{})},
		}),
		route.Group("Operation", []route.Route{
			{Method: post, Path: "/api/operate/reconcile/explicit", Rule: route.OperatorsOfAll, Answer: s.reconcile(true),
				Does: route.Does("Asks the cluster now about every task that is known here").Gives(true).Fails(http.StatusTooManyRequests)},
			{Method: post, Path: "/api/operate/reconcile/implicit", Rule: route.OperatorsOfAll, Answer: s.reconcile(false),
				Does: route.Does("Asks the cluster for all of the framework's tasks that it knows").Gives(true).Fails(http.StatusTooManyRequests)},
			{Method: get, Path: "/api/operate/sandbox", Rule: route.ReadersOfAll, Answer: s.sandbox,
				Takes: []request.Declared{sandboxApp},
				Does:  route.Does("Says where the executors of an app keep their files").Gives([]views.SandboxView{}).Fails(http.StatusNotFound)},
			{Method: get, Path: "/api/operate/faulty", Rule: route.ReadersOfAll, Answer: s.faulty,
				Does: route.Does("Lists the documents in the registry that can't be used").Gives([]views.FaultyView{})},
			{Method: get, Path: "/api/leader", Rule: route.ReadersOfAll, Answer: s.leader, Local: true,
				Does: route.Does("Says who leads, as far as this server knows").Gives(scheduler.LeaderView{})},
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
		ctx, cancel := context.WithTimeout(c.Request.Context(), timeFor(c, s.opts.RequestTimeout))
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

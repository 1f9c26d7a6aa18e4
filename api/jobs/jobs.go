// Package jobs handles the routes of jobs and describes crons in words.
package jobs

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/documents"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Scheduler is the part of the scheduler that the handlers of jobs use.
type Scheduler interface {
	caller.Scheduler
	RegisterJob(ctx context.Context, scope explain.Scope, c jobs.Config) (views.JobView, error)
	UpdateJob(
		ctx context.Context, scope explain.Scope, name string, change func(jobs.Config) (jobs.Config, error),
	) (views.JobView, error)
	SetJobDisabled(ctx context.Context, scope explain.Scope, name string, disabled bool) (views.JobView, error)
	// SetJobPaused pauses a job or ends its pause. It fails with Conflict if the job is disabled.
	SetJobPaused(ctx context.Context, scope explain.Scope, name string, paused bool) (views.JobView, error)
	// ShutDownJob disables a job, but does not kill its launched executions.
	ShutDownJob(ctx context.Context, scope explain.Scope, name string) (views.JobView, error)
	DeregisterJob(ctx context.Context, scope explain.Scope, name string) (views.JobView, error)

	// TriggerWith requests a run of a job and returns the run's id. A call with a repeated idempotency key returns the
	// id of the first call's run; "" is no key. The settings in own apply only to this run. If they break rules, the
	// error is Invalid.
	TriggerWith(
		ctx context.Context, scope explain.Scope, job, idempotencyKey string, own jobs.Overrides,
	) (executionID string, err error)
}

// Options are the dependencies of the handlers of jobs.
type Options struct {
	Scheduler Scheduler
	// Reserved reports whether the name is reserved, so that no job may have it.
	Reserved func(name string) bool
	// Now is the clock for the next fires of crons.
	Now func() time.Time
	// Zone is the time zone of the crons of jobs without a time zone; nil means UTC.
	Zone *time.Location
}

// Handlers handles the routes of jobs.
type Handlers struct {
	Options
	documents documents.Handlers[jobs.Config, views.JobView]
}

// New returns the handlers.
func New(o Options) *Handlers {
	h := &Handlers{Options: o}
	h.documents = h.newDocuments()
	return h
}

// Routes returns the routes of jobs.
func (h *Handlers) Routes() []route.Route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return slices.Concat(route.Group("Jobs", []route.Route{
		{Method: post, Path: "/api/job/register", Rule: route.Publishers, Answer: h.documents.Register,
			Does: route.Does("Registers a new job").Reads(route.JSONBody("Job", exampleJob)).
				Gives(views.JobView{}).Fails(http.StatusNotFound)},
		{Method: put, Path: "/api/job/update", Rule: route.Publishers, Answer: h.documents.Update,
			Does: route.Does("Changes the given fields of a job, from the next execution on; null sets the default").
				Reads(route.JSONBody("JobChange", exampleJobChange)).Gives(views.JobView{}).Fails(http.StatusNotFound)},
		{Method: del, Path: "/api/job/deregister", Rule: route.Publishers,
			Answer: h.deregisterJob(request.JobNameInBody),
			Does: route.Does("Removes the job named in the body").Reads(route.NameBody...).
				Gives(views.JobView{}).Fails(http.StatusNotFound)},
		{Method: del, Path: "/api/job/{jobName}/deregister", Rule: route.Publishers,
			Answer: h.deregisterJob(request.PathName("job")),
			Does:   route.Does("Removes a job").Gives(views.JobView{})},
		{Method: get, Path: "/api/job/{jobName}/disable", Rule: route.Viewers, Answer: h.isJobDisabled,
			Does: route.Does("Reports whether a job, or its app, is disabled").Gives(true)},
		{Method: post, Path: "/api/job/{jobName}/disable", Rule: route.Operators, Answer: h.documents.Disable(true),
			Does: route.Does("Disables a job: no new runs start, running ones are killed").Gives(views.JobView{})},
		{Method: post, Path: "/api/job/{jobName}/enable", Rule: route.Operators, Answer: h.documents.Disable(false),
			Does: route.Does("Enables a job: it fires from now on").Gives(views.JobView{})},
		{Method: del, Path: "/api/job/{jobName}/disable", Rule: route.Operators, Answer: h.documents.Disable(false),
			Does: route.Does("Enables a job, in the original's form").Gives(views.JobView{})},
		{Method: post, Path: "/api/job/{jobName}/pause", Rule: route.Operators, Answer: h.pauseJob(true),
			Does: route.Does("Pauses a job: no new runs start, running ones continue, waiting ones are held").
				Gives(views.JobView{})},
		{Method: post, Path: "/api/job/{jobName}/resume", Rule: route.Operators, Answer: h.pauseJob(false),
			Does: route.Does("Ends a job's pause").Gives(views.JobView{})},
		{Method: post, Path: "/api/job/{jobName}/shutdown", Rule: route.Operators, Answer: h.shutDownJob,
			Does: route.Does("Shuts a job down: no new runs start, running ones run to their end, then it is disabled").
				Gives(views.JobView{})},
		{Method: post, Path: "/api/job/trigger", Rule: route.Operators,
			Answer: h.trigger(request.JobNameInBody, false),
			Does: route.Does("Triggers a run of the job named in the body").With(request.IdempotencyHeader).
				Reads(route.NameBody...).Gives(route.Triggered{}).Fails(http.StatusNotFound)},
		{Method: post, Path: "/api/job/{jobName}/trigger", Rule: route.Operators,
			Answer: h.trigger(request.PathName("job"), true),
			Does: route.Does("Triggers a run of a job, which may have settings of its own").
				With(request.IdempotencyHeader).MayRead(route.JSONBody("TriggerSettings", exampleTrigger)).
				Gives(route.Triggered{})},
		{Method: get, Path: "/api/job/jobs", Rule: route.Viewers, Answer: h.documents.List,
			Takes: documents.ListTakes,
			Does:  route.Does("Lists all jobs, by name").Gives([]jobs.Config{}, route.LinkHeader)},
		{Method: get, Path: "/api/job/jobs/{jobName}", Rule: route.Viewers, Answer: h.documents.Get,
			Does: route.Does("Returns one job").Gives(jobs.Config{})},
	}),
		route.Group("Checks before registration", []route.Route{
			{Method: post, Path: "/api/job/check", Rule: route.Publishers, Answer: h.checkJob,
				Takes: []request.Declared{documents.UpdateFlag, language},
				Does: route.Does("Checks a job as registering or updating it would, and changes nothing").
					Reads(route.JSONBody("JobChange", exampleJob)).Gives(jobCheck{}).Fails(http.StatusNotFound)},
			{Method: get, Path: "/api/cron", Rule: route.Viewers, Answer: h.explainCron, Local: true,
				Takes: []request.Declared{cronText, cronZone, fireCount, language},
				Does: route.Does("Explains a cron in words, with its next fires").
					Gives(cronView{}).Fails(http.StatusUnprocessableEntity)},
			{Method: get, Path: "/api/schema/job", Rule: route.Viewers, Answer: h.schemaOfJob, Local: true,
				Does: route.Does("Returns the JSON Schema of a job's document").GivesSchema()},
		}))
}

// newDocuments returns the handlers of the routes that jobs share with apps.
func (h *Handlers) newDocuments() documents.Handlers[jobs.Config, views.JobView] {
	return documents.Handlers[jobs.Config, views.JobView]{
		Scheduler: h.Scheduler, Kind: "job", Schema: jobs.Schema,
		Check: func(c, base jobs.Config) (document.Violations, []string) {
			options := h.jobOptions()
			options.InForce = &base
			return c.Check(options)
		},
		All: explain.Reader.Jobs, One: explain.Reader.Job,
		Add: h.Scheduler.RegisterJob, Change: h.Scheduler.UpdateJob, SetDisabled: h.Scheduler.SetJobDisabled,
		Config: func(v views.JobView) jobs.Config { return v.Config.WithoutSecrets() },
		Name:   func(v views.JobView) string { return v.Config.JobName },
		Answer: func(v views.JobView, read []string) any {
			v.Config, v.NotesView = v.Config.WithoutSecrets(), v.After(read)
			return v
		},
	}
}

// jobOptions returns the options for a check of a job's rules at the current time.
func (h *Handlers) jobOptions() jobs.CheckOptions {
	return jobs.CheckOptions{Reserved: h.Reserved, Now: h.Now(), Local: h.Zone}
}

// isJobDisabled answers whether the job or its app is disabled, as the original does.
func (h *Handlers) isJobDisabled(c *gin.Context) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	return caller.Read(c.Request.Context(), h.Scheduler, func(r explain.Reader) (bool, error) {
		view, err := r.Job(name)
		if err != nil || view.Disabled {
			return view.Disabled, err
		}
		owner, err := r.App(view.AppName)
		return owner.Disabled, err
	})
}

// pauseJob returns the handler that pauses a job or ends its pause.
func (h *Handlers) pauseJob(paused bool) route.Handler {
	setPaused := func(ctx context.Context, scope explain.Scope, name string) (views.JobView, error) {
		return h.Scheduler.SetJobPaused(ctx, scope, name, paused)
	}
	return h.documents.Command(request.PathName("job"), setPaused)
}

func (h *Handlers) shutDownJob(c *gin.Context) (any, error) {
	return h.documents.Command(request.PathName("job"), h.Scheduler.ShutDownJob)(c)
}

func (h *Handlers) deregisterJob(name request.NameReader) route.Handler {
	return func(c *gin.Context) (any, error) { return h.documents.Command(name, h.Scheduler.DeregisterJob)(c) }
}

// trigger returns the handler that requests a run. With ownSettings, the body may have settings that replace the job's
// for this run.
func (h *Handlers) trigger(name request.NameReader, ownSettings bool) route.Handler {
	return func(c *gin.Context) (any, error) {
		key, err := request.IdempotencyKey(c)
		if err != nil {
			return nil, err
		}
		name, err := name(c)
		if err != nil {
			return nil, err
		}
		var own jobs.Overrides
		if ownSettings {
			if own, err = h.overrides(c, name); err != nil {
				return nil, err
			}
			// Only an admin may set env, because variables such as LD_PRELOAD or PATH decide which program runs.
			if who := caller.Of(c.Request.Context()); len(own.Env) > 0 && !who.Includes(auth.Admin) {
				return nil, caller.NotAllowed(who.Principal,
					"the role admin, because env decides what is run: trigger without it")
			}
		}
		ctx := c.Request.Context()
		id, err := h.Scheduler.TriggerWith(ctx, caller.ScopeOf(ctx), name, key, own)
		return route.Triggered{ExecutionID: id}, err
	}
}

// overrides reads the body of a trigger. Its error has all violations: the fields that cannot be read, and the rules
// that the other fields break. A body without violations is checked by the scheduler.
func (h *Handlers) overrides(c *gin.Context, job string) (jobs.Overrides, error) {
	if c.Request.ContentLength == 0 {
		return jobs.Overrides{}, nil // an empty body needs no content type
	}
	body, err := request.Body(c)
	if err != nil {
		return jobs.Overrides{}, err
	}
	own, err := jobs.DecodeOverrides(body)
	violations, ok := err.(document.Violations)
	if !ok {
		return own, err // nil, or the error for a body that is not an object
	}
	view, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Job, job)
	if err != nil {
		return own, err
	}
	return own, violations.And(own.KeepSecrets(view.Config).Check(view.Config)).OrNil()
}

// schemaOfJob returns the JSON Schema of a job's document, from which forms and editors are built.
func (h *Handlers) schemaOfJob(*gin.Context) (any, error) {
	return jobs.Schema.JSONSchema("Job", jobs.Hints()), nil
}

var (
	exampleJob = map[string]any{"jobName": "my_job", "appName": "my_app", "jobExecutionType": jobs.Transient,
		"cron": "0 0 3 ? * MON-FRI", "shardingTotalCount": 3,
		"shardingItemParameters": "0=north,1=east,2=south", "cpuCount": 0.1, "memoryMB": 64}
	exampleJobChange = map[string]any{"jobName": "my_job", "jobParameter": "2026-05-01"}
	exampleTrigger   = map[string]any{"jobParameter": "2026-05-01", "env": map[string]any{"LEVEL": "debug"}}
)

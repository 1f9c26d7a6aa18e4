// Package runs handles the routes of runs and their tasks. It answers from the scheduler's memory and, for older runs,
// from the history.
package runs

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Scheduler is the part of the scheduler that the handlers of runs use.
type Scheduler interface {
	caller.Scheduler
	// TriggerAgain requests another run of an execution's job, with the settings that the execution's trigger had. If
	// these settings include env, it returns an error unless withEnv is set.
	TriggerAgain(
		ctx context.Context, scope explain.Scope, executionID, idempotencyKey string, withEnv bool,
	) (newID string, err error)
	// ForgetTask records that an operator has confirmed the end of a task (rule E5).
	ForgetTask(ctx context.Context, scope explain.Scope, taskID string) error
	// KillTask and KillExecution kill one task or execution; the job stays enabled. They return when the kill is
	// committed. The processes end later.
	KillTask(ctx context.Context, scope explain.Scope, taskID string) error
	KillExecution(ctx context.Context, scope explain.Scope, id string) error
}

// Options are the dependencies of the handlers of runs.
type Options struct {
	Scheduler Scheduler
	// History may be nil. The answers then have only what the scheduler remembers.
	History history.History
	Now     func() time.Time
}

// Handlers handles the routes of runs and their tasks.
type Handlers struct{ Options }

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Routes returns the routes of runs and their tasks.
func (h *Handlers) Routes() []route.Route {
	const get, post = http.MethodGet, http.MethodPost
	return slices.Concat(route.Group("Runs and output", []route.Route{
		{Method: get, Path: "/api/job/tasks/running", Rule: route.Viewers, Answer: h.runningTasks,
			Does: route.Does("Lists the tasks on the cluster").Gives([]taskContext{})},
		{Method: get, Path: "/api/job/tasks/ready", Rule: route.Viewers, Answer: h.readyJobs,
			Does: route.Does("Lists the jobs that wait for resources, with the number of their waiting runs").
				Gives([]readyJob{})},
		{Method: get, Path: "/api/job/tasks/failover", Rule: route.Viewers, Answer: h.failoverShards,
			Does: route.Does("Lists the shards that wait to run again after their task was lost").
				Gives([]failoverShard{})},
		{Method: get, Path: "/api/job/{jobName}/executions", Rule: route.Viewers, Answer: h.jobExecutions,
			Takes: executionsTake, Does: route.Does("Lists the runs of a job, the newest fire first").
				Gives([]executionRow{}, route.LinkHeader, route.WarningHeader)},
		{Method: get, Path: "/api/job/{jobName}/grid", Rule: route.Viewers, Answer: h.jobGrid,
			Takes: []request.Declared{gridLimit},
			Does: route.Does("Returns a job's last runs with all their shards, the oldest of them first").
				Gives(grid{}, route.WarningHeader)},
		{Method: get, Path: "/api/executions", Rule: route.Viewers, Answer: h.executions,
			Takes: append([]request.Declared{runsOfJob}, executionsTake...),
			Does: route.Does("Lists the runs of all jobs, the newest fire first").
				Gives([]executionRow{}, route.LinkHeader, route.WarningHeader)},
		{Method: get, Path: "/api/execution/{executionId}", Rule: route.Viewers,
			Answer: route.WithID("executionId", h.execution),
			Does: route.Does("Returns one run with all its shards and, with a history, its events").
				Gives(executionAnswer{})},
		{Method: post, Path: "/api/execution/{executionId}/kill", Rule: route.Operators,
			Answer: route.WithID("executionId", h.killExecution),
			Does:   route.Does("Kills a run: its running and waiting shards end permanently").Gives(Accepted{})},
		{Method: post, Path: "/api/execution/{executionId}/again", Rule: route.Operators, Answer: h.triggerAgain,
			Does: route.Does("Triggers the job of a run again, with that run's own settings").
				With(request.IdempotencyHeader).Gives(route.Triggered{}).Fails(http.StatusUnprocessableEntity)},
		{Method: post, Path: "/api/task/{taskId}/kill", Rule: route.Operators,
			Answer: route.WithID("taskId", h.killTask),
			Does:   route.Does("Kills one task, regardless of failover and maxRetries").Gives(Accepted{})},
		{Method: post, Path: "/api/task/{taskId}/forget", Rule: route.Operators,
			Answer: route.WithID("taskId", h.forgetTask),
			Does:   route.Does("Confirms that a task on an unreachable agent has ended").Gives(Accepted{})},
	}),
		route.Group("Jobs", []route.Route{
			{Method: get, Path: "/api/job/{jobName}/explain", Rule: route.Viewers, Answer: h.explain,
				Does: route.Does("Explains what a job does, what it waits for, when it fires next and how its last run ended").
					Gives(views.Explanation{})},
		}))
}

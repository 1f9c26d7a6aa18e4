package api

import (
	"context"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// Scheduler is what the API needs from the scheduler; *scheduler.Scheduler has it.
// Failures are *core.Error, the context's, or anything else, which is
// answered as a fault of the server. A method that changes something returns
// after the commit. Change functions may run more than once, and what they
// fail with comes back wrapped.
type Scheduler interface {
	Apps(ctx context.Context) ([]core.AppView, error)
	App(ctx context.Context, name string) (core.AppView, error)
	RegisterApp(ctx context.Context, c app.Config) (core.AppView, error)
	UpdateApp(ctx context.Context, name string, change func(app.Config) (app.Config, error)) (core.AppView, error)
	SetAppDisabled(ctx context.Context, name string, disabled bool) (core.AppView, error)
	// DeleteApp fails with Conflict, naming the app's jobs, when it has any,
	// unless withJobs is set: then they go with it.
	DeleteApp(ctx context.Context, name string, withJobs bool) (core.AppView, error)

	Jobs(ctx context.Context) ([]core.JobView, error)
	Job(ctx context.Context, name string) (core.JobView, error)
	RegisterJob(ctx context.Context, c jobs.Config) (core.JobView, error)
	UpdateJob(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) (core.JobView, error)
	// CheckJob and CheckJobUpdate say what RegisterJob and UpdateJob would lead to, and change nothing.
	CheckJob(ctx context.Context, c jobs.Config) (core.JobCheck, error)
	CheckJobUpdate(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) (core.JobCheck, error)
	SetJobDisabled(ctx context.Context, name string, disabled bool) (core.JobView, error)
	// SetJobPaused pauses a job or ends its pause. It fails with Conflict when the job is disabled.
	SetJobPaused(ctx context.Context, name string, paused bool) (core.JobView, error)
	// ShutDownJob disables a job, of which what was launched runs to its end.
	ShutDownJob(ctx context.Context, name string) (core.JobView, error)
	DeregisterJob(ctx context.Context, name string) (core.JobView, error)

	// TriggerWith accepts a run. A repeated idempotency key gives the execution of
	// the first call; an empty one is none. own holds for this run alone; what is wrong with it is Invalid.
	TriggerWith(ctx context.Context, job, idempotencyKey string, own jobs.Overrides) (executionID string, err error)
	// TriggerAgain accepts a run as another one was, with the settings of its own; without withEnv it refuses one with an env of its own.
	TriggerAgain(ctx context.Context, executionID, idempotencyKey string, withEnv bool) (newID string, err error)
	Explain(ctx context.Context, job string) (core.Explanation, error)
	Execution(ctx context.Context, id string) (core.ExecutionView, error)
	// Executions lists runs that live or are kept, the newest fire first.
	Executions(ctx context.Context, f core.ExecutionFilter) ([]core.ExecutionSummary, error)
	// Cells are the shards of some executions of a job, by the executions' ids, of those that live or are kept.
	Cells(ctx context.Context, job string, ids []string) (map[string][]search.Cell, error)

	RunningTasks(ctx context.Context) ([]core.TaskView, error)
	ReadyJobs(ctx context.Context) ([]core.ReadyView, error)
	FailoverShards(ctx context.Context) ([]core.FailoverView, error)
	// ForgetTask is the operator's word that a task has ended (rule E5).
	ForgetTask(ctx context.Context, taskID string) error
	// KillTask and KillExecution end one of them, while its job goes on. They return when that is committed.
	KillTask(ctx context.Context, taskID string) error
	KillExecution(ctx context.Context, id string) error
	LogPlace(ctx context.Context, taskID string) (core.LogPlace, error)

	// Reconcile asks the cluster about tasks; it fails with TooSoon when it was asked a moment ago.
	Reconcile(ctx context.Context, explicit bool) error
	Sandboxes(ctx context.Context, app string) ([]core.SandboxView, error)

	// Audits lists the audit rows that the scheduler keeps, the newest first.
	Audits(ctx context.Context, q search.Audits) ([]event.Audit, error)

	// FaultyDocuments lists the documents in the registry that can't be used.
	FaultyDocuments(ctx context.Context) ([]core.FaultyView, error)

	clusterReader

	// JobPage, Summary, Overview and Follow are what is watched: of the apps that covers, or the query's, allows; nil allows all.
	JobPage(ctx context.Context, q view.Query) (view.Page, error)
	Summary(ctx context.Context, covers func(app string) bool) (view.Summary, error)
	Overview(ctx context.Context, covers func(app string) bool) (view.Overview, error)
	Follow(ctx context.Context, covers func(app string) bool) (*view.Stream, error)

	// Leader, Health and Stats answer at once, whatever state the scheduler is in.
	// Leader is who leads, as far as this process knows; false when nobody is known to.
	Leader() (scheduler.LeaderView, bool)
	Health() scheduler.Health
	Stats() core.Stats
}

// Logs reads files through the API of the agent that holds them. Errors wrap
// cluster.ErrGone when the agent answers that there is no such file.
type Logs interface {
	// Read returns at most length bytes from offset; none at or past the end.
	Read(ctx context.Context, agentURL, path string, offset int64, length int) ([]byte, error)
	Size(ctx context.Context, agentURL, path string) (int64, error)
}

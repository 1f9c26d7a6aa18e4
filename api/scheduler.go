package api

import (
	"context"

	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/jobs"
	"github.com/elasticjob-go/elasticjob/api/runs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// Scheduler is what the API needs from the scheduler; *scheduler.Scheduler has it.
// Whatever belongs to an app takes the Scope of who asks for it: what that does not cover is not there.
// Failures are *problem.Error, the context's, or anything else, which is
// answered as a fault of the server. A method that changes something returns
// after the commit. Change functions may run more than once, and what they
// fail with comes back wrapped.
type Scheduler interface {
	runs.Scheduler
	apps.Scheduler
	jobs.Scheduler

	// Read has look see the scheduler's memory at one moment, as far as the scope goes. What takes long is done after
	// it.
	Read(ctx context.Context, scope explain.Scope, look func(explain.Reader) error) error
	// JobPage, Summary, Overview and Follow are what is watched, as far as the scope goes.
	JobPage(ctx context.Context, scope explain.Scope, q view.Query) (view.Page, error)
	Summary(ctx context.Context, scope explain.Scope) (view.Summary, error)
	Overview(ctx context.Context, scope explain.Scope) (view.Overview, error)
	Follow(ctx context.Context, scope explain.Scope) (*view.Stream, error)

	// Reconcile asks the cluster about tasks; it fails with TooSoon when it was asked a moment ago.
	Reconcile(ctx context.Context, scope explain.Scope, explicit bool) error

	// Leader, Health and Stats answer at once, whatever state the scheduler is in.
	// Leader is who leads, as far as this process knows; false when nobody is known to.
	Leader() (scheduler.LeaderView, bool)
	Health() scheduler.Health
	Stats() stats.Stats
}

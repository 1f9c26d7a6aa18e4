package api

import (
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/cluster"
	"github.com/elasticjob-go/elasticjob/api/jobs"
	"github.com/elasticjob-go/elasticjob/api/runs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
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
	cluster.Scheduler

	// Stats answer at once, whatever state the scheduler is in.
	Stats() stats.Stats
}

package api

import (
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/cluster"
	"github.com/elasticjob-go/elasticjob/api/jobs"
	"github.com/elasticjob-go/elasticjob/api/runs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Scheduler is the part of the scheduler that the API uses; *scheduler.Scheduler implements it. Methods about apps and
// their jobs take the caller's Scope: what the scope does not cover does not exist for them. Errors are *problem.Error
// or the context's; any other error is answered as a fault of the server. A method that changes something returns
// after the commit. Change functions may be called more than once, and the scheduler returns their errors wrapped.
type Scheduler interface {
	runs.Scheduler
	apps.Scheduler
	jobs.Scheduler
	cluster.Scheduler

	// Stats returns at once, in every state of the scheduler.
	Stats() stats.Stats
}

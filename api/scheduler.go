package api

import (
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/cluster"
	"github.com/elasticjob-go/elasticjob/api/jobs"
	"github.com/elasticjob-go/elasticjob/api/runs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Scheduler is the part of the scheduler that the API uses; *scheduler.Scheduler implements it.
//
// Methods about apps and jobs take the caller's Scope, and behave as if apps outside the scope did not exist. Their
// errors are *problem.Error or errors of the context; the API answers any other error as a fault of the server.
// Methods that change something return after the commit. They may call a change function more than once, and wrap its
// error.
type Scheduler interface {
	runs.Scheduler
	apps.Scheduler
	jobs.Scheduler
	cluster.Scheduler

	// Stats returns at once, in every state of the scheduler.
	Stats() stats.Stats
}

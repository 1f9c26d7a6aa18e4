package explain

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// AgentNames returns the names of all agents, in no order. Like the other methods of this file, it concerns the whole
// cluster and requires a scope of all apps.
func (r Reader) AgentNames() ([]views.AgentName, error) { return ofAll(r, r.core.AgentNames) }

// Cluster returns the cluster as this leader knows it, with those agents of the given ids that are still known.
func (r Reader) Cluster(agents []string) (views.ClusterView, error) {
	return ofAll(r, func() views.ClusterView { return r.core.Cluster(agents) })
}

// Agent returns one agent of the cluster with the executors and tasks of this framework there.
func (r Reader) Agent(id string) (views.AgentDetail, error) {
	return answerIf(r.scope.RequireAll(), id, r.core.Agent)
}

// Schedules returns the schedules by which jobs fire now, in no order, with the numbers of their jobs.
func (r Reader) Schedules() ([]config.ScheduleView, error) { return ofAll(r, r.core.Schedules) }

// Activity returns the activity of this leader in each kept minute that began at from or later, the oldest first.
func (r Reader) Activity(from time.Time) ([]search.Activity, error) {
	return ofAll(r, func() []search.Activity { return r.core.Activity(from) })
}

// LongestKillGrace returns the longest time between SIGTERM and SIGKILL of any task on the cluster, and at least the
// server's.
func (r Reader) LongestKillGrace() (time.Duration, error) { return ofAll(r, r.core.LongestKillGrace) }

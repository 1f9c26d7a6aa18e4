package explain

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// AgentNames are the names of all agents, in no order. They are of the whole cluster, as all that follows, and need a
// scope of all apps.
func (r Reader) AgentNames() ([]views.AgentName, error) { return ofAll(r, r.core.AgentNames) }

// Cluster is the cluster as this leader knows it, with the agents of these ids that are known still.
func (r Reader) Cluster(agents []string) (views.ClusterView, error) {
	return ofAll(r, func() views.ClusterView { return r.core.Cluster(agents) })
}

// Agent is one agent of the cluster with what runs there.
func (r Reader) Agent(id string) (views.AgentDetail, error) {
	return ifSeen(r.scope.RequireAll(), id, r.core.Agent)
}

// Schedules are those by which jobs fire now, in no order, with how many do.
func (r Reader) Schedules() ([]config.ScheduleView, error) { return ofAll(r, r.core.Schedules) }

// Activity is what this leader has done in each minute that began at a moment or later, as far as it remembers, the
// oldest first.
func (r Reader) Activity(from time.Time) ([]search.Activity, error) {
	return ofAll(r, func() []search.Activity { return r.core.Activity(from) })
}

// LongestKillGrace is the longest time between SIGTERM and SIGKILL that any task on the cluster has, and at least the
// server's.
func (r Reader) LongestKillGrace() (time.Duration, error) { return ofAll(r, r.core.LongestKillGrace) }

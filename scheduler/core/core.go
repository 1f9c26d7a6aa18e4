package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/minutes"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/placement"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
)

// Core holds one term's state and decides. It is pure: time, randomness and
// events come in with Step, everything that is to happen comes out of it. It
// must not be used concurrently.
type Core struct {
	*step.Shared
	// decision is what the present step has decided, but for the effects of the parts.
	decision Decision
	// st is what the term knows, and the fields below it its owners.
	st           *state.State
	config       *config.Set
	executions   *executions.Set
	agents       *agents.Set
	starts       *startfailures.Set
	executors    *executors.Set
	orphans      *orphans.Set
	subscription *subscription.Subscription

	fires fires
	// pending is the change of configuration that is being committed, or nil.
	pending       *pendingChange
	killsLookedAt time.Time
	agentsAskedAt time.Time // when it was last asked whether the agents of orphans of removed frameworks are registered
	imports       imports
	notifications *notifications.Notifications
	daemons       *daemons.Daemons
	recording     *recording.Recording
	minutes       *minutes.Minutes
	audit         *audit.Log
	stateVersion  stateVersion

	placement *placement.Placement
	places    sandbox.Places
	seen      seen
	nextSweep time.Time // the next look at the timeouts of all tasks
	heldJobs  string    // which jobs may be why launches are held
}

// New makes an empty core; Load fills it.
func New(opt step.Options) *Core {
	shared := &step.Shared{Opt: opt, OfJobs: stats.NewPerJob(opt.JobMetrics), Numbers: stats.New()}
	st := state.New(shared)
	c := &Core{
		Shared: shared, st: st, config: st.Config, executions: st.Executions, agents: st.Agents, starts: st.Starts,
		executors: st.Executors, orphans: st.Orphans, subscription: st.Subscription,
		fires: newFires(shared), notifications: notifications.New(shared, st.Config),
		recording: recording.New(shared, st.Executions),
	}
	c.places = sandbox.Places{State: st}
	c.daemons = daemons.New(st, c.recording, c.notifications)
	c.placement = placement.New(st, c.daemons.Describer(), c.daemons, &c.fires)
	c.minutes = minutes.New(st, c.recording.Sampled)
	c.audit = audit.New(shared, st.Config, func(r audit.Row) { c.recording.Audited(r) })
	st.Executions.Observe(c.follow)
	return c
}

package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
	"github.com/elasticjob-go/elasticjob/scheduler/core/tasks"
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

	tasks *tasks.Describer
	unfit unfit
	fires fires
	// pending is the change of configuration that is being committed, or nil.
	pending       *pendingChange
	killsLookedAt time.Time
	agentsAskedAt time.Time // when it was last asked whether the agents of orphans of removed frameworks are registered
	imports       imports
	notifications notifications
	daemons       daemons
	recording     recording
	minutes       minutes
	audit         audit
	stateVersion  stateVersion

	placement placement
	flow      offerFlow
	seen      seen
	nextSweep time.Time // the next look at the timeouts of all tasks
	// held is why nothing is launched in this term, empty for launches, and heldJobs which jobs may be why.
	held, heldJobs string
}

// New makes an empty core; Load fills it.
func New(opt step.Options) *Core {
	shared := &step.Shared{Opt: opt, OfJobs: stats.NewPerJob(opt.JobMetrics), Numbers: stats.New()}
	st := state.New(shared)
	c := &Core{
		Shared: shared, st: st, config: st.Config, executions: st.Executions, agents: st.Agents, starts: st.Starts,
		executors: st.Executors, orphans: st.Orphans, subscription: st.Subscription,
		fires: newFires(), daemons: newDaemons(shared), placement: newPlacement(shared), notifications: newNotifications(shared),
		recording: newRecording(shared, st.Executions), audit: newAudit(shared),
		flow: offerFlow{Shared: shared, held: offers.NewPool()},
	}
	c.tasks = tasks.New(st, c.daemons.rerun)
	st.Executions.Observe(c.follow)
	return c
}

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
	decision   Decision
	config     config.Set
	executions executions.Set
	agents     agents.Set
	starts     startfailures.Set
	unfit      unfit
	executors  executors.Set
	orphans    orphans.Set
	fires      fires
	// pending is the change of configuration that is being committed, or nil.
	pending       *pendingChange
	subscription  *subscription.Subscription
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
	c := &Core{
		Shared:  &step.Shared{Opt: opt, OfJobs: stats.NewPerJob(opt.JobMetrics)},
		orphans: orphans.New(),
		fires:   newFires(),
	}
	c.executors = executors.New(c.Shared)
	c.executions = executions.New(c.Shared)
	c.executions.Observe(c.follow)
	c.subscription = subscription.New(c.Shared)
	c.config, c.agents = config.New(c.Shared), agents.New(c.Shared)
	c.daemons = newDaemons(c.Shared)
	c.starts = startfailures.New(c.Shared, func(id string) bool { return c.executions.Get(id) != nil })
	c.placement = newPlacement(c.Shared)
	c.notifications = newNotifications(c.Shared)
	c.recording = newRecording(c.Shared, &c.executions)
	c.audit = newAudit(c.Shared)
	c.flow = offerFlow{Shared: c.Shared, held: offers.NewPool()}
	c.Numbers = stats.New()
	return c
}

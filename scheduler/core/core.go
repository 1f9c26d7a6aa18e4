package core

import (
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Core holds one term's state and decides. It is pure: time, randomness and
// events come in with Step, everything that is to happen comes out of it. It
// must not be used concurrently.
type Core struct {
	*shared
	// decision is what the present step has decided, but for the effects of the parts.
	decision      Decision
	config        configuration
	executions    executions
	agents        agents
	starts        startFailures
	unfit         unfit
	executors     executors
	orphans       orphans.Set
	fires         fires
	schedules     schedules
	subscription  subscription
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
	// draining is set from Drain on: everything on the cluster is ended, and nothing launched (rule O4).
	draining bool
	// held is why nothing is launched in this term, empty for launches, and heldJobs which jobs may be why.
	held, heldJobs string
}

// New makes an empty core; Load fills it.
func New(opt Options) *Core {
	c := &Core{
		shared:    &shared{opt: opt, ofJobs: stats.NewPerJob(opt.JobMetrics)},
		orphans:   orphans.New(),
		executors: newExecutors(),
		fires:     newFires(),
		schedules: newSchedules(),
	}
	c.executions = newExecutions(c.shared)
	c.subscription.shared = c.shared
	c.config, c.agents = newConfiguration(c.shared), newAgents(c.shared)
	c.daemons = newDaemons(c.shared)
	c.starts = newStartFailures(c.shared, &c.executions)
	c.placement = newPlacement(c.shared)
	c.notifications = newNotifications(c.shared)
	c.recording = newRecording(c.shared)
	c.audit = newAudit(c.shared)
	c.flow = offerFlow{shared: c.shared, held: offers.NewPool()}
	c.stats = stats.New()
	return c
}

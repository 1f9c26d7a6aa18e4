package core

import (
	"github.com/elasticjob-go/elasticjob/offers"
)

// Core holds one term's state and decides. It is pure: time, randomness and
// events come in with Step, everything that is to happen comes out of it. It
// must not be used concurrently.
type Core struct {
	*step
	config       configuration
	executions   executions
	agents       agents
	starts       startFailures
	executors    executors
	orphans      orphans
	fires        fires
	subscription subscription
	imports      imports

	placement placement
	flow      offerFlow
	draining  bool
}

// New makes an empty core; Load fills it.
func New(opt Options) *Core {
	c := &Core{
		step:      &step{opt: opt, ofJobs: newJobStats(opt.JobMetrics)},
		orphans:   newOrphans(),
		executors: newExecutors(),
		fires:     newFires(),
	}
	c.executions = newExecutions(c.step)
	c.subscription.step = c.step
	c.config, c.agents = newConfiguration(c.step), newAgents(c.step)
	c.starts = newStartFailures(c.step, &c.executions)
	c.placement = newPlacement(c.step)
	c.flow = offerFlow{step: c.step, held: offers.NewPool()}
	c.stats.FireDelayBuckets = make([]int64, len(FireDelayBounds()))
	return c
}

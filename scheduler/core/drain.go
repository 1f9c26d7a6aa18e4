package core

import (
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// beginDrain begins the end of everything on the cluster (rule O4).
func (c *Core) beginDrain() {
	c.Drain()
	for _, id := range step.SortedKeys(c.executions.open) {
		if e := c.executions.open[id]; e != nil && e.launched() {
			c.executions.kill(e, reason.Of(reason.ServerStopped))
		}
	}
	for _, x := range c.executors.Sorted() {
		c.executors.Close(x)
		c.executors.RepeatShutdown(x) // one that has been asked often would be asked again in minutes only
	}
}

// finishDrain reports when no task and no executor is left on the cluster.
func (c *Core) finishDrain() {
	if !c.Draining() {
		return
	}
	live := c.executors.Len()
	for _, ref := range c.executions.tasks {
		if ref.shard().live() {
			live++
		}
	}
	c.decision.Drained = live == 0
}

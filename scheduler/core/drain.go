package core

import (
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// beginDrain begins to end everything on the cluster (rule O4).
func (c *Core) beginDrain() {
	c.shared.Drain()
	for _, id := range c.executions.OpenIDs() {
		if e := c.executions.Get(id); e != nil && e.Launched() {
			c.executions.Kill(e, reason.Of(reason.ServerStopped))
		}
	}
	for _, x := range c.executors.Sorted() {
		c.executors.Close(x)
		c.executors.RepeatShutdown(x) // otherwise the next SHUTDOWN could be due only after minutes
	}
}

// finishDrain reports Drained once no task and no executor is left on the cluster.
func (c *Core) finishDrain() {
	if !c.shared.Draining() {
		return
	}
	live := c.executors.Len()
	for _, ref := range c.executions.AllTasks() {
		if ref.Shard().Live() {
			live++
		}
	}
	c.decision.Drained = live == 0
}

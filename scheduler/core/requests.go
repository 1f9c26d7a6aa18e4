package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// forget removes an orphan because an operator says that it has ended (rule E5).
func (c *Core) forget(f ForgetRequested) {
	var err *problem.Error
	if o, orphaned := c.orphans.Get(f.TaskID); orphaned {
		c.audit.Forget(f.Actor, &o)
		c.orphans.Remove(f.TaskID)
	} else {
		err = problem.Errorf(problem.NotFound, "task_not_abandoned", "task %q was not abandoned; GET /api/job/{jobName}/explain names those that were", f.TaskID)
	}
	c.reply(Reply{Token: f.Token, Err: err})
}

// LongestKillGrace is the longest grace that any task on the cluster has, and at least the server's: so long the end of all may take.
func (c *Core) LongestKillGrace() time.Duration { return c.executions.LongestKillGrace() }

package core

import (
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

// HistoryTerm is the number by which the history knows this term. It may be asked for concurrently once Load has returned.
func (c *Core) HistoryTerm() int64 { return c.recording.Term() }

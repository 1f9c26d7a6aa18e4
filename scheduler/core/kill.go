package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// sendKill sends a kill, unless the task's ACCEPT is still under way (rule L4).
func (c *Core) sendKill(ref executions.TaskRef) {
	s := ref.Shard()
	if s.AcceptSeq() != 0 || !c.subscription.Open() {
		return
	}
	c.executions.KillSent(ref)
	grace := c.executions.TaskGrace(ref)
	if s.Drain() {
		grace += daemons.DrainGrace
	}
	c.Kill(s.TaskID(), s.Agent(), grace, s.Kill().Or(ref.Exec.Kill()).String())
	c.WakeToResend(s.KillTry())
}

// resendKills repeats wanted kills with backoff: the master forgets kills of
// unreachable tasks, and drops them while an agent is away (K1).
func (c *Core) resendKills() {
	if !c.subscription.Open() || c.Now().Before(c.killsLookedAt.Add(c.Opt.ResendFirst/2)) {
		return
	}
	c.killsLookedAt = c.Now()
	for _, id := range c.executions.TaskIDs() {
		ref := c.executions.MustTask(id)
		s := ref.Shard()
		if !s.Live() || s.KillSince().IsZero() {
			continue
		}
		if step.ResendDue(c.Now(), s.KillSent(), c.Opt.ResendFirst, c.Opt.ResendMost, s.KillTry()) {
			c.sendKill(ref)
		}
	}
}

// LongestKillGrace is the longest grace that any task on the cluster has, and at least the server's: so long the end of all may take.
func (c *Core) LongestKillGrace() time.Duration { return c.executions.LongestKillGrace() }

package core

import (
	"cmp"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// killExecution ends what waits of an execution at once, and wants what runs
// of it killed (rule K1: committed first, sent again until it has ended).
func (c *Core) killExecution(e *execution, why reason.Reason) {
	if e.Ended > 0 {
		return
	}
	if !e.launched() {
		e.Kill = why
		c.endExecution(e)
		return
	}
	if e.goesOn() {
		e.Kill = why
		c.executions.touch(e)
		c.recording.step(event.Step{Execution: e.ID, Job: e.Job, Kind: event.Killing, Item: event.NoItem, Message: why}, string(store.Encode(why)))
	}
	for i := range e.Shards {
		s := &e.Shards[i]
		switch {
		case s.State == Waiting && !why.Is(reason.ServerStopped):
			s.Cause = why
			c.completeShard(taskRef{e, i}, Killed)
		case s.live():
			c.wantKill(taskRef{e, i}, wantedKill{})
		}
	}
}

// wantKill wants the task of a live shard killed.
func (c *Core) wantKill(ref taskRef, k wantedKill) {
	if c.executions.wantKill(ref, k) {
		c.sendKill(ref)
	}
}

// sendKill sends a kill, unless the task's ACCEPT is still under way (rule L4).
func (c *Core) sendKill(ref taskRef) {
	s := ref.shard()
	if s.acceptSeq != 0 || !c.subscription.open {
		return
	}
	c.executions.killSent(ref)
	grace := c.taskGrace(ref)
	if s.Drain {
		grace += drainGrace
	}
	c.Kill(s.TaskID, s.Agent, grace, s.Kill.Or(ref.exec.Kill).String())
	c.WakeToResend(s.killTry)
}

// resendKills repeats wanted kills with backoff: the master forgets kills of
// unreachable tasks, and drops them while an agent is away (K1).
func (c *Core) resendKills() {
	if !c.subscription.open || c.Now().Before(c.subscription.killsLookedAt.Add(c.Opt.ResendFirst/2)) {
		return
	}
	c.subscription.killsLookedAt = c.Now()
	for _, id := range step.SortedKeys(c.executions.tasks) {
		ref := c.executions.tasks[id]
		s := ref.shard()
		if !s.live() || s.KillSince.IsZero() {
			continue
		}
		if step.ResendDue(c.Now(), s.killSent, c.Opt.ResendFirst, c.Opt.ResendMost, s.killTry) {
			c.sendKill(ref)
		}
	}
}

// killGrace is the time between SIGTERM and SIGKILL that tasks of an execution are launched with: their job's own, or the server's.
func (c *Core) killGrace(e *execution) time.Duration {
	if e.launched() && e.Settings.Job.KillGraceSeconds > 0 {
		return time.Duration(e.Settings.Job.KillGraceSeconds) * time.Second
	}
	return c.Opt.KillGrace
}

// taskGrace is the grace of a shard's present task. The settings of a daemon's execution may have changed since its launch.
func (c *Core) taskGrace(ref taskRef) time.Duration {
	if ref.exec == nil {
		return c.Opt.KillGrace
	}
	return cmp.Or(ref.shard().Grace, c.killGrace(ref.exec))
}

// LongestKillGrace is the longest grace that any task on the cluster has, and at least the server's: so long the end of all may take.
func (c *Core) LongestKillGrace() time.Duration {
	longest := c.Opt.KillGrace
	for _, ref := range c.executions.tasks {
		if ref.shard().live() {
			longest = max(longest, c.taskGrace(ref))
		}
	}
	return longest
}

package core

import (
	"fmt"
	"time"
)

// shutdownReason marks executions whose tasks a stopping server kills (rule O4).
const shutdownReason = "lost by shutdown of the scheduler"

// killExecution ends what waits of an execution at once, and wants what runs
// of it killed (rule K1: committed first, sent again until it has ended).
func (c *Core) killExecution(e *execution, reason string) {
	if e.Ended > 0 {
		return
	}
	if !e.launched() {
		e.KillReason = reason
		c.endExecution(e)
		return
	}
	if e.KillReason == "" || e.KillReason == shutdownReason {
		e.KillReason = reason
		c.executions.touch(e)
	}
	for i := range e.Shards {
		s := &e.Shards[i]
		switch {
		case s.State == Waiting && reason != shutdownReason:
			s.Cause = reason
			c.completeShard(taskRef{e, i}, Killed)
		case s.live() && s.KillSince.IsZero():
			s.KillSince = c.now
			c.executions.touchShard(e, i)
			c.sendKill(s)
		}
	}
}

// sendKill sends a kill, unless the task's ACCEPT is still under way (rule L4).
func (c *Core) sendKill(s *shard) {
	if s.acceptSeq != 0 || !c.subscription.open {
		return
	}
	s.killSent = c.now
	s.killTry++
	c.kill(s.TaskID, s.Agent)
	c.wakeAt(c.now.Add(Backoff(c.opt.ResendFirst, c.opt.ResendMost, s.killTry-1)))
}

// endSilentExecutor has the agent end an executor that does not answer a kill (rule K3): one that was stopped, or hangs. What else
// runs on it is lost, as with any other end of an executor. It is called for a task whose kill is wanted, at each sweep:
// sweeps are counted, since this process may have stood still meanwhile. An executor whose agent is away is not silent:
// nobody can hear it.
func (c *Core) endSilentExecutor(s *shard) {
	x := c.executors.byID[s.Executor]
	if x == nil || x.silent || x.pending > 0 || !c.agents.registered(s.Agent) || !s.Unreachable.IsZero() || s.Seen < seenStarting || s.acceptSeq != 0 {
		return
	}
	if !x.sweptAt.Equal(c.executions.nextSweep) {
		x.sweptAt = c.executions.nextSweep
		x.unanswered++
	}
	if time.Duration(x.unanswered)*sweepEvery <= c.opt.KillGrace+c.opt.KillAnswer {
		return
	}
	x.silent = true
	c.closeExecutor(x)
	c.note(Note{Kind: NoteExecutor, Task: s.TaskID, Problem: true,
		Detail: fmt.Sprintf("%s on agent %s does not answer the kill of its task: its agent is asked to end it with all its tasks", x.Info.ID, s.Agent)})
}

// resendKills repeats wanted kills with backoff: the master forgets kills of
// unreachable tasks, and drops them while an agent is away (K1).
func (c *Core) resendKills() {
	if !c.subscription.open || c.now.Before(c.subscription.killsLookedAt.Add(c.opt.ResendFirst/2)) {
		return
	}
	c.subscription.killsLookedAt = c.now
	for _, id := range sortedKeys(c.executions.tasks) {
		s := c.executions.tasks[id].shard()
		if !s.live() || s.KillSince.IsZero() {
			continue
		}
		if resendDue(c.now, s.killSent, c.opt.ResendFirst, c.opt.ResendMost, s.killTry) {
			c.sendKill(s)
		}
	}
}

// beginDrain begins the end of everything on the cluster (rule O4).
func (c *Core) beginDrain() {
	c.draining = true
	for _, id := range sortedKeys(c.executions.open) {
		if e := c.executions.open[id]; e != nil && e.launched() {
			c.killExecution(e, shutdownReason)
		}
	}
	for _, x := range c.executors.sorted() {
		c.closeExecutor(x)
	}
}

// liftShutdown makes what a stopped server left behind launchable again, once
// nothing of it is on the cluster any more.
func (c *Core) liftShutdown(e *execution) {
	if c.draining || e.KillReason != shutdownReason {
		return
	}
	for i := range e.Shards {
		if e.Shards[i].live() {
			return
		}
	}
	e.KillReason = ""
	c.executions.touch(e)
	c.placement.again = true
}

// finishDrain reports when no task and no executor is left on the cluster.
func (c *Core) finishDrain() {
	if !c.draining {
		return
	}
	live := len(c.executors.byID)
	for _, ref := range c.executions.tasks {
		if ref.shard().live() {
			live++
		}
	}
	c.out.Drained = live == 0
}

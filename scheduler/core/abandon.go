package core

import (
	"cmp"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// abandon ends an attempt that may still run and keeps it as an orphan (rule E5).
func (c *Core) abandon(ref executions.TaskRef, why reason.Reason) {
	e, s := ref.Exec, ref.Shard()
	o := c.newOrphan(ref)
	o.Blocks = !e.Reruns()
	if s.StuckStaging() {
		o.Staged = s.Launched()
	}
	o.Known = o.Known && !c.Opt.TaskExecutors
	c.orphans.Add(o)
	if c.Opt.TaskExecutors {
		c.killOrphan(&o)
		c.subscription.AskAgainSoon()
	}
	c.Note(step.Note{Kind: step.NoteOrphan, Job: e.Job(), Execution: e.ID(), Task: s.TaskID(), Why: why, Problem: true})
	c.executions.EndDecided(ref, why)
	c.recording.TraceDecided(ref, cluster.Lost, why)
	c.endAttempt(ref, outcomeLost, 0)
	c.executions.ForgetTask(o.TaskID)
}

// killOrphan kills an orphan. A cluster with executors of tasks keeps kills for agents that are away, as a Kubernetes keeps
// that a pod is to be deleted. What is abandoned there is killed at once, and counts as reported only when its kill is known
// to be kept: its agent may be back without having been given the task, and would start it beside the next attempt.
func (c *Core) killOrphan(o *orphans.Orphan) {
	c.Kill(o.TaskID, o.Agent, cmp.Or(o.Grace, c.Opt.KillGrace), "it was given up while its agent did not answer")
}

// newOrphan is what is kept of an attempt that may still run.
func (c *Core) newOrphan(ref executions.TaskRef) orphans.Orphan {
	s := ref.Shard()
	return orphans.Orphan{TaskID: s.TaskID(), Job: ref.Exec.Job(), Item: s.Item(), Agent: s.Agent(), Execution: ref.Exec.ID(), Since: c.Now(), Framework: c.subscription.FrameworkID(),
		Grace: c.executions.TaskGrace(ref), Known: ref.Shard().Known()}
}

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

// updateOrphan takes a status update of an orphan (rule E5). One that is seen
// alive blocks its shard even with failover until it has ended or its agent is away again for as
// long as E4 asks: till then no agent counts as unreachable, and promise 2 has no exception.
func (c *Core) updateOrphan(o *orphans.Orphan, u cluster.Update) {
	if u.State != cluster.Unreachable || u.KillKept || !c.Opt.TaskExecutors {
		c.orphans.Reported(o.TaskID)
	} else {
		c.killOrphan(o)
	}
	stuck := c.orphanStuck(o, u.State)
	switch u.State {
	case cluster.Unreachable:
		c.orphans.AgentAway(o.TaskID, c.Now())
	case cluster.Unknown:
		if c.agents.Registered(o.Agent) && o.Until.IsZero() {
			c.orphans.Remove(o.TaskID)
			return
		}
		c.orphans.AgentAway(o.TaskID, c.Now())
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		if stuck {
			c.orphans.AgentAway(o.TaskID, c.Now())
		} else {
			c.orphans.SeenAlive(o.TaskID)
		}
		c.killOrphan(o)
	default:
		if u.State.Terminal() && (o.Until.IsZero() || u.Source != cluster.FromMaster) { // a master says of what was removed that it is gone
			c.orphans.Remove(o.TaskID)
		}
	}
}

// orphanStuck takes the state that was reported of an orphan, and reports whether it has been STAGING for as long as a
// live attempt is given. Such a one counts as if its agent were away, as a live one does: nobody takes the task up,
// and the master says so for as long as the agent is registered. If it begins nevertheless, it is seen alive.
func (c *Core) orphanStuck(o *orphans.Orphan, state cluster.State) bool {
	since := o.Staged
	switch {
	case state != cluster.Staging:
		since = time.Time{}
	case since.IsZero():
		since = c.Now()
	}
	c.orphans.Staged(o.TaskID, since)
	return !since.IsZero() && c.Now().Sub(since) >= c.Opt.StagingLost
}

// addEnding keeps an attempt that the cluster has removed as an orphan until it has ended for sure: no later attempt of its shard, in the next execution of
// its job either, begins before that (promise 2).
func (c *Core) addEnding(o orphans.Orphan, within time.Duration) {
	o.Blocks, o.Until = true, c.Now().Add(within)
	c.orphans.Add(o)
}

// sweepOrphans removes those that are too old, and unblocks the shards of those whose agent is away for long
// (rules E4, E5).
func (c *Core) sweepOrphans() {
	for _, o := range c.orphans.All() {
		switch {
		case c.Now().Sub(o.Since) > c.Opt.OrphanKept, !o.Until.IsZero() && !c.Now().Before(o.Until):
			c.orphans.Remove(o.TaskID)
		case o.Away.IsZero() || !c.subscription.Open() || !o.Known:
		case c.Now().Sub(o.Away) >= c.Opt.UnreachableFailover:
			c.orphans.AwayForLong(o.TaskID)
		}
	}
}

package core

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// sweepTasks looks at every live task for the timeouts of rules E4, S5 and the
// table's STAGING row, and at orphans (E5), every few seconds. E4, S5 and E5 count from committed moments (F8); a staged
// task must have been found so by this leader, too.
func (c *Core) sweepTasks() {
	if c.Now().Before(c.nextSweep) {
		return
	}
	last := c.nextSweep.Add(-step.SweepEvery)
	c.nextSweep = c.Now().Add(step.SweepEvery)
	for _, id := range c.executions.TaskIDs() {
		if ref, ok := c.executions.Task(id); ok && ref.Shard().Live() {
			c.sweepTask(ref)
		}
	}
	c.agents.ForgetOld(func(id string) bool { return len(c.executors.On(id)) > 0 })
	c.sweepOrphans()
	c.askAboutUnreachable(last)
	c.askAboutFormerAgents()
}

func (c *Core) sweepTask(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	c.watchTimeout(ref)
	if !c.subscription.Open() || !s.Known() {
		return // what an earlier session reported must be reported again before an attempt is abandoned
	}
	c.noteQuiet(e, s)
	if !s.KillSince().IsZero() && !s.Drain() {
		c.endSilentExecutor(ref)
	}
	switch {
	case !s.EndUnclear().IsZero():
		if c.Now().Sub(s.EndUnclear()) >= c.Opt.EndUnclear {
			u := cluster.Update{TaskID: s.TaskID(), AgentID: s.Agent(), State: cluster.State(s.EndState()), Source: cluster.FromAgent}
			end := c.endOf(ref, u)
			if u.State != cluster.Finished {
				end.Cause = reason.EndUnexplained(s.EndState())
			}
			c.executions.EndReported(ref, end)
			c.recording.TraceDecided(ref, u.State, s.Cause())
			c.endAttempt(ref, classify(soFar(s), u, c.executors.Heard(s.Executor())), 0)
		}
	case !s.Unreachable().IsZero() && c.agents.Registered(s.Agent()) && !s.StuckStaging():
		// Its agent is back: the master has been asked whether the task is, too.
	case !s.Unreachable().IsZero():
		wait, gone := c.Opt.UnreachableLost, c.Now().Sub(s.Unreachable())
		if e.Reruns() {
			wait = c.Opt.UnreachableFailover
		}
		switch {
		case gone < wait:
		case s.StuckStaging():
			staged := c.Now().Sub(s.Launched()).Round(time.Second)
			c.abandon(ref, reason.StuckStaging(s.Agent(), staged))
		default:
			c.abandon(ref, reason.AgentUnreachable(s.Agent(), gone.Round(time.Second)))
		}
	case s.Seen() < executions.SeenStarting && s.AcceptSeq() == 0 && !s.Launched().IsZero():
		// Silence needs no timer: it means that an agent is still to come
		// back. A task known to be staged must get on.
		if s.Seen() < executions.SeenStaging {
			return
		}
		if c.executions.FoundStaged(ref) < stagedSweeps {
			return
		}
		switch since := c.Now().Sub(s.Launched()); {
		case since >= c.Opt.StagingKill && s.KillSent().IsZero():
			c.sendKill(ref)
			c.Call(step.CallReconcile{Tasks: []cluster.TaskRef{{TaskID: s.TaskID(), AgentID: s.Agent()}}})
		case since >= c.Opt.StagingLost && c.Now().Sub(s.KillSent()) >= c.Opt.StagingLost-c.Opt.StagingKill:
			c.executions.Stuck(ref)
			c.unreachable(ref, c.Now())
			if x := c.executors.Get(s.Executor()); x != nil {
				c.executors.Close(x) // it would not take up the next attempt, either
			}
		}
	}
}

// askAboutUnreachable asks about the tasks that have been unreachable for twice as long as when they were last asked about. An agent
// may come back without a task of which the master knows nothing. Nobody reports that end, and while offers are suppressed nothing shows
// that the agent is back. last is when tasks were swept before.
func (c *Core) askAboutUnreachable(last time.Time) {
	if !c.subscription.Open() {
		return
	}
	doublings := func(at, since time.Time) int { return bits.Len64(uint64(max(at.Sub(since), 0) / step.SweepEvery)) }
	var refs []cluster.TaskRef
	for _, id := range c.executions.TaskIDs() {
		s := c.executions.MustTask(id).Shard()
		if s.Live() && s.AcceptSeq() == 0 && s.Known() && !s.Unreachable().IsZero() && doublings(c.Now(), s.Unreachable()) > doublings(last, s.Unreachable()) {
			refs = append(refs, cluster.TaskRef{TaskID: s.TaskID(), AgentID: s.Agent()})
		}
	}
	c.Reconcile(refs)
}

// stagedSweeps is how often a task must have been found staged by this leader
// before it is killed for that: its next update may be on its way.
const stagedSweeps = 6

// endSilentExecutor has the agent end an executor that does not answer a kill (rule K3): one that was stopped, or hangs. What else
// runs on it is lost, as with any other end of an executor. It is called for a task whose kill is wanted, at each sweep:
// sweeps are counted, since this process may have stood still meanwhile. An executor whose agent is away is not silent:
// nobody can hear it. A task that it has not taken up counts as any other: an agent that has not yet handed it over
// answers the kill itself.
func (c *Core) endSilentExecutor(ref executions.TaskRef) {
	s := ref.Shard()
	x := c.executors.Get(s.Executor())
	there := c.agents.Registered(s.Agent()) || s.Known() // an agent whose offers are not asked for is known by its tasks
	if x == nil || x.Silent() || x.Pending() > 0 || !there || !s.Unreachable().IsZero() || s.Seen() < executions.SeenStaging || s.AcceptSeq() != 0 {
		return
	}
	if !c.executors.KillUnanswered(x, c.nextSweep, c.executions.TaskGrace(ref)) {
		return
	}
	c.executors.Close(x)
	c.Note(step.Note{Kind: step.NoteExecutor, Task: s.TaskID(), Problem: true,
		Detail: fmt.Sprintf("%s on agent %s does not answer the kill of its task: its agent is asked to end it with all its tasks", x.ID(), s.Agent())})
}

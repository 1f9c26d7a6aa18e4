package core

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// endAttempt ends the present attempt of a shard: the shard has ended with it, or waits
// for another attempt.
func (c *Core) endAttempt(ref taskRef, how outcome) {
	e, s := ref.exec, ref.shard()
	if c.endKilledShard(ref, how) {
		return
	}
	if !s.KillSince.IsZero() && how != outcomeFinished && e.KillReason == shutdownReason && e.Settings.Job.Failover {
		// Lost by shutdown: queued again for the next start (rule O4).
		s.Cause = shutdownReason
		c.requeue(ref, FailoverSource, 0)
		return
	}
	if !s.KillSince.IsZero() || e.KillReason != "" {
		switch {
		case how == outcomeFinished:
			c.completeShard(ref, Finished)
		case e.KillReason == shutdownReason:
			s.Cause = shutdownReason
			c.completeShard(ref, Lost)
		default:
			s.Cause = e.KillReason
			c.completeShard(ref, Killed)
		}
		return
	}
	job := &e.Settings.Job
	switch how {
	case outcomeFinished:
		c.completeShard(ref, Finished)
	case outcomeFailed:
		if s.Fails < job.MaxRetries {
			s.Fails++
			c.requeue(ref, e.Source, s.Fails-1)
			return
		}
		c.completeShard(ref, Failed)
	case outcomeLost, outcomeKilled:
		if !job.Failover {
			c.completeShard(ref, Lost)
			return
		}
		// Agents that went away are no sign that the shard brings them down.
		if c.agents.registered(s.Agent) && s.Unreachable.IsZero() {
			s.Losses++
		}
		if s.Losses >= c.opt.MaxLosses {
			s.Cause = fmt.Sprintf("lost %s; last: %s", counted(s.Losses, "time"), s.Cause)
			c.completeShard(ref, Failed)
			return
		}
		c.requeue(ref, FailoverSource, max(s.Losses-1, 0))
	case outcomeNeverStarted:
		c.requeue(ref, s.Type, s.Attempt-1)
	case outcomeRejected:
		if s.Errors++; s.Errors >= c.opt.MaxErrors {
			c.completeShard(ref, Failed)
			return
		}
		if x := c.executors.byID[s.Executor]; x != nil && x.ran && s.Errors > 1 {
			c.closeExecutor(x) // it may be for the executor, in words that we don't know
		}
		c.requeue(ref, s.Type, s.Errors-1)
	case outcomeExecutorInfoMismatch:
		// No fault of the job: the executor runs, but the master compares what it was started
		// with, our role included, and will refuse every task for it.
		if x := c.executors.byID[s.Executor]; x != nil {
			c.note(Note{Kind: NoteExecutor, Detail: s.Executor + " takes no more tasks: the master has another ExecutorInfo of it; a new one is started", Problem: true})
			c.closeExecutor(x)
		}
		c.requeue(ref, s.Type, s.Attempt-1)
	case outcomeExecutorStartFailed:
		if x := c.executors.byID[s.Executor]; x != nil && x.Info.BinaryURI != c.opt.ExecutorBinary {
			// It was to be fetched from another leader's address: that blames no
			// agent, and a new generation is fetched from ours (rules L6, X4).
			c.closeExecutor(x)
			c.requeue(ref, s.Type, s.Attempt-1)
			return
		}
		s.Starts++
		if a := e.Settings.App.AppName; c.config.apps[a] != nil {
			c.placement.wakeAt(c.starts.record(a, s.Agent, s.Executor, s.Cause))
		}
		if s.Starts >= c.opt.MaxStarts {
			s.Cause = fmt.Sprintf("the app's executor did not start, %s; last on agent %s: %s", counted(s.Starts, "time"), s.Agent, s.Cause)
			c.completeShard(ref, Failed)
			return
		}
		c.requeue(ref, s.Type, 0)
	}
}

// completeShard ends a shard.
func (c *Core) completeShard(ref taskRef, state State) {
	e, s := ref.exec, ref.shard()
	live := s.live()
	s.State = state
	if s.Complete.IsZero() {
		s.Complete = c.wall
	}
	s.Unreachable, s.EndUnclear, s.KillSince, s.NotBefore, s.acceptSeq = time.Time{}, time.Time{}, time.Time{}, time.Time{}, 0
	c.executions.touchShard(e, ref.index)
	if live {
		c.releaseTask(e, s)
		c.countEnd(state)
		c.note(Note{Kind: NoteTaskEnded, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: string(state) + causeOf(s), Problem: state != Finished && state != Killed})
	}
	e.shardsOpen--
	if e.shardsOpen == 0 {
		c.endExecution(e)
		return
	}
	c.liftShutdown(e)
}

func causeOf(s *shard) string {
	if s.Cause == "" || s.State == Finished {
		return ""
	}
	return ": " + s.Cause
}

func (c *Core) countEnd(state State) {
	switch state {
	case Finished:
		c.stats.TasksFinished++
	case Killed:
		c.stats.TasksKilled++
	case Lost:
		c.stats.TasksLost++
	default:
		c.stats.TasksFailed++
	}
}

// requeue puts a shard back to wait for another attempt, after a delay that
// grows with the number of tries before.
func (c *Core) requeue(ref taskRef, source Source, tries int) {
	e, s := ref.exec, ref.shard()
	c.note(Note{Kind: NoteTaskRepeated, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: s.Cause, Problem: true})
	if s.live() {
		c.releaseTask(e, s)
	}
	delete(c.executions.tasks, s.TaskID)
	s.State, s.Type = Waiting, source
	s.WaitSince = c.now
	s.NotBefore = c.now.Add(Backoff(c.opt.BackoffFirst, c.opt.BackoffMost, tries))
	s.attempt = s.past()
	c.executions.touchShard(e, ref.index)
	c.liftShutdown(e)
	c.addLaunchable(e)
	c.placement.wakeAt(s.NotBefore)
	c.flow.needChanged()
	c.timers.at(s.NotBefore.Add(-c.flow.lead()), func(time.Time) { c.flow.needChanged() })
}

// releaseTask takes a task off its executor's account.
func (c *Core) releaseTask(e *execution, s *shard) {
	if x := c.executors.byID[s.Executor]; x != nil {
		x.release(e.Settings.Job.Resources(), c.now)
		c.checkIdle(x)
	}
	c.flow.taskEnded = true
	c.placement.again = true
}

// endExecution files an execution among the ended ones and lets the next of
// its job begin.
func (c *Core) endExecution(e *execution) {
	c.flow.needChanged()
	state := e.state()
	switch {
	case e.Dropped: // counted with the fires that became no run
	case state == Finished:
		c.stats.ExecutionsFinished++
	case state == Killed:
		c.stats.ExecutionsKilled++
	default:
		c.stats.ExecutionsFailed++
	}
	c.executions.end(e)
	c.executions.ended.seq++
	e.Ended, e.EndedAt, e.endedAt = c.executions.ended.seq, c.wall, c.now
	c.executions.touch(e)
	c.countRun(e)
	c.executions.ended.add(e)
	if !e.Dropped { // else its drop has been reported
		c.note(Note{Kind: NoteExecutionEnded, Job: e.Job, Execution: e.ID, Detail: string(state) + endText(e), Problem: state == Failed})
	}
	if j := c.config.jobs[e.Job]; j != nil {
		for i, q := range j.queue {
			if q == e {
				j.queue = append(j.queue[:i], j.queue[i+1:]...)
				break
			}
		}
		c.headOfQueue(j)
		c.config.removeEndedJob(j)
	}
}

func endText(e *execution) string {
	if r := e.reason(); r != "" {
		return ": " + r
	}
	return ""
}

// sweepTasks looks at every live task for the timeouts of rules E4, S5 and the
// table's STAGING row, and at orphans (E5), every few seconds. All of these count from
// committed moments (F8).
func (c *Core) sweepTasks() {
	if c.now.Before(c.executions.nextSweep) {
		return
	}
	c.executions.nextSweep = c.now.Add(sweepEvery)
	for _, id := range sortedKeys(c.executions.tasks) {
		if ref, ok := c.executions.tasks[id]; ok && ref.shard().live() {
			c.sweepTask(ref)
		}
	}
	c.agents.forgetOld(func(id string) bool { return len(c.executors.onAgent[id]) > 0 })
	c.sweepOrphans()
	c.askAboutFormerAgents()
}

const sweepEvery = 5 * time.Second

func (c *Core) sweepTask(ref taskRef) {
	e, s := ref.exec, ref.shard()
	if !c.subscription.open || !s.known {
		return // what an earlier session reported must be reported again before an attempt is abandoned
	}
	if !s.KillSince.IsZero() {
		c.endSilentExecutor(s)
	}
	switch {
	case !s.EndUnclear.IsZero():
		if c.now.Sub(s.EndUnclear) >= c.opt.EndUnclear {
			u := cluster.Update{TaskID: s.TaskID, AgentID: s.Agent, State: cluster.State(s.EndState), Source: cluster.FromAgent,
				Message: "the cluster said so, and its agent never sent why"}
			c.readEnd(s, u)
			c.endAttempt(ref, classify(&s.attempt, u, c.heard(s)))
		}
	case !s.Unreachable.IsZero():
		wait, gone := c.opt.UnreachableLost, c.now.Sub(s.Unreachable)
		if e.Settings.Job.Failover {
			wait = c.opt.UnreachableFailover
		}
		if gone >= wait {
			c.abandon(ref, fmt.Sprintf("agent %s was unreachable for %s", s.Agent, gone.Round(time.Second)))
		}
	case s.Seen < seenStarting && s.acceptSeq == 0 && !s.Launched.IsZero():
		// Silence needs no timer: it means that an agent is still to come
		// back. A task known to be staged must get on.
		if s.Seen < seenStaging {
			return
		}
		if s.staged++; s.staged < stagedSweeps {
			return
		}
		switch since := c.now.Sub(s.Launched); {
		case since >= c.opt.StagingKill && s.killSent.IsZero():
			c.sendKill(s)
			c.call(CallReconcile{[]cluster.TaskRef{{TaskID: s.TaskID, AgentID: s.Agent}}})
		case since >= c.opt.StagingLost && c.now.Sub(s.killSent) >= c.opt.StagingLost-c.opt.StagingKill:
			s.stuckStaging = true
			c.unreachable(ref, c.now)
		}
	}
}

// stagedSweeps is how often a task must have been found staged by this leader
// before it is killed for that: its next update may be on its way.
const stagedSweeps = 6

package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/reason"
)

// endAttempt ends the present attempt of a shard: the shard has ended with it, or waits
// for another attempt.
func (c *Core) endAttempt(ref taskRef, how outcome) {
	ended := *ref.shard()
	c.settleAttempt(ref, how)
	c.recordEnd(ref, &ended, how)
}

// recordEnd records the run of an attempt that has ended. before is the shard as it was then.
func (c *Core) recordEnd(ref taskRef, before *shard, how outcome) {
	e, s := ref.exec, ref.shard()
	switch {
	case !c.recording.on() || e.daemon():
		return // a daemon's runs are recorded one by one
	case before.Start.IsZero() && how != outcomeFailed && s.State != Failed:
		return // it had no process, and nobody looks for the reason why its shard failed
	}
	state, cause := s.State, s.Cause
	if !state.terminal() {
		switch {
		case before.TimedOut:
			state = TimedOut
		case how == outcomeLost:
			state = Lost
		case how == outcomeKilled:
			state = Killed
		default:
			state = Failed
		}
	}
	c.recording.run(e, before, &before.attempt, state, cause)
}

func (c *Core) settleAttempt(ref taskRef, how outcome) {
	e, s := ref.exec, ref.shard()
	if e.daemon() {
		c.daemonAttemptEnds(ref)
	}
	c.countTaskRun(ref)
	if c.endKilledShard(ref, how) || c.endTimedOutShard(ref, how) {
		return
	}
	if !s.KillSince.IsZero() && (how != outcomeFinished || e.daemon()) && e.Kill.Is(reason.ServerStopped) && e.reruns() {
		// Lost by shutdown: queued again for the next start (rule O4).
		s.Cause = e.Kill
		c.requeue(ref, FailoverSource, 0)
		return
	}
	if !s.KillSince.IsZero() || !e.Kill.IsZero() {
		switch {
		case how == outcomeFinished:
			c.completeShard(ref, Finished)
		case e.Kill.Is(reason.ServerStopped):
			s.Cause = e.Kill
			c.completeShard(ref, Lost)
		default:
			s.Cause = e.Kill
			c.completeShard(ref, Killed)
		}
		return
	}
	// A daemon's shard is tried for ever, with a growing delay: what keeps it from running may be mended, and explain says what it is.
	before := s.Attempt - 1
	if e.daemon() {
		before = s.Fails + s.Losses + s.Errors + s.Starts // its attempts are counted over months
	}
	mayRepeat := func(tries, most int) bool { return e.daemon() || tries < most }
	switch how {
	case outcomeFinished, outcomeFailed:
		switch {
		case e.daemon():
			s.Fails++
			c.requeue(ref, e.Source, s.Fails-1)
		case how == outcomeFinished:
			c.completeShard(ref, Finished)
		default:
			c.failShard(ref, Failed)
		}
	case outcomeKilled: // of an attempt whose kill is wanted, which is dealt with above
	case outcomeLost:
		if !e.reruns() {
			c.completeShard(ref, Lost)
			return
		}
		// Agents that went away are no sign that the shard brings them down.
		if c.agents.registered(s.Agent) && s.Unreachable.IsZero() {
			s.Losses++
		}
		if !mayRepeat(s.Losses, c.opt.MaxLosses) {
			s.Cause = reason.LostTooOften(s.Losses, s.Cause)
			c.completeShard(ref, Failed)
			return
		}
		c.requeue(ref, FailoverSource, max(s.Losses-1, 0))
	case outcomeNeverStarted:
		c.requeue(ref, s.Type, before)
	case outcomeRejected:
		if s.Errors++; !mayRepeat(s.Errors, c.opt.MaxErrors) {
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
		c.requeue(ref, s.Type, before)
	case outcomeExecutorStartFailed:
		if x := c.executors.byID[s.Executor]; x != nil && x.Info.BinaryURI != c.opt.ExecutorBinary {
			// It was to be fetched from another leader's address: that blames no
			// agent, and a new generation is fetched from ours (rules L6, X4).
			c.closeExecutor(x)
			c.requeue(ref, s.Type, before)
			return
		}
		s.Starts++
		if a := e.Settings.App.AppName; c.config.apps[a] != nil {
			start := cmp.Or(s.Executor, fmt.Sprintf("%s#%d", e.ID, s.Attempt)) // shards that bring their executors are launched together, and fail so
			c.placement.wakeAt(c.starts.record(a, s.Agent, start, s.Cause))
		}
		if !mayRepeat(s.Starts, c.opt.MaxStarts) {
			s.Cause = reason.NotStartedTooOften(c.opt.TaskExecutors, s.Starts, s.Agent, s.Cause)
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
		c.note(Note{Kind: NoteTaskEnded, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: string(state) + causeOf(s),
			Problem: state != Finished && state != Killed && !((state == Failed || state == TimedOut) && c.ignoresFailures(e.Job))})
	}
	e.shardsOpen--
	if e.shardsOpen == 0 {
		c.endExecution(e)
		return
	}
	c.liftShutdown(e)
}

func causeOf(s *shard) string {
	if s.Cause.IsZero() || s.State == Finished {
		return ""
	}
	return ": " + s.Cause.String()
}

// requeue puts a shard back to wait for another attempt, after a delay that
// grows with the number of tries before.
func (c *Core) requeue(ref taskRef, source Source, tries int) {
	c.requeueAfter(ref, source, Backoff(c.opt.BackoffFirst, c.opt.BackoffMost, tries))
}

// requeueAfter is requeue with a delay of its own.
func (c *Core) requeueAfter(ref taskRef, source Source, delay time.Duration) {
	e, s := ref.exec, ref.shard()
	c.note(Note{Kind: NoteShardRequeued, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: s.Cause.String(), Problem: s.Kill.IsZero()})
	c.recording.step(event.Step{Execution: e.ID, Job: e.Job, Kind: event.Requeued, Item: s.Item, Task: s.TaskID, Message: s.Cause}, s.TaskID)
	if s.live() {
		c.releaseTask(e, s)
		c.stats.TasksRequeued++
	}
	c.daemonCannotRun(ref)
	c.executions.forgetTask(s.TaskID)
	s.State, s.Type = Waiting, source
	s.WaitSince = c.now
	s.NotBefore = c.now.Add(delay)
	if !s.Start.IsZero() && (e.Begun.IsZero() || s.Start.Before(e.Begun)) {
		e.Begun = s.Start
		c.executions.touch(e)
	}
	c.keepOutput(s)
	s.attempt = s.past()
	c.executions.touchShard(e, ref.index)
	c.liftShutdown(e)
	c.addLaunchable(e)
	c.placement.wakeAt(s.NotBefore)
	c.flow.needChanged()
	c.seeWhenDue(e, s)
	c.timers.at(s.NotBefore.Add(-c.flow.lead()), func(time.Time) { c.flow.needChanged() })
}

// releaseTask takes a task off its executor's account.
func (c *Core) releaseTask(e *execution, s *shard) {
	if x := c.executors.byID[s.Executor]; x != nil {
		x.release(e.needs(s), e.daemon(), c.now)
		c.checkIdle(x)
	} else if s.Executor == "" {
		c.accountOf(s.Agent, nil).release(e.needs(s), e.daemon())
	}
	c.flow.taskHasEnded()
	c.placement.changed()
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
	e.prepared = nil
	c.recording.ended(e)
	c.countRun(e)
	if state == Failed {
		c.reportFailure(e.Job, failureOf(e))
	}
	if !e.Dropped { // else its drop has been reported
		c.note(Note{Kind: NoteExecutionEnded, Job: e.Job, Execution: e.ID, Detail: string(state) + endText(e), Problem: state == Failed && !c.ignoresFailures(e.Job)})
	}
	if e.daemon() {
		c.daemons.look(e.Job)
	}
	if j := c.config.jobs[e.Job]; j != nil {
		j.queue = slices.DeleteFunc(j.queue, func(q *execution) bool { return q == e })
		c.headOfQueue(j)
		c.config.removeEndedJob(j)
	}
}

func endText(e *execution) string {
	if r := e.reason(); !r.IsZero() {
		return ": " + r.String()
	}
	return ""
}

// endKilledShard ends a shard of which a kill was asked for by its task's id, and reports whether it was one. Neither
// failover nor the stop of a server runs it again.
func (c *Core) endKilledShard(ref taskRef, how outcome) bool {
	e, s := ref.exec, ref.shard()
	switch {
	case s.Kill.IsZero():
		return false
	case e.daemon() && e.goesOn():
		s.Cause = s.Kill
		c.requeue(ref, e.Source, 0)
	case how == outcomeFinished:
		c.completeShard(ref, Finished)
	default:
		if s.Cause = s.Kill; e.daemon() {
			s.Cause = e.Kill // it may have been drained or replaced before
		}
		c.completeShard(ref, Killed)
	}
	return true
}

// goesOn reports whether an execution is to go on, at the latest with the next server (rule O4).
func (e *execution) goesOn() bool { return e.Kill.IsZero() || e.Kill.Is(reason.ServerStopped) }

// liftShutdown makes what a stopped server left behind launchable again, once
// nothing of it is on the cluster any more.
func (c *Core) liftShutdown(e *execution) {
	if c.draining || !e.Kill.Is(reason.ServerStopped) {
		return
	}
	for i := range e.Shards {
		if e.Shards[i].live() {
			return
		}
	}
	e.Kill = reason.Reason{}
	c.executions.touch(e)
	c.placement.changed()
}

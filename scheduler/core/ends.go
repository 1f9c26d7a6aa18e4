package core

import (
	"cmp"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// endAttempt ends the present attempt of a shard: the shard has ended with it, or waits for another attempt (next). Its
// processes may live on for as long as it lingers: until then no other attempt of the shard begins (promise 2).
func (c *Core) endAttempt(ref taskRef, how outcome, lingers time.Duration) {
	e, s := ref.exec, ref.shard()
	var orphan orphans.Orphan
	if lingers > 0 {
		orphan = c.newOrphan(ref)
	}
	if e.daemon() {
		c.daemonAttemptEnds(ref)
	}
	c.countTaskRun(ref)
	in := c.endingOf(ref, how)
	v := next(in)
	c.recordEnd(ref, how, &v)
	s.Cause, s.tries = v.cause.Shortened(store.Shorten), v.counts
	if v.blameAgent && c.config.apps[e.Settings.App.AppName] != nil {
		// Shards that bring their executors are launched together, and fail so.
		start := cmp.Or(s.Executor, fmt.Sprintf("%s#%d", e.ID, s.Attempt))
		c.MatchAt(c.starts.record(e.Settings.App.AppName, s.Agent, start, in.cause))
	}
	if x := c.executors.Get(s.Executor); x != nil && v.closeExecutor {
		if v.mismatch {
			detail := s.Executor + " takes no more tasks: the master has another ExecutorInfo of it; a new one is started"
			c.Note(step.Note{Kind: step.NoteExecutor, Detail: detail, Problem: true})
		}
		c.executors.Close(x)
	}
	if v.state.terminal() {
		c.completeShard(ref, v.state)
		if lingers > 0 {
			c.addEnding(orphan, lingers)
		}
	} else {
		c.requeue(ref, v.source, max(v.delay, lingers))
	}
}

// recordEnd records the run of an attempt that ends.
func (c *Core) recordEnd(ref taskRef, how outcome, v *verdict) {
	e, s := ref.exec, ref.shard()
	switch {
	case !c.recording.on() || e.daemon():
		return // a daemon's runs are recorded one by one
	case s.Start.IsZero() && how != outcomeFailed && v.state != Failed:
		return // it had no process, and nobody looks for the reason why its shard failed
	}
	c.recording.run(e, s, &s.attempt, v.attempt, v.cause)
}

// completeShard ends a shard.
func (c *Core) completeShard(ref taskRef, state State) {
	e, s := ref.exec, ref.shard()
	live := s.live()
	last := c.executions.complete(ref, state)
	if live {
		c.releaseTask(e, s)
		c.countEnd(state)
		c.Note(step.Note{Kind: step.NoteTaskEnded, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: string(state), Why: whyNot(s),
			Problem: state != Finished && state != Killed && !((state == Failed || state == TimedOut) && c.ignoresFailures(e.Job))})
	}
	if last {
		c.endExecution(e)
		return
	}
	c.liftShutdown(e)
}

// whyNot is why a shard has not finished, none if it has.
func whyNot(s *shard) reason.Reason {
	if s.State == Finished {
		return reason.Reason{}
	}
	return s.Cause
}

// requeue puts a shard back to wait for another attempt.
func (c *Core) requeue(ref taskRef, source Source, delay time.Duration) {
	e, s := ref.exec, ref.shard()
	c.Note(step.Note{Kind: step.NoteShardRequeued, Job: e.Job, Execution: e.ID, Task: s.TaskID, Why: s.Cause, Problem: s.Kill.IsZero()})
	c.recording.step(event.Step{Execution: e.ID, Job: e.Job, Kind: event.Requeued, Item: s.Item, Task: s.TaskID, Message: s.Cause}, s.TaskID)
	c.releaseTask(e, s)
	c.Numbers.TasksRequeued++
	c.daemonCannotRun(ref)
	c.keepOutput(s)
	c.executions.requeue(ref, source, delay)
	c.liftShutdown(e)
	c.executions.addLaunchable(e)
	c.MatchAt(s.NotBefore)
	c.NeedChanged()
	c.seeWhenDue(e, s)
	c.Timers.At(s.NotBefore.Add(-c.flow.lead()), func(time.Time) { c.NeedChanged() })
}

// releaseTask takes a task off its executor's account.
func (c *Core) releaseTask(e *execution, s *shard) {
	if x := c.executors.Get(s.Executor); x != nil {
		c.executors.Release(x, e.needs(s), e.daemon())
		c.checkIdle(x)
	} else if s.Executor == "" {
		c.agents.Release(s.Agent, e.needs(s), e.daemon())
	}
	c.flow.taskHasEnded()
	c.MatchAgain()
}

// endExecution files an execution among the ended ones and lets the next of
// its job begin.
func (c *Core) endExecution(e *execution) {
	c.NeedChanged()
	state := e.state()
	switch {
	case e.Dropped: // counted with the fires that became no run
	case state == Finished:
		c.Numbers.ExecutionsFinished++
	case state == Killed:
		c.Numbers.ExecutionsKilled++
	default:
		c.Numbers.ExecutionsFailed++
	}
	c.executions.end(e)
	e.prepared = nil
	c.recording.ended(e)
	c.countRun(e)
	if state == Failed {
		c.reportFailure(e.Job, failureOf(e))
	}
	if !e.Dropped { // else its drop has been reported
		c.Note(step.Note{Kind: step.NoteExecutionEnded, Job: e.Job, Execution: e.ID, Detail: string(state), Why: e.reason(), Problem: state == Failed && !c.ignoresFailures(e.Job)})
	}
	if e.daemon() {
		c.daemons.look(e.Job)
	}
	c.executions.dequeue(e)
	if j := c.config.jobs[e.Job]; j != nil {
		c.config.removeEndedJob(j, c.executions.busy(j.name))
	}
}

func (e *execution) goesOn() bool { return goesOn(e.Kill) }

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
	c.MatchAgain()
}

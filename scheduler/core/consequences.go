package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// follow is what follows from a change of an execution: what is recorded, counted, accounted, logged, sent and reported of
// it. It decides nothing, and changes no execution.
func (c *Core) follow(ch change) {
	e := ch.exec
	switch ch.kind {
	case executionMade:
		c.recording.changed(e)
		if j := c.config.jobs[e.Job]; c.executions.queue(e.Job)[0] != e {
			c.recording.waits(e, c.waitReason(j, e))
		}
	case executionLaunched:
		c.recording.changed(e)
		c.countLaunch(e)
	case executionKilled:
		c.recording.step(event.Step{Execution: e.ID, Job: e.Job, Kind: event.Killing, Item: event.NoItem, Message: ch.why},
			string(store.Encode(ch.why)))
	case executionEnded:
		c.executionEnded(e)
	case taskLaunched:
		s := ch.ref().shard()
		c.Numbers.TasksLaunched++
		c.traceDecided(ch.ref(), cluster.Staging, reason.Reason{})
		c.Note(step.Note{Kind: step.NoteTaskLaunched, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: "on agent " + s.Agent})
	case taskRuns:
		s := ch.ref().shard()
		if !e.daemon() && c.recording.on() {
			c.recording.run(e, s, &s.attempt, Running, reason.Reason{})
		}
		c.daemonRunning(ch.ref())
		if s.Replacing || len(e.outdated) > 0 {
			c.daemons.look(e.Job)
		}
	case taskKillWanted:
		if s := ch.ref().shard(); ch.why.Is(reason.KilledOnRequest) {
			c.recording.step(event.Step{Execution: e.ID, Job: e.Job, Kind: event.Killing, Item: s.Item, Task: s.TaskID, Message: ch.why}, s.TaskID)
		}
		if ch.send {
			c.sendKill(ch.ref())
		}
	case taskEnds:
		c.attemptEnds(ch)
	case taskEnded:
		s := ch.ref().shard()
		c.releaseTask(e, s)
		c.countEnd(ch.state)
		failed := ch.state == Failed || ch.state == TimedOut
		c.Note(step.Note{Kind: step.NoteTaskEnded, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: string(ch.state), Why: whyNot(s),
			Problem: ch.state != Finished && ch.state != Killed && !(failed && c.ignoresFailures(e.Job))})
	case shardRequeued:
		s := ch.ref().shard()
		c.Note(step.Note{Kind: step.NoteShardRequeued, Job: e.Job, Execution: e.ID, Task: s.TaskID, Why: s.Cause, Problem: s.Kill.IsZero()})
		c.recording.step(event.Step{Execution: e.ID, Job: e.Job, Kind: event.Requeued, Item: s.Item, Task: s.TaskID, Message: s.Cause}, s.TaskID)
		c.releaseTask(e, s)
		c.Numbers.TasksRequeued++
		c.daemonCannotRun(ch.ref())
		c.Timers.At(ch.at.Add(-c.flow.lead()), func(time.Time) { c.NeedChanged() })
	}
}

// attemptEnds counts and records the run of an attempt that ends.
func (c *Core) attemptEnds(ch change) {
	e, s := ch.exec, ch.ref().shard()
	if e.daemon() {
		return // a daemon's runs are counted and recorded one by one
	}
	stats.ObserveRun(&c.Numbers.TaskRun, s.Start, s.Complete)
	if s.Start.IsZero() && !ch.failed {
		return // it had no process, and nobody looks for the reason why its shard failed
	}
	if c.recording.on() {
		c.recording.run(e, s, &s.attempt, ch.state, ch.why)
	}
}

// executionEnded is what follows from the end of an execution.
func (c *Core) executionEnded(e *execution) {
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
	if j := c.config.jobs[e.Job]; j != nil {
		c.config.removeEndedJob(j, c.executions.busy(e.Job))
	}
}

// releaseTask takes a task that has ended off the account of its executor or its agent.
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

// whyNot is why a shard has not finished, none if it has.
func whyNot(s *shard) reason.Reason {
	if s.State == Finished {
		return reason.Reason{}
	}
	return s.Cause
}

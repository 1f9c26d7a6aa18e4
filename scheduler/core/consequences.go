package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// follow applies the consequences of a change of an execution, whatever decided it: rows of the history, counts, the
// resources in use on executors and agents, KILLs, notifications, and the upkeep of daemons and of deregistered jobs.
// It changes no execution. Details that only one decision knows, such as why an update is not believed, are logged and
// recorded where that decision is made.
func (c *Core) follow(ch executions.Change) {
	e := ch.Exec
	switch ch.Kind {
	case executions.ExecutionCreated:
		c.recording.Changed(e)
		if j := c.config.Job(e.Job()); c.executions.First(e.Job()) != e {
			c.recording.Waits(e, c.views.WaitReason(j, e))
		}
		c.attempts.SupersedeAwaited(e.Job())
	case executions.ExecutionReopened:
		c.recording.Reopened(e)
	case executions.ExecutionLaunched:
		c.recording.Changed(e)
		c.attempts.Supersede(e.Job(), func(o *orphans.Orphan) bool { return o.Execution != e.ID() })
		countLaunch(c.shared, e)
	case executions.ExecutionUnplaced:
		c.recording.Waits(e, ch.Why)
	case executions.ExecutionKilled:
		c.recording.Event(event.Step{Execution: e.ID(), Job: e.Job(), Kind: event.Killing, Item: event.NoItem,
			Message: ch.Why},
			string(store.Encode(ch.Why)))
	case executions.ExecutionEnded:
		c.executionEnded(e)
	case executions.TaskLaunched:
		s := ch.Ref().Shard()
		c.attempts.Supersede(e.Job(), func(o *orphans.Orphan) bool { return o.Item == s.Item() })
		c.shared.Numbers.TasksLaunched++
		c.recording.TraceDecided(ch.Ref(), cluster.Staging, reason.Reason{})
		c.shared.Note(step.Note{Kind: step.NoteTaskLaunched, Job: e.Job(), Execution: e.ID(), Task: s.TaskID(),
			Detail: "on agent " + s.Agent()})
	case executions.TaskRunning:
		s := ch.Ref().Shard()
		if !e.Daemon() && c.recording.On() {
			c.recording.Run(e, s, executions.Running, reason.Reason{})
		}
		c.daemons.RecordRunning(ch.Ref())
		if s.Replacing() || len(e.Outdated()) > 0 {
			c.daemons.TendLater(e.Job())
		}
	case executions.TaskReturned:
		s := ch.Ref().Shard()
		c.st.Allot(s.Agent(), c.executors.Get(s.Executor()), e.Needs(s), e.Daemon())
		if !s.Start().IsZero() && !e.Daemon() {
			c.recording.Run(e, s, executions.Running, reason.Reason{})
		}
		c.daemons.RecordReturn(ch.Ref())
	case executions.TaskKillRequested:
		if s := ch.Ref().Shard(); ch.Why.Is(reason.KilledOnRequest) {
			c.recording.Event(event.Step{Execution: e.ID(), Job: e.Job(), Kind: event.Killing, Item: s.Item(),
				Task: s.TaskID(), Message: ch.Why}, s.TaskID())
		}
		if ch.Send {
			c.attempts.SendKill(ch.Ref())
		}
	case executions.AttemptEnding:
		c.recordAttemptEnd(ch)
	case executions.ShardEnded:
		s := ch.Ref().Shard()
		c.releaseTask(e, s)
		countEnd(c.shared, ch.State)
		failed := ch.State == executions.Failed || ch.State == executions.TimedOut
		c.shared.Note(step.Note{Kind: step.NoteTaskEnded, Job: e.Job(), Execution: e.ID(), Task: s.TaskID(),
			Detail: string(ch.State), Why: failureReason(s),
			Problem: ch.State != executions.Finished && ch.State != executions.Killed &&
				!(failed && c.notifications.IgnoresFailures(e.Job()))})
	case executions.ShardRequeued:
		s := ch.Ref().Shard()
		c.shared.Note(step.Note{Kind: step.NoteShardRequeued, Job: e.Job(), Execution: e.ID(), Task: s.TaskID(),
			Why: s.Cause(), Problem: s.Kill().IsZero()})
		c.recording.Event(event.Step{Execution: e.ID(), Job: e.Job(), Kind: event.Requeued, Item: s.Item(),
			Task: s.TaskID(), Message: s.Cause()}, s.TaskID())
		c.releaseTask(e, s)
		c.shared.Numbers.TasksRequeued++
		c.daemons.RecordRequeue(ch.Ref())
		c.shared.Timers.At(ch.At.Add(-c.placement.Lead()), func(time.Time) { c.shared.NeedChanged() })
	}
}

// recordAttemptEnd counts and records the run of an attempt that ends.
func (c *Core) recordAttemptEnd(ch executions.Change) {
	e, s := ch.Exec, ch.Ref().Shard()
	if e.Daemon() {
		return // a daemon's runs are counted and recorded one by one
	}
	stats.ObserveRun(&c.shared.Numbers.TaskRun, s.Start(), s.Complete())
	if s.Start().IsZero() && !ch.Failed {
		return // it had no process, and it is no failure for which a user would look
	}
	if c.recording.On() {
		c.recording.Run(e, s, ch.State, ch.Why)
	}
}

// executionEnded applies the consequences of the end of an execution.
func (c *Core) executionEnded(e *executions.Execution) {
	state := e.State()
	switch {
	case e.Dropped(): // config.CountDropped has counted it
	case state == executions.Finished:
		c.shared.Numbers.ExecutionsFinished++
	case state == executions.Killed:
		c.shared.Numbers.ExecutionsKilled++
	default:
		c.shared.Numbers.ExecutionsFailed++
	}
	c.recording.Ended(e)
	countRun(c.st, e)
	if state == executions.Failed {
		c.notifications.ReportFailure(e.Job(), notifications.FailureOf(e))
	}
	if !e.Dropped() { // a drop is reported where it is decided
		c.shared.Note(step.Note{Kind: step.NoteExecutionEnded, Job: e.Job(), Execution: e.ID(), Detail: string(state),
			Why: e.Reason(), Problem: state == executions.Failed && !c.notifications.IgnoresFailures(e.Job())})
	}
	c.attempts.SupersedeAwaited(e.Job())
	if e.Daemon() {
		c.daemons.TendLater(e.Job())
	}
	if j := c.config.Job(e.Job()); j != nil {
		c.config.RemoveEndedJob(j, c.executions.HasOpen(e.Job()))
	}
}

// releaseTask takes a task that has ended off the account of its executor or its agent.
func (c *Core) releaseTask(e *executions.Execution, s *executions.Shard) {
	if x := c.executors.Get(s.Executor()); x != nil {
		c.executors.Release(x, e.Needs(s), e.Daemon())
		c.retirer.CheckIdle(x)
	} else if s.Executor() == "" {
		c.agents.Release(s.Agent(), e.Needs(s), e.Daemon())
	}
	c.placement.RecordTaskEnd()
	c.shared.RequestMatch()
}

// failureReason returns why a shard has not finished, none if it has.
func failureReason(s *executions.Shard) reason.Reason {
	if s.State() == executions.Finished {
		return reason.Reason{}
	}
	return s.Cause()
}

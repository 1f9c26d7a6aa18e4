package recording

import (
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Event records an event of an execution. id distinguishes it from other events of the same kind. If the next leader
// records the same event again, its row is the same.
func (h *Recording) Event(s event.Step, id ...string) {
	if h.On() {
		s.ID, s.Time = event.ID(append([]string{s.Execution, string(s.Kind)}, id...)...), h.shared.Wall()
		h.rows.Steps = append(h.rows.Steps, s)
	}
}

// Waits records the reason why an execution waits, if it should be recorded (executions.Set.ShouldRecordWait).
func (h *Recording) Waits(e *executions.Execution, why reason.Reason) {
	if h.On() && h.set.ShouldRecordWait(e, why) {
		h.Event(event.Step{Execution: e.ID(), Job: e.Job(), Kind: event.Waited, Item: event.NoItem, Message: why},
			h.shared.Wall().Format(time.RFC3339Nano))
	}
}

// Dropped records a fire that made no execution, and the reason.
func (h *Recording) Dropped(job string, at time.Time, why reason.Reason) {
	h.Event(event.Step{Execution: executions.ID(job, at), Job: job, Kind: event.Dropped, Item: event.NoItem,
		Message: why})
}

// Missed records that fires of a job up to a time of the wall clock were not made in time, and the reason.
func (h *Recording) Missed(job string, upto time.Time, why reason.Reason) {
	h.Event(event.Step{Execution: executions.ID(job, upto), Job: job, Kind: event.Missed, Item: event.NoItem,
		Message: why}, string(store.Encode(why)))
}

// executionRow returns the row of an execution as it is now.
func (h *Recording) executionRow(e *executions.Execution) event.Execution {
	row := event.Execution{ID: e.ID(), Revision: event.Begun, Job: e.Job(), Source: string(e.Source()),
		State: string(e.State()), Fire: e.Fire(), Made: h.shared.Shown(e.CreatedAt()), Shards: e.NumShards()}
	if e.Launched() {
		row.Revision, row.App, row.Launch, row.Begin = event.Launched, e.Settings().App.AppName, e.LaunchedAt(),
			e.Begin()
	}
	if e.EndNumber() == 0 {
		row.Revision = event.Again(row.Revision, e.Reopened())
		return row
	}
	row.Revision, row.End, row.Reason, row.States = event.Ended, e.Complete(), e.Reason(), map[string]int{}
	for i := range e.NumShards() {
		row.States[string(e.Shard(i).State())]++
	}
	row.Revision = event.Again(row.Revision, e.Reopened())
	return row
}

// recordUnrecorded records the last run of each shard that ended in a former term.
func (h *Recording) recordUnrecorded(e *executions.Execution) {
	for _, ref := range h.set.TakeUnrecorded(e) {
		if s := ref.Shard(); s.TaskID() != "" && !e.Daemon() &&
			(!s.Start().IsZero() || s.State() == executions.Failed) {
			h.Run(e, s, s.State(), s.Cause())
		}
	}
}

// Run records the end of an attempt's run, or its beginning if state is Running. cause is recorded only for a run
// that did not finish.
func (h *Recording) Run(e *executions.Execution, s *executions.Shard, state executions.State, cause reason.Reason) {
	row := h.runRow(e, s)
	row.ID, row.State, row.Source, row.Fire, row.Start = event.ID(s.TaskID()), string(state), string(s.SourceOfRun()),
		e.Fire(), s.Start()
	if row.Revision = event.Begun; state.Terminal() {
		row.Revision, row.Success, row.Exit, row.End = event.Ended, state == executions.Finished, s.Exit(),
			s.Complete()
		if row.End.IsZero() {
			row.End = h.shared.Wall()
		}
		if row.Start.IsZero() {
			row.Start = row.End // it failed before it had a process
		}
		if state != executions.Finished {
			row.Cause = cause
		}
	}
	row.Revision = event.Again(row.Revision, s.Returns())
	h.rows.Runs = append(h.rows.Runs, row)
}

// runRow returns a row for a run of a shard's present attempt, with the fields that do not depend on the run.
func (h *Recording) runRow(e *executions.Execution, s *executions.Shard) event.Run {
	host, ip := s.Host(), ""
	if u, err := url.Parse(s.AgentURL()); err == nil {
		if _, err = netip.ParseAddr(u.Hostname()); err == nil {
			ip = u.Hostname()
		}
	}
	if host == "" {
		host = ip
	}
	return event.Run{Job: e.Job(), Task: s.TaskID(), Execution: e.ID(), Item: s.Item(), Attempt: s.Attempt(),
		Agent: s.Agent(), Host: host, IP: ip}
}

// Trace records a state of a shard's present task. at is the time of the change, and id distinguishes repetitions
// of the same state.
func (h *Recording) Trace(ref executions.TaskRef, state cluster.State, source, reported string, message reason.Reason,
	at time.Time, id string) {
	if !h.On() {
		return
	}
	e, s := ref.Exec, ref.Shard()
	name, kind := "TASK_"+string(state), jobs.TaskReady
	if s.SourceOfRun() == executions.FailoverSource {
		kind = jobs.TaskFailover
	}
	h.rows.Traces = append(h.rows.Traces,
		event.Trace{ID: event.ID(s.TaskID(), name, id), Job: e.Job(), OriginalTask: s.Original(), Task: s.TaskID(),
			Agent: s.Agent(), Source: source, Type: kind, Item: s.Item(), State: name, Reason: reported,
			Message:   message,
			Execution: e.ID(), Attempt: s.Attempt(), Time: at})
}

// TraceUpdate records a status update for a shard's task, as the cluster reports it.
func (h *Recording) TraceUpdate(ref executions.TaskRef, u cluster.Update, message reason.Reason) {
	source, id := event.FromScheduler, string(u.UUID)
	if u.Source == cluster.FromExecutor {
		source = event.FromExecutor
	}
	at := h.shared.ReportedTime(u.Timestamp)
	if id == "" {
		id = at.Format(time.RFC3339Nano)
	}
	h.Trace(ref, u.State, source, string(u.Reason), message, at, id)
}

// TraceDecided records a state of a shard's task that the scheduler decided and no update reports.
func (h *Recording) TraceDecided(ref executions.TaskRef, state cluster.State, message reason.Reason) {
	id := "decided"
	if n := ref.Shard().Returns(); n > 0 {
		id += strconv.Itoa(n) // an attempt may be given up again
	}
	h.Trace(ref, state, event.FromScheduler, "", message, h.shared.Wall(), id)
}

// TraceOrphan records that the cluster has reported the end of an attempt that was given up (rule E5). The result of
// its shard stays as it is, but users see when the work ended that was done beside a later attempt.
func (h *Recording) TraceOrphan(o *orphans.Orphan, u cluster.Update) {
	if !h.On() {
		return
	}
	id, err := jobs.ParseTaskID(o.TaskID)
	if err != nil {
		return // another program has written the orphan into the registry
	}
	source := event.FromScheduler
	if u.Source == cluster.FromExecutor {
		source = event.FromExecutor
	}
	name := "TASK_" + string(u.State)
	h.rows.Traces = append(h.rows.Traces,
		event.Trace{ID: event.ID(o.TaskID, name, "given up"), Job: o.Job, Task: o.TaskID,
			Agent: o.Agent, Source: source, Type: id.Type, Item: o.Item, State: name, Reason: string(u.Reason),
			Message: reason.EndedAfterGivenUp(), Execution: o.Execution, Attempt: o.Attempt,
			Time: h.shared.ReportedTime(u.Timestamp)})
}

// DaemonRun records the beginning or the end of one run of a daemon's shard.
func (h *Recording) DaemonRun(ref executions.TaskRef, run *wire.Run) {
	if !h.On() {
		return
	}
	s := ref.Shard()
	row := h.runRow(ref.Exec, s)
	row.ID, row.Number, row.Attempt, row.Source, row.State = event.ID(s.TaskID(), strconv.FormatInt(run.Number, 10)),
		run.Number, run.Attempt, run.Source, run.State
	row.Fire, row.Start = run.Fire, run.Start
	if row.Revision = event.Begun; run.State != wire.RunRunning {
		row.Revision, row.Success, row.Exit, row.Cause = event.Ended, run.State == wire.RunFinished, run.ExitStatus,
			reason.FromText(run.Cause)
		if row.End = run.Complete; row.End.IsZero() {
			row.End = h.shared.Wall()
		}
		if row.Start.IsZero() {
			row.Start = row.End
		}
	}
	row.Revision = event.Again(row.Revision, s.Returns())
	h.rows.Runs = append(h.rows.Runs, row)
}

// Tally records how many runs of a daemon's shard have ended since the last report without a row of their own, because
// sampling left them out [D100]. was and now are the executor's totals in the last report and in this one; reported is
// the run that this one describes, or nil.
func (h *Recording) Tally(ref executions.TaskRef, was, now wire.Totals, reported *wire.Run) {
	runs, failed := now.Runs-was.Runs, now.Failed-was.Failed
	if reported != nil && reported.State != wire.RunRunning {
		runs--
		if reported.State != wire.RunFinished {
			failed--
		}
	}
	runs, failed = max(runs, 0), max(failed, 0)
	if !h.On() || runs == 0 && failed == 0 {
		return
	}
	s := ref.Shard()
	h.rows.Tallies = append(h.rows.Tallies,
		event.Tally{ID: event.ID(s.TaskID(), "tally", strconv.FormatInt(now.Runs, 10),
			strconv.FormatInt(now.Failed, 10)),
			Job: ref.Exec.Job(), Task: s.TaskID(), Success: max(runs-failed, 0), Failed: failed,
			Time: h.shared.Wall()})
}

// Sampled records the gauges and the load of a full minute.
func (h *Recording) Sampled(samples []event.Sample, load event.Load) {
	if h.On() {
		h.rows.Samples, h.rows.Loads = append(h.rows.Samples, samples...), append(h.rows.Loads, load)
	}
}

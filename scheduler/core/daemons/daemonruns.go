package daemons

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Runs describes the runs of a daemon's shard, over all its attempts. It is stored.
type Runs struct {
	// Open is the present run: it has begun, or has failed and is to be tried again; nil between runs. A short run is
	// never open, because the executor reports only its end.
	Open *wire.Run `json:"open,omitempty"`
	// Ended is the number of the newest run of the present attempt whose end was reported.
	Ended int64 `json:"ended,omitempty"`
	// Last is the last run that ended, LastFinished the last one that finished, and LastFailed the last one that
	// neither finished nor was killed by a user; nil for none.
	Last         *wire.Run `json:"last,omitempty"`
	LastFinished *wire.Run `json:"lastFinished,omitempty"`
	LastFailed   *wire.Run `json:"lastFailed,omitempty"`
	// Totals are the counts of runs of the present attempt, as last reported.
	Totals wire.Totals `json:"totals,omitzero"`
	// Rerun is the fire of a run that was cut off and is to be repeated, zero for none.
	Rerun time.Time `json:"rerun,omitzero"`
	// CutOff is set when the end of the present attempt cut off its run, which is Last.
	CutOff bool `json:"cutOff,omitempty"`
	// Down is when the last attempt that ran ended, by the wall clock; zero while one runs, and before the first.
	Down time.Time `json:"down,omitzero"`
}

// PrepareLaunch prepares the record of a shard's runs for its next attempt, and sets the fields of next that are for
// daemons: Need, Settings and Grace.
func (d *Daemons) PrepareLaunch(e *executions.Execution, item int, next *executions.NewTask) {
	next.Need, next.Settings, next.Grace = e.Settings().Job.Resources(), d.tasks.Fingerprint(e, item),
		d.st.Executions.KillGrace(e)
	d.update(e.Job(), item, func(r *Runs) {
		r.Totals, r.Open, r.Ended, r.CutOff = wire.Totals{}, nil, 0, false
		if !e.Settings().Job.Failover {
			r.Rerun = time.Time{} // the job may have had failover when that run was cut off
		}
	})
}

// Report applies the runs that an update of a daemon's task reports. A repeated or late update changes nothing,
// because totals only grow and runs are numbered. Report ignores the tasks of other jobs.
func (d *Daemons) Report(ref executions.TaskRef, st *wire.Status) {
	e, s := ref.Exec, ref.Shard()
	r := d.runsOf(e.Job(), s.Item())
	if !e.Daemon() || r == nil {
		return
	}
	if st.Totals != nil {
		d.recording.Tally(ref, r.Totals, *st.Totals, st.Run)
		d.recordTotals(e.Job(), s.Item(), r, *st.Totals)
	}
	if st.Run == nil || st.Run.Number <= r.Ended {
		return
	}
	run := *st.Run
	run.Cause, run.Note = store.Shorten(run.Cause), store.Shorten(run.Note)
	switch run.State {
	case wire.RunRunning, wire.RunKilled: // a killed run is closed by the end of its attempt, which has the reason
		if r.Open == nil || run.Number > r.Open.Number || run.State == wire.RunKilled {
			d.update(e.Job(), s.Item(), func(r *Runs) { r.Open = &run })
			if run.State == wire.RunRunning {
				d.recording.DaemonRun(ref, &run)
			}
		}
		return
	}
	d.update(e.Job(), s.Item(), func(r *Runs) {
		r.Last, r.Open, r.Ended = &run, nil, run.Number
		if run.Retried {
			open := run
			r.Open = &open
		}
		if run.State == wire.RunFinished {
			r.LastFinished = &run
		}
		if !run.Retried && r.Rerun.Equal(run.Fire) {
			r.Rerun = time.Time{}
		}
	})
	d.st.JobStats.RunEnded(e.Job(), &run)
	d.recording.DaemonRun(ref, &run)
	stats.ObserveRun(&d.st.Numbers.DaemonRun, run.Start, run.Complete)
	if run.State == wire.RunFinished {
		return
	}
	d.runFailed(ref, &run)
}

// recordTotals counts the runs since the last report: the difference of the totals. It ignores totals that are smaller
// than the last ones, because their report is late.
func (d *Daemons) recordTotals(job string, item int, r *Runs, now wire.Totals) {
	was := r.Totals
	if now == was || now.Runs < was.Runs || now.Failed < was.Failed || now.Skipped < was.Skipped {
		return
	}
	d.update(job, item, func(r *Runs) { r.Totals = now })
	d.st.Numbers.DaemonRuns += now.Runs - was.Runs
	d.st.Numbers.DaemonRunsFailed += now.Failed - was.Failed
	d.st.JobStats.CountRuns(job, now.Runs-was.Runs, now.Failed-was.Failed)
	if n := now.Skipped - was.Skipped; n > 0 {
		if j := d.st.Config.Job(job); j != nil {
			d.st.Config.CountDropped(j, n, reason.FiresSkipped(n, now.SkippedAt.UTC(), item))
		}
	}
}

// RecordRunning records that an attempt was reported running, and counts a missed window if the shard has missed fires
// since its last attempt ended (rule X8). A shard that has not run since its job was registered, enabled, resumed or
// given another cron has missed none (rule F2). RecordRunning ignores the tasks of other jobs.
func (d *Daemons) RecordRunning(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	r := d.runsOf(e.Job(), s.Item())
	if !e.Daemon() || r == nil || r.Down.IsZero() {
		return
	}
	from, until := r.Down, d.st.Wall()
	d.update(e.Job(), s.Item(), func(r *Runs) { r.Down = time.Time{} })
	j := d.st.Config.Job(e.Job())
	if j == nil || j.Schedule() == nil || j.Since().After(from) || !until.After(from) {
		return
	}
	if next := j.Schedule().Next(from); next.IsZero() || next.After(until) {
		return
	}
	why := reason.ShardWasDown(s.Item(), from.UTC(), until.UTC())
	d.st.Config.CountMissed(j, why)
	d.st.Note(step.Note{Kind: step.NoteFiresMissed, Job: e.Job(), Why: why})
}

// RecordReturn records that a shard has taken back an attempt that was given up. Its runs went on meanwhile, so the
// run that was recorded as cut off is the present one again. RecordReturn ignores the tasks of other jobs.
func (d *Daemons) RecordReturn(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	if r := d.runsOf(e.Job(), s.Item()); !e.Daemon() || r == nil {
		return
	}
	d.update(e.Job(), s.Item(), func(r *Runs) {
		if r.CutOff && r.Last != nil && r.Last.State == wire.RunKilled {
			open := *r.Last
			open.State, open.Complete, open.Cause, open.Retried = wire.RunRunning, time.Time{}, "", false
			r.Open, r.Rerun = &open, time.Time{}
		}
		r.CutOff = false
		if s.State() == executions.Running {
			r.Down = time.Time{}
		}
	})
	d.TendLater(e.Job())
}

// EndAttempt closes the run that the end of an attempt cuts off. With failover that run is repeated, unless a user has
// requested its end. If the attempt ran for healthyAfter, the counts of earlier failures are cleared. EndAttempt is
// called for daemons only, before the shard changes its state.
func (d *Daemons) EndAttempt(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	if s.State() == executions.Running && d.st.Now().Sub(s.RunningSince()) >= healthyAfter {
		d.st.Executions.ClearTries(ref)
	}
	endRequested := !e.GoesOn() || s.Kill().Is(reason.KilledOnRequest)
	rerun := e.Settings().Job.Failover && !endRequested
	var cut, lost *wire.Run
	d.update(e.Job(), s.Item(), func(r *Runs) {
		if r.Down.IsZero() && s.State() == executions.Running {
			r.Down = d.st.Wall()
		}
		if endRequested {
			r.Rerun = time.Time{}
		}
		if cut = r.Open; cut != nil {
			if rerun {
				r.Rerun = cut.Fire
			}
			why := "cut off by the end of its task: " + s.Cause().String()
			switch {
			case cut.Retried:
				cut.Cause += "; its retry was " + why
			case cut.Cause == "":
				cut.Cause = why
			}
			cut.State, cut.Complete, cut.Retried = wire.RunKilled, d.st.Wall(), rerun
			r.Last, r.Open, r.CutOff = cut, nil, true
			if !rerun && s.Kill().IsZero() && e.Kill().IsZero() {
				lost = cut
			}
		}
	})
	if cut != nil {
		d.recording.DaemonRun(ref, cut)
	}
	if lost != nil {
		d.st.Numbers.DaemonRuns++
		d.st.Numbers.DaemonRunsFailed++
		d.st.JobStats.CountRuns(e.Job(), 1, 1)
		d.runFailed(ref, lost)
	}
	d.TendLater(e.Job())
}

// runFailed records a run that did not finish, and reports it for a notification unless it is tried again.
func (d *Daemons) runFailed(ref executions.TaskRef, run *wire.Run) {
	e, s := ref.Exec, ref.Shard()
	d.update(e.Job(), s.Item(), func(r *Runs) { r.LastFailed = run })
	id := executions.ID(e.Job(), run.Fire)
	d.st.Note(step.Note{Kind: step.NoteRunFailed, Job: e.Job(), Execution: id, Task: s.TaskID(),
		Problem: !d.notifications.IgnoresFailures(e.Job()),
		Detail: fmt.Sprintf("item %d, the fire of %s: %s: %s", s.Item(), run.Fire.UTC().Format(time.RFC3339),
			run.State, run.Cause)})
	if !run.Retried {
		d.notifications.ReportFailure(e.Job(),
			notifications.Failure{Execution: id, Fire: run.Fire,
				Shards: []notifications.FailedShard{{Item: s.Item(), State: executions.State(run.State),
					TaskID: s.TaskID(), Agent: s.Agent(), Cause: reason.FromText(run.Cause)}}})
	}
}

// maxFailuresInRow is the number of consecutive failures at which people are notified that a daemon's shard does not
// stay on the cluster.
const maxFailuresInRow = 5

// RecordRequeue records that a shard waits for another attempt. If a daemon's shard does not stay on the cluster,
// people are notified, because the shard's fires are missed meanwhile: once in each series of failures.
func (d *Daemons) RecordRequeue(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	if tries := s.Fails() + s.Losses() + s.Errors() + s.Starts(); !e.Daemon() || tries != maxFailuresInRow {
		return
	}
	d.notifications.ReportFailure(e.Job(),
		notifications.Failure{Execution: e.ID(), Fire: d.st.Wall(),
			Shards: []notifications.FailedShard{{Item: s.Item(), State: executions.Failed, TaskID: s.TaskID(),
				Agent: s.Agent(),
				Cause: reason.CannotStay(maxFailuresInRow, s.Cause())}}})
}

package views

import (
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// viewDaemon returns the view of the runs of a daemon's shard, nil for other shards.
func (vs *Views) viewDaemon(e *executions.Execution, item int) *DaemonView {
	r := vs.daemons.Runs(e.Job(), item)
	if !e.Daemon() || r == nil || e.EndNumber() > 0 && !vs.isLast(e) {
		return nil
	}
	v := &DaemonView{LastRun: viewRun(r.Last), LastFailure: viewRun(r.LastFailed),
		Runs: r.Totals.Runs, Failed: r.Totals.Failed, Skipped: r.Totals.Skipped}
	if r.Open != nil && !r.Open.Retried { // a retried run pauses before its next try
		v.Running = viewRun(r.Open)
	}
	j := vs.st.Config.Job(e.Job())
	if e.EndNumber() == 0 && j != nil && j.Schedule() != nil && vs.st.Config.Inactive(j) == config.Active {
		if next := j.Schedule().Next(vs.st.Wall()); !next.IsZero() {
			v.NextFireTime = &next
		}
	}
	return v
}

// isLast reports whether an ended execution is the last launched one of its daemon. Then the records of runs are about
// it, until the next execution is launched.
func (vs *Views) isLast(e *executions.Execution) bool {
	standing := vs.st.Executions.Standing(e.Job())
	return (standing == nil || !standing.Launched()) && e == vs.st.Executions.LastLaunchedEnded(e.Job())
}

// viewRun returns the view of a run, nil for none.
func viewRun(run *wire.Run) *RunView {
	if run == nil {
		return nil
	}
	truncate := func(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
	v := &RunView{FireTime: truncate(run.Fire), Source: run.Source, Attempt: run.Attempt, State: run.State,
		StartTime: truncate(run.Start), ExitStatus: run.ExitStatus, FailureCause: run.Cause, Note: run.Note}
	if !run.Complete.IsZero() {
		at := truncate(run.Complete)
		v.CompleteTime, v.DurationMillis = &at, max(run.Complete.Sub(run.Start), 0).Milliseconds()
	}
	return v
}

// maxNotedRuns bounds the items for which Explain says how their last run failed, and the items for which it says what
// was notable about a finished run.
const maxNotedRuns = 10

// noteFinished adds a note about the last run of an item, which has finished, unless notable is zero or maxNotedRuns
// were noted. It returns how many are noted now.
func (vs *Views) noteFinished(x *Explanation, item int, fire time.Time, notable reason.Reason, noted int) int {
	if notable.IsZero() || noted >= maxNotedRuns {
		return noted
	}
	x.Note(reason.OfItem(item, reason.LastRunEnded(fire.UTC(), string(executions.Finished), notable)))
	return noted + 1
}

// explainDaemon explains the results of a daemon's last runs and the progress of a rollout of its settings. The last
// runs stay when the standing execution has ended.
func (vs *Views) explainDaemon(x *Explanation, j *config.Job) {
	if run := vs.daemonSummary(j.Name(), func(r *daemons.Runs) *wire.Run { return r.Last }); run != nil {
		x.LastRun = run
	}
	if run := vs.daemonSummary(j.Name(), func(r *daemons.Runs) *wire.Run { return r.LastFinished }); run != nil {
		x.LastSuccess = run
	}
	x.LastFailure = vs.daemonSummary(j.Name(), func(r *daemons.Runs) *wire.Run { return r.LastFailed })
	e := vs.st.Executions.Standing(j.Name())
	if e == nil || !e.Launched() {
		return
	}
	failed, noted := 0, 0
	for i := range e.NumShards() {
		r := vs.daemons.Runs(e.Job(), i)
		if r == nil || r.Last == nil {
			continue
		}
		if r.Last.State == wire.RunFinished {
			noted = vs.noteFinished(x, i, r.Last.Fire, reason.FromText(r.Last.Note), noted)
			continue
		}
		if failed++; failed <= maxNotedRuns {
			ended := reason.LastRunEnded(r.Last.Fire.UTC(), string(r.Last.State), reason.FromText(r.Last.Cause))
			x.Note(reason.OfItem(i, ended))
		}
	}
	if failed > maxNotedRuns {
		x.Note(reason.MoreLastRunsEnded(failed - maxNotedRuns))
	}
	outdated := 0
	for _, i := range e.Outdated() { // the other shards have been compared already
		if s := e.Shard(i); s.Live() && vs.daemons.IsOutdated(e, s) {
			outdated++
		}
	}
	if outdated == 0 {
		return
	}
	item := -1
	for i := range e.NumShards() {
		if e.Shard(i).Replacing() {
			item = i
			break
		}
	}
	comingUp := item < 0
	if comingUp {
		item, _ = vs.daemons.StartingShard(e)
	}
	if item >= 0 {
		x.Note(reason.RollingOut(item, comingUp, outdated))
	}
}

// daemonOf returns the execution to which the run of a daemon with that id belongs: the last one that was made at or
// before the run's fire; nil if none is kept.
func (vs *Views) daemonOf(runID string) (found *executions.Execution) {
	job, _, _ := strings.Cut(runID, "@")
	for e := range vs.st.Executions.Of(job) {
		// Ids of runs have the same form and length, so they sort by time.
		first := executions.ID(job, e.Fire())
		if e.Daemon() && first <= runID && len(first) == len(runID) && (found == nil || e.Fire().After(found.Fire())) {
			found = e
		}
	}
	return found
}

// daemonSummary combines the runs that pick selects, one of each shard of a daemon, into one summary. Only runs of the
// newest fire among them count. It is nil if no shard has such a run.
func (vs *Views) daemonSummary(job string, pick func(*daemons.Runs) *wire.Run) *ExecutionSummary {
	var v *ExecutionSummary
	for i := range vs.daemons.NumShards(job) {
		r := vs.daemons.Runs(job, i)
		if r == nil || pick(r) == nil {
			continue
		}
		run := pick(r)
		fire := run.Fire.UTC()
		if v == nil || fire.After(v.FireTime) {
			v = &ExecutionSummary{ExecutionID: executions.ID(job, fire), JobName: job, FireTime: fire,
				Source: executions.Source(run.Source), State: executions.Finished, Shards: map[executions.State]int{}}
		}
		if !fire.Equal(v.FireTime) {
			continue
		}
		v.Shards[executions.State(run.State)]++
		if run.State == wire.RunKilled && v.State == executions.Finished {
			v.State = executions.Killed
		} else if run.State != wire.RunFinished && run.State != wire.RunKilled {
			v.State = executions.Failed
		}
		if run.State != wire.RunFinished {
			v.Why = WhyOf(reason.OfItem(i, reason.FromText(run.Cause)))
		}
		if start := run.Start.UTC().Truncate(time.Millisecond); v.StartTime == nil || start.Before(*v.StartTime) {
			v.StartTime = &start
		}
		if end := run.Complete.UTC().Truncate(time.Millisecond); v.CompleteTime == nil || end.After(*v.CompleteTime) {
			v.CompleteTime = &end
		}
	}
	return v
}

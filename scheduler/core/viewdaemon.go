package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/wire"
)

// viewDaemon is what people see of the runs of a daemon's shard, nil for other shards.
func (c *Core) viewDaemon(e *execution, item int) *DaemonView {
	r := c.daemons.of(e.Job, item)
	if !e.daemon() || e.Ended > 0 || r == nil {
		return nil
	}
	v := &DaemonView{LastRun: viewRun(r.Last), Runs: r.Totals.Runs, Failed: r.Totals.Failed, Skipped: r.Totals.Skipped}
	if r.Open != nil && !r.Open.Retried { // else it rests before its next try
		v.Running = viewRun(r.Open)
	}
	if j := c.config.jobs[e.Job]; j != nil && j.schedule != nil && c.config.inactive(j) == active {
		if next := j.schedule.Next(c.wall); !next.IsZero() {
			v.NextFireTime = &next
		}
	}
	return v
}

func viewRun(run *wire.Run) *RunView {
	if run == nil {
		return nil
	}
	millis := func(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
	v := &RunView{FireTime: millis(run.Fire), Source: run.Source, Attempt: run.Attempt, State: run.State, StartTime: millis(run.Start),
		ExitStatus: run.ExitStatus, FailureCause: run.Cause}
	if !run.Complete.IsZero() {
		at := millis(run.Complete)
		v.CompleteTime, v.DurationMillis = &at, max(run.Complete.Sub(run.Start), 0).Milliseconds()
	}
	return v
}

// explainDaemon says what came of a daemon's last runs, and how far a change of its settings has come.
func (c *Core) explainDaemon(x *Explanation, j *jobState) {
	e := j.standing()
	if e == nil || !e.launched() {
		return
	}
	x.LastRun = c.daemonSummary(e, func(r *daemonRuns) *wire.Run { return r.Last })
	x.LastSuccess = c.daemonSummary(e, func(r *daemonRuns) *wire.Run { return r.LastFinished })
	former := 0
	for i := range e.Shards {
		s := &e.Shards[i]
		if s.live() && c.isOutdated(e, s) {
			former++
		}
		r := c.daemons.of(e.Job, i)
		if r == nil {
			continue
		}
		if run := r.Last; run != nil && run.State != wire.RunFinished && len(x.Notes) < explainItems {
			x.Notes = append(x.Notes, fmt.Sprintf("item %d: its last run, the fire of %s, ended as %s: %s", i, run.Fire.UTC().Format(time.RFC3339), run.State, run.Cause))
		}
	}
	if former == 0 {
		return
	}
	what := "being replaced"
	item := slices.IndexFunc(e.Shards, func(s shard) bool { return s.Replacing })
	if item < 0 {
		what = "coming up with them"
		item, _ = c.comingUp(e)
	}
	if item >= 0 {
		x.Notes = append(x.Notes, fmt.Sprintf("changed settings are brought to its shards one at a time: item %d is %s, %s still with the former ones", item, what, counted(former, "shard")))
	}
}

// daemonSummary puts together what the shards of a daemon report of the newest fire of which any does; pick is one run of each.
func (c *Core) daemonSummary(e *execution, pick func(*daemonRuns) *wire.Run) *ExecutionSummary {
	var v *ExecutionSummary
	for i := range e.Shards {
		r := c.daemons.of(e.Job, i)
		if r == nil || pick(r) == nil {
			continue
		}
		run := pick(r)
		fire := run.Fire.UTC()
		if v == nil || fire.After(v.FireTime) {
			v = &ExecutionSummary{ExecutionID: executionID(e.Job, fire), JobName: e.Job, FireTime: fire, Source: Source(run.Source), State: Finished, Shards: map[State]int{}}
		}
		if !fire.Equal(v.FireTime) {
			continue
		}
		v.Shards[State(run.State)]++
		if run.State == wire.RunKilled && v.State == Finished {
			v.State = Killed
		} else if run.State != wire.RunFinished && run.State != wire.RunKilled {
			v.State = Failed
		}
		if run.State != wire.RunFinished {
			v.Reason = fmt.Sprintf("item %d: %s", i, run.Cause)
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

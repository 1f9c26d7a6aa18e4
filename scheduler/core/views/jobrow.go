package views

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// JobRow is the data about one job in a list of all jobs. It is small, and contains no texts of reasons. It changes
// only if step.Changed names the job, except for the next fire of a daemon, which is computed from Schedule.
type JobRow struct {
	Name string
	// Config is the core's own document, which must not be changed; a new document is another Config. It is nil if
	// no document can be used.
	Config *jobs.Config
	// State is Explanation.State.
	State    string
	Disabled bool
	// NextFire is the first fire that was not made yet; if it is in the past, the fire is late. It is zero if there is
	// none.
	NextFire time.Time
	// Schedule is the schedule of a daemon, whose executors make the fires; nil for other jobs, and while the daemon
	// is inactive.
	Schedule *cron.Schedule
	// Running and Waiting count shards, RunningExecutions the launched executions and WaitingExecutions the others.
	Running, Waiting                     int
	RunningExecutions, WaitingExecutions int
	// WaitingSince is when the oldest waiting execution or shard began to wait, zero if none waits. A launched shard
	// that waits on its agent counts as waiting.
	WaitingSince time.Time
	// LastState and the times describe the last run that ended; LastState is "" without one.
	LastState                         executions.State
	LastFire, LastStart, LastComplete time.Time
	// Failures counts the runs that failed since the last one that did not fail. FailingSince is when the first of
	// them ended.
	Failures     int
	FailingSince time.Time
	// LastMissed is when fires were last missed.
	LastMissed time.Time
}

// JobNames returns the names of all jobs that have a row, in no order.
func (vs *Views) JobNames() []string {
	out := make([]string, 0, vs.st.Config.NumJobs())
	for name, j := range vs.st.Config.AllJobs() {
		if j.Config() != nil || vs.st.Config.IsFaulty(j) {
			out = append(out, name)
		}
	}
	return out
}

// JobRow returns a job's row; false if there is no such job.
func (vs *Views) JobRow(name string) (JobRow, bool) {
	j := vs.st.Config.Job(name)
	if j == nil || j.Config() == nil && !vs.st.Config.IsFaulty(j) {
		return JobRow{}, false
	}
	r := JobRow{Name: name, Config: j.Config(), Disabled: j.Mark().Disables(), NextFire: vs.fires.NextOf(j),
		LastMissed: j.Stored().Fires.LastMissed}
	if j.Schedule() != nil && j.IsDaemon() && vs.st.Config.Inactive(j) == config.Active {
		r.Schedule = j.Schedule()
	}
	onAgent := 0
	for _, e := range vs.st.Executions.Queue(j.Name()) {
		vs.countExecution(&r, j, e)
		onAgent += countOnAgent(e)
	}
	if vs.st.Config.IsFaulty(j) {
		r.State = "FAULTY"
	} else {
		r.State = vs.jobState(j, r.Running-onAgent, r.Waiting+onAgent, !r.NextFire.IsZero())
	}
	vs.lastRun(&r, j)
	return r, true
}

// countExecution adds an open execution to its job's row.
func (vs *Views) countExecution(r *JobRow, j *config.Job, e *executions.Execution) {
	oldest := func(t time.Time) {
		if t = vs.st.Shown(t); r.WaitingSince.IsZero() || t.Before(r.WaitingSince) {
			r.WaitingSince = t
		}
	}
	if !e.Launched() {
		r.WaitingExecutions++
		shards := 1
		if j.Config() != nil {
			shards = j.Config().ShardingTotalCount
		}
		r.Waiting += shards
		oldest(e.CreatedAt())
		return
	}
	r.RunningExecutions++
	for i := range e.NumShards() {
		switch s := e.Shard(i); {
		case s.State() == executions.Waiting:
			r.Waiting++
			oldest(s.WaitSince())
		case s.Live():
			r.Running++
			if s.WaitsOnAgent() {
				oldest(s.Launched())
			}
		}
	}
}

// lastRun adds the last run of a job to its row: for a daemon the newest fire of its shards.
func (vs *Views) lastRun(r *JobRow, j *config.Job) {
	if run := vs.daemonSummary(j.Name(), func(d *daemons.Runs) *wire.Run { return d.Last }); run != nil {
		r.LastState, r.LastFire = run.State, run.FireTime
		if run.StartTime != nil {
			r.LastStart = *run.StartTime
		}
		if run.CompleteTime != nil {
			r.LastComplete = *run.CompleteTime
		}
		if run.State == executions.Failed {
			r.Failures, r.FailingSince = 1, r.LastComplete
		}
		return
	}
	e := vs.st.Executions.LastEnded(j.Name(), executions.ResultFinished, executions.ResultFailed,
		executions.ResultKilled)
	if e == nil {
		return
	}
	r.LastState, r.LastFire, r.LastStart, r.LastComplete = e.State(), e.Fire(), e.Begin(), e.Complete()
	if r.LastState == executions.Failed {
		r.Failures, r.FailingSince = vs.st.Executions.Failures(j.Name())
	}
}

// JobDetail is the data about a job on a page of a list, in addition to its row.
type JobDetail struct {
	NextFire time.Time
	// WaitingFor is the reason why the oldest waiting execution or shard waits; zero if none waits.
	WaitingFor reason.Reason
	// Missed is the reason why fires were last missed; zero if none were.
	Missed reason.Reason
	// LastRun is the last run that ended, nil without one.
	LastRun *ExecutionSummary
	// Runs are the last executions that are kept, the oldest first; a daemon has none.
	Runs []RunRow
}

// RunRow is one execution in a job's list of last runs.
type RunRow struct {
	ExecutionID     string
	State           executions.State
	Fire            time.Time
	Start, Complete time.Time // zero if it has none yet
}

// JobDetails returns the details of the named jobs, in their order, each with at most runs of its last runs. A job
// that does not exist has the zero value.
func (vs *Views) JobDetails(names []string, runs int) []JobDetail {
	out := make([]JobDetail, len(names))
	for i, name := range names {
		if j := vs.st.Config.Job(name); j != nil {
			out[i] = vs.jobDetail(j, runs)
		}
	}
	return out
}

func (vs *Views) jobDetail(j *config.Job, runs int) JobDetail {
	d := JobDetail{NextFire: vs.fires.NextOf(j), WaitingFor: vs.waitingFor(j), Missed: j.Stored().Fires.MissedWhy}
	x := Explanation{}
	vs.explainPast(&x, j)
	if run := vs.daemonSummary(j.Name(), func(r *daemons.Runs) *wire.Run { return r.Last }); run != nil {
		x.LastRun = run
	}
	d.LastRun = x.LastRun
	var last []*executions.Execution
	vs.eachExecution(j.Name(), func(e *executions.Execution) {
		if !e.Daemon() {
			last = append(last, e)
		}
	})
	slices.SortFunc(last, func(a, b *executions.Execution) int {
		return cmp.Or(a.Fire().Compare(b.Fire()), cmp.Compare(a.ID(), b.ID()))
	})
	for _, e := range last[max(len(last)-runs, 0):] {
		row := RunRow{ExecutionID: e.ID(), State: e.State(), Fire: e.Fire(), Start: e.Begin()}
		if row.State.Terminal() {
			row.Complete = e.Complete()
		}
		d.Runs = append(d.Runs, row)
	}
	return d
}

// waitingFor returns the reason why the oldest waiting execution or shard of a job waits, zero if none waits. It
// does not determine the reasons of the others.
func (vs *Views) waitingFor(j *config.Job) reason.Reason {
	var since time.Time
	why := func() reason.Reason { return reason.Reason{} }
	wait := func(t time.Time, because func() reason.Reason) {
		if since.IsZero() || t.Before(since) {
			since, why = t, because
		}
	}
	for _, e := range vs.st.Executions.Queue(j.Name()) {
		if !e.Launched() {
			wait(e.CreatedAt(), func() reason.Reason { return vs.WaitReason(j, e) })
			continue
		}
		for i := range e.NumShards() {
			switch s := e.Shard(i); {
			case s.State() == executions.Waiting:
				wait(s.WaitSince(), func() reason.Reason { return vs.ShardWaitReason(e, s) })
			case s.WaitsOnAgent():
				wait(s.Launched(), func() reason.Reason { return vs.liveReason(s) })
			}
		}
	}
	return why()
}

// jobState returns Explanation.State of a job.
func (vs *Views) jobState(j *config.Job, running, waiting int, fires bool) string {
	a := vs.st.Config.App(j.Config().AppName)
	switch {
	case j.State(vs.st.Executions.HasOpen(j.Name())) == config.JobDisabled:
		return string(config.JobDisabled)
	case a == nil || a.Disabled():
		return "APP_DISABLED"
	case j.State(vs.st.Executions.HasOpen(j.Name())) != config.JobEnabled:
		return string(j.State(vs.st.Executions.HasOpen(j.Name())))
	case running > 0:
		return "RUNNING"
	case waiting > 0:
		return "WAITING"
	case j.Config().Cron == "":
		return "ON_TRIGGER"
	case !fires:
		return "NEVER"
	}
	return "READY"
}

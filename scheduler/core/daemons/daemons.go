// Package daemons keeps each daemon job's standing execution present and up to date, and records the runs that its
// executors make and report (rules X8, X12).
//
// It owns one record for each shard that was ever launched, by job and item. Reports of executors and ends of attempts
// change that record. The shards and attempts themselves belong to package executions. The package makes no fires: the
// executors of daemons do that.
package daemons

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/scheduler/core/tasks"
)

// Daemons holds the records of the runs of daemon jobs, which their executors make. The shards themselves belong to a
// job's standing execution. These hold between any two steps:
//
//   - runs has, by shardKey, a record for every shard of a daemon job that was ever launched, and none of other jobs;
//     items has each of these jobs;
//   - due is empty: every job that was changed was checked.
type Daemons struct {
	st            *state.State
	tasks         *tasks.Describer
	recording     *recording.Recording
	notifications *notifications.Notifications
	runs          map[string]*Runs
	changed       store.Changed
	// items is, by job, one more than the item of the last shard with a record.
	items map[string]int
	// due has the jobs whose standing execution Tend checks in this step.
	due store.Changed
}

// New returns Daemons without records.
func New(s *state.State, rec *recording.Recording, ns *notifications.Notifications) *Daemons {
	d := &Daemons{st: s, recording: rec, notifications: ns, runs: map[string]*Runs{}, items: map[string]int{}}
	d.tasks = tasks.New(s, d.rerun)
	return d
}

// Describer returns the describer of the tasks of all jobs. It names the fire that a daemon's shard is to run again.
func (d *Daemons) Describer() *tasks.Describer { return d.tasks }

// TendLater marks a job so that Tend checks its standing execution in this step.
func (d *Daemons) TendLater(job string) { d.due.Add(job) }

// tendAt is TendLater at a time of the term.
func (d *Daemons) tendAt(job string, at time.Time) {
	d.st.Timers.At(at, func(time.Time) { d.due.Add(job) })
}

// Write adds the changed records to the commit.
func (d *Daemons) Write(r *store.Commit) {
	store.PutChanged(r, store.PathDaemonRuns, d.runs, &d.changed)
}

// shardKey returns the name under which the runs of a daemon's shard are stored. It names the job, not the execution,
// because the runs still matter after the standing execution was replaced.
func shardKey(job string, item int) string { return job + "@" + strconv.Itoa(item) }

// runsOf returns the runs of a shard, nil before its first launch.
func (d *Daemons) runsOf(job string, item int) *Runs { return d.runs[shardKey(job, item)] }

// rerun returns the fire whose run a shard is to repeat, zero for none.
func (d *Daemons) rerun(job string, item int) time.Time {
	if r := d.runsOf(job, item); r != nil {
		return r.Rerun
	}
	return time.Time{}
}

// Runs returns a copy of the runs of a shard, nil before its first launch.
func (d *Daemons) Runs(job string, item int) *Runs {
	if r := d.runsOf(job, item); r != nil {
		return new(*r)
	}
	return nil
}

// Restore adds a stored record while a term is loaded, and marks its job as TendLater does, because it may no longer
// be a daemon. It fails if value cannot be decoded; it ignores a key that names no shard.
func (d *Daemons) Restore(key string, value []byte) error {
	var runs Runs
	if err := json.Unmarshal(value, &runs); err != nil {
		return err
	}
	job, text, _ := strings.Cut(key, "@")
	item, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	d.runs[key] = &runs
	d.items[job] = max(d.items[job], item+1)
	d.TendLater(job)
	return nil
}

// update applies fn to the runs of a shard and marks them to be written.
func (d *Daemons) update(job string, item int, fn func(*Runs)) {
	key := shardKey(job, item)
	if d.runs[key] == nil {
		d.runs[key] = &Runs{}
		d.items[job] = max(d.items[job], item+1)
	}
	fn(d.runs[key])
	d.changed.Add(key)
}

// forgetFrom forgets the runs of a job's shards from an item on, because the job has fewer shards or is no longer a
// daemon.
func (d *Daemons) forgetFrom(job string, item int) {
	for i := item; i < d.items[job]; i++ {
		if key := shardKey(job, i); d.runs[key] != nil {
			delete(d.runs, key)
			d.changed.Add(key)
		}
	}
	if d.items[job] = min(d.items[job], item); item == 0 {
		delete(d.items, job)
	}
}

// Tend makes sure that each daemon job marked by TendLater has one standing execution with the present settings. It is
// called once in each step, after the events of the step were applied.
func (d *Daemons) Tend() {
	for d.due.Len() > 0 { // an execution that ends here marks its job again, for the next one
		for _, name := range d.due.Take() {
			if j := d.st.Config.Job(name); j != nil {
				d.tendDaemon(j)
			} else {
				d.forgetFrom(name, 0)
			}
		}
	}
}

// tendDaemon ends, opens or updates the standing execution of a job, as the state of the job requires.
func (d *Daemons) tendDaemon(j *config.Job) {
	e := d.st.Executions.Standing(j.Name())
	switch {
	case j.Config() == nil:
		if !d.st.Config.IsFaulty(j) {
			d.forgetFrom(j.Name(), 0)
		}
		return
	case e != nil && e.Launched() && d.st.Config.Paused(j):
		d.st.Executions.EndRuns(e, reason.Of(reason.Paused))
		return
	case e != nil && e.Launched() && d.st.Config.Inactive(j) == config.ShutDown:
		d.st.Executions.EndAfterRuns(e, d.st.Config.EndReason(j))
		return
	case d.st.Config.Inactive(j) != config.Active:
		return // core.applyJobState has ended its executions
	case !j.IsDaemon():
		if e != nil {
			d.st.Executions.Kill(e, reason.Of(reason.NoDaemonAnyMore))
		}
		d.forgetFrom(j.Name(), 0)
		return
	}
	for _, other := range slices.Clone(d.st.Executions.Queue(j.Name())) {
		if !other.Launched() && !other.Daemon() {
			d.st.Executions.Kill(other, reason.Of(reason.BecameDaemon))
		}
	}
	switch {
	case d.st.Draining(), e != nil && !e.Kill().IsZero():
	case e == nil:
		id := executions.ID(j.Name(), d.st.Wall()) + "-" + d.st.UUID()[:8]
		d.st.Executions.Enqueue(executions.NewExecution{ID: id, Job: j.Name(),
			Fire: d.st.Wall().Truncate(time.Millisecond), Source: executions.DaemonSource})
	case e.Launched() && d.st.Opt.Held != "": // a shard that the rollout kills would not be launched again
	case e.Launched():
		d.rollOut(j, e)
	}
}

// healthyAfter is how long a daemon's shard must have been running with new settings before the next one is replaced.
const healthyAfter = 10 * time.Second

// rollOut brings the present settings to the shards of a standing execution, one at a time (rule X8): it kills the
// next shard when the last one has been running for healthyAfter. A shard that does not come up stops the rollout. If
// the number of shards changes, all shards are ended first, because the old and the new ones would divide the work
// differently at the same time.
func (d *Daemons) rollOut(j *config.Job, e *executions.Execution) {
	if n := j.Config().ShardingTotalCount; n != e.NumShards() {
		d.st.Executions.Kill(e, reason.ShardingTotalCountChanged(e.NumShards(), n))
		return
	}
	d.forgetFrom(j.Name(), e.NumShards()) // the job may have had more shards
	d.st.Executions.ReplaceSettings(e, executions.Settings{App: *d.st.Config.App(j.Config().AppName).Config(),
		Job: j.Config().WithoutNotifications()})
	for i := range e.NumShards() {
		s := e.Shard(i)
		if !s.Replacing() {
			continue
		}
		switch until := s.RunningSince().Add(healthyAfter); {
		case s.State() != executions.Running || !s.KillSince().IsZero():
			return
		case d.IsOutdated(e, s): // its settings have changed again: it is the next to be replaced
		case until.After(d.st.Now()):
			d.tendAt(j.Name(), until)
			return
		}
		d.st.Executions.MarkReplaced(e.Ref(i))
	}
	for ; len(e.Outdated()) > 0; d.st.Executions.DropFirstOutdated(e) {
		i := e.Outdated()[0]
		s := e.Shard(i)
		if !s.Live() || !d.IsOutdated(e, s) {
			continue // a waiting shard will be launched with the present settings
		}
		if s.KillSince().IsZero() {
			if other, until := d.StartingShard(e); other >= 0 {
				if !until.IsZero() {
					d.tendAt(j.Name(), until)
				}
				return
			}
			d.st.Executions.WantKill(e.Ref(i),
				executions.WantedKill{Why: reason.Of(reason.SettingsChanged), Replace: true})
		}
		return
	}
}

// StartingShard returns the first shard that is about to run with the present settings and has not run well with them
// yet; -1 if there is none. until is the time of the term until which a rollout waits for it; zero means until its
// next report. A rollout does not wait for a shard that has waited for placement for healthyAfter, because the change
// may make room for that shard.
func (d *Daemons) StartingShard(e *executions.Execution) (item int, until time.Time) {
	for i := range e.NumShards() {
		s := e.Shard(i)
		switch s.State() {
		case executions.Waiting:
			until = s.NotBefore().Add(healthyAfter)
		case executions.Running:
			until = s.RunningSince().Add(healthyAfter)
		case executions.Launching:
			until = time.Time{}
		}
		if (until.IsZero() || until.After(d.st.Now())) && (!s.Live() || !d.IsOutdated(e, s)) {
			return i, until
		}
	}
	return -1, time.Time{}
}

// IsOutdated reports whether a live shard runs with other settings than it would be launched with now, or on an
// executor that takes no more tasks.
func (d *Daemons) IsOutdated(e *executions.Execution, s *executions.Shard) bool {
	x := d.st.Executors.Get(s.Executor())
	return s.Settings() != d.tasks.Fingerprint(e, s.Item()) || x != nil && x.IsClosing()
}

// DrainGrace is the grace of a kill that lets the present run of a daemon's shard come to its end. A longer run is cut
// off.
const DrainGrace = 7 * 24 * time.Hour

// JobsWithRuns iterates over the jobs with records of runs, in no order.
func (d *Daemons) JobsWithRuns() iter.Seq[string] { return maps.Keys(d.items) }

// NumShards returns the number of shards of a job that may have a record: only items below it may.
func (d *Daemons) NumShards(job string) int { return d.items[job] }

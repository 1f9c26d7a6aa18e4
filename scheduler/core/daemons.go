package core

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// daemons are what is known of the runs of daemon jobs, which their executors make. The shards themselves belong to a job's
// standing execution. These hold between any two steps:
//
//   - runs has a record for every shard of a daemon job that was ever launched, by daemonShard, and none of other jobs; items has each of
//     those jobs;
//   - due is empty: every job that was changed has been looked at.
type daemons struct {
	*step.Shared
	runs    map[string]*daemonRuns
	changed store.Changed
	// items is, by job, the number of the last shard with a record, and one.
	items map[string]int
	// due are the jobs whose standing execution is to be looked at in this step.
	due store.Changed
}

func newDaemons(s *step.Shared) daemons {
	return daemons{Shared: s, runs: map[string]*daemonRuns{}, items: map[string]int{}}
}

// look has a job's standing execution be looked at in this step.
func (d *daemons) look(job string) { d.due.Add(job) }

func (d *daemons) lookAt(job string, at time.Time) {
	d.Timers.At(at, func(time.Time) { d.due.Add(job) })
}

func (d *daemons) write(r *store.Commit) {
	store.PutChanged(r, store.PathDaemonRuns, d.runs, &d.changed)
}

// daemonShard names a daemon's shard in the registry. Its runs are kept by job, not by execution: they are of interest when
// the standing execution was replaced, too.
func daemonShard(job string, item int) string { return job + "@" + strconv.Itoa(item) }

// of are the runs of a shard, nil before its first launch.
func (d *daemons) of(job string, item int) *daemonRuns { return d.runs[daemonShard(job, item)] }

// rerun is the fire of a shard that is to be run again, zero without one.
func (d *daemons) rerun(job string, item int) time.Time {
	if r := d.of(job, item); r != nil {
		return r.Rerun
	}
	return time.Time{}
}

// restore takes in a record that is stored, and has its job be looked at: it may be no daemon any more.
func (d *daemons) restore(key string, runs *daemonRuns) {
	job, text, _ := strings.Cut(key, "@")
	item, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	d.runs[key] = runs
	d.items[job] = max(d.items[job], item+1)
	d.look(job)
}

// change lets fn change the runs of a shard.
func (d *daemons) change(job string, item int, fn func(*daemonRuns)) {
	key := daemonShard(job, item)
	if d.runs[key] == nil {
		d.runs[key] = &daemonRuns{}
		d.items[job] = max(d.items[job], item+1)
	}
	fn(d.runs[key])
	d.changed.Add(key)
}

// forgetFrom forgets the runs of a job's shards from an item on: it has no more, or is no daemon.
func (d *daemons) forgetFrom(job string, item int) {
	for i := item; i < d.items[job]; i++ {
		if key := daemonShard(job, i); d.runs[key] != nil {
			delete(d.runs, key)
			d.changed.Add(key)
		}
	}
	if d.items[job] = min(d.items[job], item); item == 0 {
		delete(d.items, job)
	}
}

// tendDaemons sees to it that each daemon job that has changed has one standing execution with the settings of now.
func (c *Core) tendDaemons() {
	for c.daemons.due.Len() > 0 { // an execution that ends here has its job be looked at once more: for the next one
		for _, name := range c.daemons.due.Take() {
			if j := c.config.Job(name); j != nil {
				c.tendDaemon(j)
			} else {
				c.daemons.forgetFrom(name, 0)
			}
		}
	}
}

func (c *Core) tendDaemon(j *config.Job) {
	e := c.executions.Standing(j.Name())
	switch {
	case j.Config() == nil:
		if !c.config.IsFaulty(j) {
			c.daemons.forgetFrom(j.Name(), 0)
		}
		return
	case e != nil && e.Launched() && c.config.Paused(j):
		c.executions.DrainShards(e, reason.Of(reason.Paused))
		return
	case e != nil && e.Launched() && c.config.Inactive(j) == config.ShutDown:
		c.executions.Drain(e, c.config.EndReason(j))
		return
	case c.config.Inactive(j) != config.Active:
		return // applyJobState has ended what there was
	case !j.IsDaemon():
		if e != nil {
			c.executions.Kill(e, reason.Of(reason.NoDaemonAnyMore))
		}
		c.daemons.forgetFrom(j.Name(), 0)
		return
	}
	for _, w := range slices.Clone(c.executions.Queue(j.Name())) {
		if !w.Launched() && !w.Daemon() {
			c.executions.Kill(w, reason.Of(reason.BecameDaemon))
		}
	}
	switch {
	case c.Draining(), e != nil && !e.Kill().IsZero():
	case e == nil:
		c.executions.Enqueue(executions.Made{ID: executions.ID(j.Name(), c.Wall()) + "-" + c.UUID()[:8], Job: j.Name(), Fire: c.Wall().Truncate(time.Millisecond), Source: executions.DaemonSource})
	case e.Launched() && c.Opt.Held != "": // what is killed would get no successor
	case e.Launched():
		c.rollOut(j, e)
	}
}

// healthyAfter is how long a daemon's shard must have been running with new settings before the next one is replaced.
const healthyAfter = 10 * time.Second

// rollOut brings the settings of now to the shards of a standing execution, one at a time (rule X8): the next one is killed when the
// last one has been running well for a while. One that does not come up stops it. Another number of shards would have two divisions
// of the work at once: then all shards are ended first.
func (c *Core) rollOut(j *config.Job, e *executions.Execution) {
	if n := j.Config().ShardingTotalCount; n != e.NumShards() {
		c.executions.Kill(e, reason.ShardingTotalCountChanged(e.NumShards(), n))
		return
	}
	c.daemons.forgetFrom(j.Name(), e.NumShards()) // it may have had more
	c.executions.TakeSettings(e, executions.Settings{App: *c.config.App(j.Config().AppName).Config(), Job: j.Config().WithoutNotifications()})
	for i := range e.NumShards() {
		s := e.Shard(i)
		if !s.Replacing() {
			continue
		}
		switch until := s.RunningSince().Add(healthyAfter); {
		case s.State() != executions.Running || !s.KillSince().IsZero():
			return
		case c.isOutdated(e, s): // its settings have changed again: it is the next to be replaced
		case until.After(c.Now()):
			c.daemons.lookAt(j.Name(), until)
			return
		}
		c.executions.Replaced(e.Ref(i))
	}
	for ; len(e.Outdated()) > 0; c.executions.UpToDate(e) {
		i := e.Outdated()[0]
		s := e.Shard(i)
		if !s.Live() || !c.isOutdated(e, s) {
			continue // what waits takes the settings of now
		}
		if s.KillSince().IsZero() {
			if other, until := c.comingUp(e); other >= 0 {
				if !until.IsZero() {
					c.daemons.lookAt(j.Name(), until)
				}
				return
			}
			c.executions.WantKill(e.Ref(i), executions.WantedKill{Why: reason.Of(reason.SettingsChanged), Replace: true})
		}
		return
	}
}

// comingUp is the first shard that takes the settings of now because it has ended by itself, and does not run well yet, and until when
// to wait for it; -1 without one. The zero time is for until something is heard of it. One that has waited to be placed for a while is
// not waited for: it may be the change that makes room for it.
func (c *Core) comingUp(e *executions.Execution) (item int, until time.Time) {
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
		if (until.IsZero() || until.After(c.Now())) && (!s.Live() || !c.isOutdated(e, s)) {
			return i, until
		}
	}
	return -1, time.Time{}
}

// isOutdated reports whether a live shard runs with other settings than it would be launched with now, or on an executor that takes no
// more tasks.
func (c *Core) isOutdated(e *executions.Execution, s *executions.Shard) bool {
	x := c.executors.Get(s.Executor())
	return s.Settings() != c.tasks.Fingerprint(e, s.Item()) || x != nil && x.IsClosing()
}

// drainGrace is the grace of a kill that lets the run under way of a daemon's shard come to its end: a run that takes longer is cut off.
const drainGrace = 7 * 24 * time.Hour

package core

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// minutes are what this leader has done, minute by minute. They are kept for a server without a history, or whose history does not answer.
type minutes struct {
	kept []search.Activity // the oldest first
	last totals            // at the end of the last one
}

// totals are what is counted since the term began.
type totals struct {
	finished, failed, launched int64
	fireDelay                  stats.Histogram
}

const (
	// gaugesEvery is how often gauges are recorded.
	gaugesEvery = time.Minute
	// minutesKept is a week.
	minutesKept = 7 * 24 * 60
)

// sampleLater has gauges be sampled at the next full minute.
func (c *Core) sampleLater() {
	next := c.Wall().Truncate(gaugesEvery).Add(gaugesEvery)
	c.Timers.At(c.InTerm(next), func(time.Time) {
		c.sample(c.Wall().Truncate(gaugesEvery))
		c.sampleLater()
	})
}

// sample takes what runs and waits at a full minute, and what was done in the one before.
func (c *Core) sample(at time.Time) {
	var tasks, registered, waiting int64
	running := map[string]bool{}
	for _, ref := range c.executions.AllTasks() {
		if ref.Shard().Live() {
			tasks++
			running[ref.Exec.Job()] = true
		}
	}
	for _, j := range c.config.AllJobs() {
		if j.Config() != nil {
			registered++
		}
	}
	for e := range c.executions.AllOpen() {
		if e.Launched() {
			waiting += int64(e.ShardsOpen()) // with those that run
		} else if j := c.config.Job(e.Job()); j != nil && j.Config() != nil {
			waiting += int64(j.Config().ShardingTotalCount)
		}
	}
	s, last := &c.Numbers, &c.minutes.last
	now := totals{s.TasksFinished + s.DaemonRuns - s.DaemonRunsFailed, s.TasksFailed + s.TasksTimedOut + s.TasksKilled + s.TasksLost + s.TasksRequeued + s.DaemonRunsFailed, s.TasksLaunched, s.FireDelay}
	delays := now.fireDelay.Since(&last.fireDelay)
	m := search.Activity{Time: at.Add(-gaugesEvery), Results: true, Sampled: true, Loaded: true, Running: tasks, Waiting: waiting - tasks, Fires: delays.Count(),
		Finished: now.finished - last.finished, Failed: now.failed - last.failed, Launched: now.launched - last.launched,
		DelayP50: delays.Quantile(0.5), DelayP95: delays.Quantile(0.95)}
	*last = now
	c.minutes.kept = append(c.minutes.kept, m)
	if surplus := len(c.minutes.kept) - minutesKept; surplus >= minutesKept/8 { // moved seldom
		c.minutes.kept = slices.Delete(c.minutes.kept, 0, surplus)
	}
	if !c.recording.on() {
		return
	}
	rows := &c.recording.rows
	rows.Samples = append(rows.Samples, event.Sample{Of: event.TasksRunning, Value: tasks, Time: at},
		event.Sample{Of: event.JobsRunning, Value: int64(len(running)), Time: at}, event.Sample{Of: event.JobsRegistered, Value: registered, Time: at})
	rows.Loads = append(rows.Loads, event.Load{Time: m.Time, Launched: m.Launched, Waiting: m.Waiting, Fires: m.Fires, DelayP50: m.DelayP50, DelayP95: m.DelayP95})
}

// Activity is what this leader has done in each minute that began at a moment or later, as far as that is kept, the oldest first.
func (c *Core) Activity(from time.Time) []search.Activity {
	var out []search.Activity
	for i := range c.minutes.kept {
		if m := &c.minutes.kept[i]; !m.Time.Before(from) {
			out = append(out, *m)
		}
	}
	return out
}

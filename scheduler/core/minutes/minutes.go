// Package minutes keeps, for each minute of this leader term, the number of launches and ends, and the numbers of
// running and waiting shards at the end of the minute. A Minutes owns that list, and only its timer at every full
// minute adds to it. The list is for servers without a history, or whose history does not answer. It is not stored:
// the next term begins with an empty one.
package minutes

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Minutes holds the activity of the last MaxMinutes minutes of this term, the oldest first. The counts of a minute are
// the differences between the totals of the term and those at the end of the minute before it (last).
type Minutes struct {
	st *state.State
	// record is called with each minute's samples, for the history.
	record func([]event.Sample, event.Load)
	kept   []search.Activity // the oldest first
	last   totals            // at the end of the last one
}

// totals are counted since the term began.
type totals struct {
	finished, failed, launched int64
	fireDelay                  stats.Histogram
}

const (
	// gaugesInterval is the interval at which gauges are recorded.
	gaugesInterval = time.Minute
	// MaxMinutes is the number of minutes that are kept: a week. At most an eighth more are held before old ones
	// are dropped.
	MaxMinutes = 7 * 24 * 60
)

// New returns a Minutes without any minute. record is called with the gauges and the load of each full minute, so that
// they are recorded in the history as well.
func New(s *state.State, record func([]event.Sample, event.Load)) *Minutes {
	return &Minutes{st: s, record: record}
}

// SampleLater schedules a sample for the next full minute of the wall clock, and from then on for every minute. It
// is called once, when the term has loaded its state.
func (ms *Minutes) SampleLater() {
	next := ms.st.Wall().Truncate(gaugesInterval).Add(gaugesInterval)
	ms.st.Timers.At(ms.st.InTerm(next), func(time.Time) {
		ms.Sample(ms.st.Wall().Truncate(gaugesInterval))
		ms.SampleLater()
	})
}

// Sample records the numbers of running and waiting shards at a full minute, and the launches and ends of the minute
// before it.
func (ms *Minutes) Sample(at time.Time) {
	var tasks, registered, waiting int64
	running := map[string]bool{}
	for _, ref := range ms.st.Executions.AllTasks() {
		if ref.Shard().Live() {
			tasks++
			running[ref.Exec.Job()] = true
		}
	}
	for _, j := range ms.st.Config.AllJobs() {
		if j.Config() != nil {
			registered++
		}
	}
	for e := range ms.st.Executions.AllOpen() {
		if e.Launched() {
			waiting += int64(e.ShardsOpen()) // running ones are subtracted below
		} else if j := ms.st.Config.Job(e.Job()); j != nil && j.Config() != nil {
			waiting += int64(j.Config().ShardingTotalCount)
		}
	}
	s, last := &ms.st.Numbers, &ms.last
	now := totals{s.TasksFinished + s.DaemonRuns - s.DaemonRunsFailed,
		s.TasksFailed + s.TasksTimedOut + s.TasksKilled + s.TasksLost + s.TasksRequeued + s.DaemonRunsFailed,
		s.TasksLaunched, s.FireDelay}
	delays := now.fireDelay.Since(&last.fireDelay)
	m := search.Activity{Time: at.Add(-gaugesInterval), Results: true, Sampled: true, Loaded: true, Running: tasks,
		Waiting: waiting - tasks, Fires: delays.Count(),
		Finished: now.finished - last.finished, Failed: now.failed - last.failed,
		Launched: now.launched - last.launched,
		DelayP50: delays.Quantile(0.5), DelayP95: delays.Quantile(0.95)}
	*last = now
	ms.kept = append(ms.kept, m)
	if surplus := len(ms.kept) - MaxMinutes; surplus >= MaxMinutes/8 { // so that the list is rarely copied
		ms.kept = slices.Delete(ms.kept, 0, surplus)
	}
	ms.record([]event.Sample{{Of: event.TasksRunning, Value: tasks, Time: at},
		{Of: event.JobsRunning, Value: int64(len(running)), Time: at},
		{Of: event.JobsRegistered, Value: registered, Time: at}},
		event.Load{Time: m.Time, Launched: m.Launched, Waiting: m.Waiting, Fires: m.Fires, DelayP50: m.DelayP50,
			DelayP95: m.DelayP95})
}

// Activity returns a copy of the kept minutes that began at from or later, the oldest first.
func (ms *Minutes) Activity(from time.Time) []search.Activity {
	var out []search.Activity
	for i := range ms.kept {
		if m := &ms.kept[i]; !m.Time.Before(from) {
			out = append(out, *m)
		}
	}
	return out
}

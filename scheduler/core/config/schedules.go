package config

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// ScheduleView is a schedule by which jobs fire now, with the number of these jobs and of their shards. The Schedule
// never changes, so it may be used concurrently with steps of the core.
type ScheduleView struct {
	Schedule *cron.Schedule
	// Cron and TimeZone are the schedule as the documents of the jobs have it.
	Cron, TimeZone string
	Jobs, Shards   int
}

// schedules counts the jobs that fire, including daemons, by their schedules, because 100,000 jobs may have few of
// them. These hold between any two calls of its methods:
//
//   - byKey has the group of every job that was set and not removed since; groups has exactly those of byKey, each at
//     its index;
//   - views has, at the same indexes, the numbers of jobs and shards of the groups; each has at least one job.
type schedules struct {
	byKey  map[scheduleKey]*scheduleGroup
	groups []*scheduleGroup
	views  []ScheduleView
}

// scheduleKey is a job's schedule as its document has it.
type scheduleKey struct{ cron, zone string }

// scheduleGroup is a schedule with at least one job, and its index in schedules.groups and schedules.views.
type scheduleGroup struct {
	key   scheduleKey
	index int
}

func newSchedules() schedules { return schedules{byKey: map[scheduleKey]*scheduleGroup{}} }

// set counts a job, which fires, under its present schedule and no longer under a former one.
func (ss *schedules) set(j *Job) {
	key, shards := scheduleKey{j.cfg.Cron, j.cfg.TimeZone}, j.cfg.ShardingTotalCount
	if g := j.counted; g != nil && g.key == key {
		ss.views[g.index].Shards += shards - j.countedShards
		j.countedShards = shards
		return
	}
	ss.remove(j)
	g := ss.byKey[key]
	if g == nil {
		g = &scheduleGroup{key, len(ss.groups)}
		ss.byKey[key] = g
		ss.groups, ss.views = append(ss.groups, g),
			append(ss.views, ScheduleView{Schedule: j.schedule, Cron: key.cron, TimeZone: key.zone})
	}
	ss.views[g.index].Jobs++
	ss.views[g.index].Shards += shards
	j.counted, j.countedShards = g, shards
}

// remove removes the count of a job that does not fire, if it was counted.
func (ss *schedules) remove(j *Job) {
	g := j.counted
	if g == nil {
		return
	}
	j.counted = nil
	v := &ss.views[g.index]
	v.Shards -= j.countedShards
	if v.Jobs--; v.Jobs > 0 {
		return
	}
	delete(ss.byKey, g.key)
	last := len(ss.groups) - 1
	ss.groups[last].index = g.index
	ss.groups[g.index], ss.views[g.index] = ss.groups[last], ss.views[last]
	ss.groups[last], ss.views[last] = nil, ScheduleView{}
	ss.groups, ss.views = ss.groups[:last], ss.views[:last]
}

// BySchedule returns the schedules of all jobs that fire, in no order. The slice belongs to the caller.
func (k *Set) BySchedule() []ScheduleView { return slices.Clone(k.schedules.views) }

package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// contradiction says what in the core contradicts itself, if anything does.
func (s *stage) contradiction() string {
	c := s.core
	sizes := documentSizes{byApp: map[string]int64{}}
	for name, a := range c.config.apps {
		sizes.add(name, a.bytes)
	}
	for _, j := range c.config.jobs {
		if j.cfg != nil {
			sizes.add(j.cfg.AppName, j.bytes)
		}
	}
	if sizes.total != c.config.sizes.total || !maps.Equal(sizes.byApp, c.config.sizes.byApp) {
		return fmt.Sprintf("documents have %+v, counted %+v", sizes, c.config.sizes)
	}
	type acc struct {
		n    int
		used resources.Amount
	}
	on := map[string]*acc{}
	for e := range c.executions.AllOpen() {
		id, waiting := e.ID(), false
		for i := range e.NumShards() {
			sh := e.Shard(i)
			waiting = waiting || sh.State() == executions.Waiting
			if sh.Live() {
				if on[sh.Executor()] == nil {
					on[sh.Executor()] = &acc{}
				}
				on[sh.Executor()].n++
				on[sh.Executor()].used = on[sh.Executor()].used.Plus(e.Settings().Job.Resources())
				if o, blocks := c.orphans.Blocking(e.Job(), sh.Item()); blocks && !o.Alive && !e.Settings().Job.Failover && o.Framework != "" {
					return "live beside a blocking orphan " + sh.TaskID()
				}
			}
		}
		if e.Launched() && waiting && !e.Launchable() {
			return "waits and is not launchable " + id
		}
		j := c.config.jobs[e.Job()]
		if j == nil || !slices.Contains(c.executions.Queue(j.name), e) {
			return "not in a queue " + id
		}
		if !e.Launched() && c.executions.Queue(j.name)[0] == e && j.cfg != nil && !e.Launchable() && !c.config.isFaulty(j) {
			return "head is not launchable " + id
		}
	}
	for _, j := range c.config.jobs {
		n := 0
		for _, e := range c.executions.Queue(j.name) {
			if e.Launched() && e.GoesOn() {
				n++
			}
		}
		if n > 1 {
			return "two run of " + j.name
		}
		if j.cfg == nil && len(c.executions.Queue(j.name)) == 0 && !c.config.isFaulty(j) {
			return "a removed job is kept without reason " + j.name
		}
	}
	for id, x := range c.executors.All() {
		a := on[id]
		if a == nil {
			a = &acc{}
		}
		if x.Tasks() != a.n || x.Used() != a.used || x.Pending() < 0 {
			return fmt.Sprintf("executor %s: %d tasks, counted %d; used %v %v; pending %d", id, a.n, x.Tasks(), a.used, x.Used(), x.Pending())
		}
	}
	if why := c.executions.Contradiction(); why != "" {
		return why
	}
	return contradictionOfParts(c)
}

// contradictionOfParts holds the indexes of the smaller parts against what they index.
func contradictionOfParts(c *Core) string {
	for name, j := range c.config.jobs {
		if j.name != name {
			return "a job is misfiled " + name
		}
		if j.cfg != nil && c.config.apps[j.cfg.AppName] != nil && c.config.apps[j.cfg.AppName].jobs[name] != j {
			return "an app lacks its job " + name
		}
	}
	if why := miscounted(c); why != "" {
		return why
	}
	for name, a := range c.config.apps {
		for jobName, j := range a.jobs {
			if c.config.jobs[jobName] != j || j.cfg == nil || j.cfg.AppName != name {
				return "an app has another's job " + jobName
			}
		}
	}
	for source, t := range c.starts.sources {
		if t.source() != source {
			return "a start failure is misfiled " + source
		}
	}
	for name, of := range c.starts.byApp {
		if len(of) == 0 || c.config.apps[name] == nil {
			return "start failures are kept without reason " + name
		}
		for agent, t := range of {
			if (agent == everyAgent) != (t.Host != "") || t.Host != "" && c.starts.sources[t.source()] != t {
				return "a start failure is not indexed " + startKey(name, agent)
			}
		}
	}
	if why := c.agents.Contradiction(); why != "" {
		return why
	}
	return c.executors.Contradiction()
}

// everything is what the core knows that a next leader must know too.
func (s *stage) everything() string {
	out := ""
	c := s.core
	for _, id := range c.executions.OpenIDs() {
		out += string(c.executions.Get(id).Stored()) + "\n"
	}
	for e := range c.executions.AllEnded() {
		out += "ended " + string(e.Stored()) + "\n"
	}
	for _, o := range c.orphans.All() {
		out += string(store.Encode(o)) + "\n"
	}
	for _, id := range c.executors.IDs() {
		out += string(c.executors.Get(id).Stored()) + "\n"
	}
	for _, id := range step.SortedKeys(c.config.jobs) {
		j := c.config.jobs[id]
		out += fmt.Sprintln(id, j.isStored, j.since, j.mark, j.stored.Paused, j.cfg != nil, j.schedule != nil)
	}
	out += fmt.Sprintln(c.fires.cursor, c.executors.Counter(), c.subscription.frameworkID, c.executions.KeyIDs())
	for _, id := range step.SortedKeys(c.config.apps) {
		out += fmt.Sprintln(id, c.config.apps[id].executorKey, c.config.apps[id].disabled)
	}
	return out
}

// miscounted says which schedule has other jobs than those that fire by it.
func miscounted(c *Core) string {
	jobs, shards := map[scheduleKey]int{}, map[scheduleKey]int{}
	for _, j := range c.config.jobs {
		if fires := j.schedule != nil && !c.config.isFaulty(j) && c.config.inactive(j) == active; fires != (j.counted != nil) {
			return fmt.Sprintf("job %s fires: %v, and is counted: %v", j.name, fires, j.counted != nil)
		} else if fires {
			key := scheduleKey{j.cfg.Cron, j.cfg.TimeZone}
			jobs[key]++
			shards[key] += j.cfg.ShardingTotalCount
		}
	}
	if len(jobs) != len(c.schedules.views) || len(jobs) != len(c.schedules.groups) || len(jobs) != len(c.schedules.byKey) {
		return fmt.Sprintf("%d schedules, counted %d", len(jobs), len(c.schedules.views))
	}
	for key, n := range jobs {
		g := c.schedules.byKey[key]
		if g == nil || c.schedules.groups[g.place] != g || c.schedules.views[g.place].Jobs != n || c.schedules.views[g.place].Shards != shards[key] {
			return fmt.Sprintf("schedule %v has %d jobs with %d shards and is counted otherwise", key, n, shards[key])
		}
	}
	return ""
}

package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/resources"
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
	for id, e := range c.executions.open {
		if e.ID != id || e.Ended > 0 {
			return "execution " + id + " ended or misfiled"
		}
		open := 0
		waiting := false
		for i := range e.Shards {
			sh := &e.Shards[i]
			if !sh.State.terminal() {
				open++
			}
			waiting = waiting || sh.State == Waiting
			if sh.live() {
				if r, ok := c.executions.tasks[sh.TaskID]; !ok || r.exec != e || r.index != i {
					return "live task not indexed " + sh.TaskID
				}
				if on[sh.Executor] == nil {
					on[sh.Executor] = &acc{}
				}
				on[sh.Executor].n++
				on[sh.Executor].used = on[sh.Executor].used.Plus(e.Settings.Job.Resources())
				if o, blocks := c.orphans.Blocking(e.Job, sh.Item); blocks && !o.Alive && !e.Settings.Job.Failover && o.Framework != "" {
					return "live beside a blocking orphan " + sh.TaskID
				}
			}
		}
		if e.launched() && open != e.shardsOpen {
			return fmt.Sprintf("%s: open %d, counted %d", id, open, e.shardsOpen)
		}
		if e.launched() && open == 0 {
			return "all shards ended, execution did not: " + id
		}
		if e.launched() && waiting && !e.launchable {
			return "waits and is not launchable " + id
		}
		j := c.config.jobs[e.Job]
		if j == nil || !slices.Contains(c.executions.queue(j.name), e) {
			return "not in a queue " + id
		}
		if !e.launched() && c.executions.queue(j.name)[0] == e && j.cfg != nil && !e.launchable && !c.config.isFaulty(j) {
			return "head is not launchable " + id
		}
	}
	for _, j := range c.config.jobs {
		n := 0
		for _, e := range c.executions.queue(j.name) {
			if c.executions.open[e.ID] != e {
				return "queue holds an ended execution " + e.ID
			}
			if e.launched() && e.goesOn() {
				n++
			}
		}
		if n > 1 {
			return "two run of " + j.name
		}
		if j.cfg == nil && len(c.executions.queue(j.name)) == 0 && !c.config.isFaulty(j) {
			return "a removed job is kept without reason " + j.name
		}
	}
	for id, r := range c.executions.tasks {
		if r.shard().TaskID != id || c.executions.open[r.exec.ID] != r.exec {
			return "task misfiled " + id
		}
		if c.executions.onAgent[r.shard().Agent][id] != r {
			return "task not indexed by its agent " + id
		}
	}
	indexed := 0
	for agent, of := range c.executions.onAgent {
		if indexed += len(of); len(of) == 0 {
			return "an agent without tasks is indexed " + agent
		}
	}
	if indexed != len(c.executions.tasks) {
		return fmt.Sprintf("%d tasks by agents, %d in all", indexed, len(c.executions.tasks))
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
	for _, e := range c.executions.launchable {
		if !e.launchable || c.executions.open[e.ID] != e {
			return "launchable and ended " + e.ID
		}
	}
	if !slices.IsSortedFunc(c.executions.launchable, func(a, b *execution) int { return compareLaunchKeys(a.launchKey, b.launchKey) }) {
		return "launchable out of order"
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
	for _, id := range step.SortedKeys(c.executions.open) {
		e := *c.executions.open[id]
		sh := e.Shards
		e.Shards = nil
		out += string(store.Encode(&e)) + string(store.Encode(sh)) + "\n"
	}
	for _, id := range step.SortedKeys(c.executions.ended.byID) {
		e := *c.executions.ended.byID[id]
		sh := e.Shards
		e.Shards = nil
		out += "ended " + string(store.Encode(&e)) + string(store.Encode(sh)) + "\n"
	}
	for _, o := range c.orphans.All() {
		out += string(store.Encode(o)) + "\n"
	}
	for _, id := range c.executors.IDs() {
		out += string(store.Encode(c.executors.Get(id))) + "\n"
	}
	for _, id := range step.SortedKeys(c.config.jobs) {
		j := c.config.jobs[id]
		out += fmt.Sprintln(id, j.isStored, j.since, j.mark, j.stored.Paused, j.cfg != nil, j.schedule != nil)
	}
	out += fmt.Sprintln(c.fires.cursor, c.executors.Counter(), c.subscription.frameworkID, c.executions.keys)
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

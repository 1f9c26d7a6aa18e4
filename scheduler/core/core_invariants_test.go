package core

import (
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// contradiction describes an invariant of the core that does not hold, or returns "" if all hold.
func (s *stage) contradiction() string {
	c := s.core
	if why := c.config.Contradiction(); why != "" {
		return why
	}
	type usage struct {
		tasks int
		used  resources.Amount
	}
	byExecutor := map[string]*usage{}
	for e := range c.executions.AllOpen() {
		id, waiting := e.ID(), false
		for i := range e.NumShards() {
			sh := e.Shard(i)
			waiting = waiting || sh.State() == executions.Waiting
			if sh.Live() {
				u := byExecutor[sh.Executor()]
				if u == nil {
					u = &usage{}
					byExecutor[sh.Executor()] = u
				}
				u.tasks++
				u.used = u.used.Plus(e.Settings().Job.Resources())
				if o, blocks := c.orphans.Blocking(e.Job(), sh.Item()); blocks && !o.Until.IsZero() {
					return "a task is live although an orphan blocks its shard: " + sh.TaskID()
				}
			}
		}
		if e.Launched() && waiting && !e.Launchable() {
			return "an execution has waiting shards, but is not launchable: " + id
		}
		j := c.config.Job(e.Job())
		if j == nil || !slices.Contains(c.executions.Queue(j.Name()), e) {
			return "an open execution is in no queue: " + id
		}
		isNext := !e.Launched() && c.executions.Queue(j.Name())[0] == e
		if isNext && j.Config() != nil && !c.config.IsFaulty(j) && !e.Launchable() {
			return "an execution is the first in its queue, but not launchable: " + id
		}
	}
	for _, j := range c.config.AllJobs() {
		running := 0
		for _, e := range c.executions.Queue(j.Name()) {
			if e.Launched() && e.GoesOn() {
				running++
			}
		}
		if running > 1 {
			return "more than one execution is running of job " + j.Name()
		}
		if j.Config() == nil && len(c.executions.Queue(j.Name())) == 0 && !c.config.IsFaulty(j) {
			return "a removed job is kept without reason: " + j.Name()
		}
	}
	for id, x := range c.executors.All() {
		u := byExecutor[id]
		if u == nil {
			u = &usage{}
		}
		if x.Tasks() != u.tasks || x.Used() != u.used || x.Pending() < 0 {
			return fmt.Sprintf("executor %s has %d tasks, counted as %d, uses %v, counted as %v, and has %d pending", id, u.tasks,
				x.Tasks(), u.used, x.Used(), x.Pending())
		}
	}
	if why := c.executions.Contradiction(); why != "" {
		return why
	}
	return contradictionOfParts(c)
}

// contradictionOfParts is like contradiction, for the start failures, agents and executors of the core.
func contradictionOfParts(c *Core) string {
	if why := c.startFailures.Contradiction(); why != "" {
		return why
	}
	unknown := ""
	c.startFailures.Each(func(app, _ string, _ startfailures.Failure) {
		if c.config.App(app) == nil {
			unknown = "start failures of an unknown app: " + app
		}
	})
	if unknown != "" {
		return unknown
	}
	if why := c.agents.Contradiction(); why != "" {
		return why
	}
	return c.executors.Contradiction()
}

// everything returns, as text, the state that the next leader must also have.
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
	for _, id := range c.config.JobNames() {
		j := c.config.Job(id)
		out += fmt.Sprintln(id, j.IsStored(), j.Since(), j.Mark(), j.Stored().Paused, j.Config() != nil,
			j.Schedule() != nil)
	}
	out += fmt.Sprintln(c.fires.MadeUpTo(), c.executors.Counter(), c.subscription.FrameworkID(), c.executions.KeyIDs())
	for _, id := range c.config.AppNames() {
		out += fmt.Sprintln(id, c.config.App(id).ExecutorKey(), c.config.App(id).Disabled())
	}
	return out
}

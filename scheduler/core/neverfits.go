package core

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
)

// neverFitsNote says that no agent seen so far can hold one shard, or that all of them together can't hold all its
// shards, which start together (rule L1); or "".
func (c *Core) neverFitsNote(job jobs.Config, a app.Config) string {
	executor := c.executorSize(&a)
	need := job.Resources().Plus(executor)
	var most resources.Amount
	seen, room := false, 0
	for _, ag := range c.agents.byID {
		if ag.capacity.IsZero() || ag.isAway() {
			continue
		}
		seen = true
		most = most.Max(ag.capacity)
		if need.Fits(ag.capacity) {
			room += ag.capacity.Minus(executor).Holds(job.Resources(), job.ShardingTotalCount)
		}
		if room >= job.ShardingTotalCount {
			return ""
		}
	}
	switch {
	case !seen:
		return ""
	case room > 0:
		return fmt.Sprintf("all agents seen so far have room for %d of its %d shards at once if nothing else runs; its shards start together, so that it waits until there are more agents, or it has fewer shards or smaller ones",
			room, job.ShardingTotalCount)
	}
	with := ""
	if !executor.IsZero() {
		with = " with its executor"
	}
	return fmt.Sprintf("no agent seen so far can hold one shard: it needs %s%s, the largest amounts seen are %s", need, with, most)
}

// taskExecutorMB is the memory with which an executor in a container of its own starts. It is within the limit of the shard that it runs.
const taskExecutorMB = 16

// tooSmallNote says that a shard has not even the memory that its own executor needs, or "".
func (c *Core) tooSmallNote(job jobs.Config) string {
	if !c.opt.TaskExecutors || job.MemoryMB >= taskExecutorMB {
		return ""
	}
	return fmt.Sprintf("memoryMB is %g, and the executor that starts each shard needs %d of that before the job's own program takes any: its shards can't start; give it %d or more",
		job.MemoryMB, taskExecutorMB, 2*taskExecutorMB)
}

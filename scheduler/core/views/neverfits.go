package views

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// neverFitsNote returns the note that no agent seen so far can hold one shard, or that all of them together cannot
// hold all its shards, which start together (rule L1); the zero Reason otherwise.
func (vs *Views) neverFitsNote(job jobs.Config, a app.Config) reason.Reason {
	executor := vs.st.ExecutorSize(&a)
	need := job.Resources().Plus(executor)
	var largest resources.Amount
	seen, room := false, 0
	for _, ag := range vs.st.Agents.All() {
		if ag.Capacity().IsZero() || ag.RemovedForGood() {
			continue
		}
		seen = true
		largest = largest.Max(ag.Capacity())
		if need.Fits(ag.Capacity()) {
			room += ag.Capacity().Minus(executor).Holds(job.Resources(), job.ShardingTotalCount)
		}
		if room >= job.ShardingTotalCount {
			return reason.Reason{}
		}
	}
	switch {
	case !seen:
		return reason.Reason{}
	case room > 0:
		return reason.TooFewAgents(room, job.ShardingTotalCount)
	}
	return reason.AgentsTooSmall(need.String(), !executor.IsZero(), largest.String())
}

// taskExecutorMB is the memory with which an executor in a container of its own starts. taskSupervisorMB is the memory
// of the supervisor that it has beside an exclusive task. Both count against the limit of the shard.
const taskExecutorMB, taskSupervisorMB = 16, 4

// tooSmallNote returns the note that a shard's memory is less than its own executor needs; the zero Reason otherwise.
func (vs *Views) tooSmallNote(job jobs.Config) reason.Reason {
	need := taskExecutorMB
	if job.Exclusive {
		need += taskSupervisorMB
	}
	if !vs.st.Opt.TaskExecutors || job.MemoryMB >= float64(need) {
		return reason.Reason{}
	}
	return reason.MemoryTooSmall(fmt.Sprint(job.MemoryMB), need, 2*need)
}

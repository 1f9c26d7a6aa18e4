package executions

import (
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Contradiction describes an invariant of Set that does not hold, "" if all hold. Tests call it after each step.
func (es *Set) Contradiction() string {
	queued := 0
	for job, queue := range es.queues {
		queued += len(queue)
		for _, e := range queue {
			if e.rec.Job != job || es.open[e.rec.ID] != e {
				return "queue holds an ended execution " + e.rec.ID
			}
		}
	}
	if queued != len(es.open) {
		return fmt.Sprintf("%d executions are in queues, %d are open", queued, len(es.open))
	}
	for id, e := range es.open {
		if e.rec.ID != id || e.rec.EndNumber > 0 {
			return "execution " + id + " ended or misfiled"
		}
		open := 0
		for i := range e.shards {
			s := &e.shards[i]
			if !s.rec.State.Terminal() {
				open++
			}
			if r, ok := es.tasks[s.rec.TaskID]; s.Live() && (!ok || r.Exec != e || r.index != i) {
				return "live task not indexed " + s.rec.TaskID
			}
		}
		if e.Launched() && open != e.shardsOpen {
			return fmt.Sprintf("%s: open %d, counted %d", id, open, e.shardsOpen)
		}
		if e.Launched() && open == 0 {
			return "all shards ended, execution did not: " + id
		}
	}
	for id, r := range es.tasks {
		if r.Shard().rec.TaskID != id || es.open[r.Exec.rec.ID] != r.Exec {
			return "task misfiled " + id
		}
		if es.onAgent[r.Shard().rec.Agent][id] != r {
			return "task not indexed by its agent " + id
		}
	}
	indexed := 0
	for agent, of := range es.onAgent {
		if indexed += len(of); len(of) == 0 {
			return "an agent without tasks is indexed " + agent
		}
	}
	if indexed != len(es.tasks) {
		return fmt.Sprintf("%d tasks by agents, %d in all", indexed, len(es.tasks))
	}
	for _, e := range es.launchable {
		if !e.launchable || es.open[e.rec.ID] != e {
			return "launchable and ended " + e.rec.ID
		}
	}
	if !slices.IsSortedFunc(es.launchable,
		func(a, b *Execution) int { return compareLaunchKeys(a.launchKey, b.launchKey) }) {
		return "launchable out of order"
	}
	return ""
}

// Stored encodes the execution with all its shards as it is stored. Tests use it to compare what two leaders know.
func (e *Execution) Stored() []byte {
	return append(store.Encode(&e.rec), appendShards(nil, e.shards)...)
}

// KeyIDs lists the ids of the executions with a remembered Idempotency-Key, sorted.
func (es *Set) KeyIDs() []string { return step.SortedKeys(es.keys) }

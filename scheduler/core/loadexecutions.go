package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// loading is what was read of executions, until join puts it together.
type loading struct {
	executions []*execution
	chunks     map[string][]shard
}

// restore takes in an execution that is stored.
func (es *executions) restore(value []byte) error {
	var e execution
	if err := json.Unmarshal(value, &e); err != nil {
		return err
	}
	es.loading.executions = append(es.loading.executions, &e)
	return nil
}

// restoreShards takes in shards that are stored beside their execution, at a path.
func (es *executions) restoreShards(path string, value []byte) error {
	var part []shard
	if err := json.Unmarshal(value, &part); err != nil {
		return err
	}
	if es.loading.chunks == nil {
		es.loading.chunks = map[string][]shard{}
	}
	es.loading.chunks[path] = part
	return nil
}

// restoreKey takes in a remembered Idempotency-Key.
func (es *executions) restoreKey(id string, value []byte) error {
	var at time.Time
	if err := json.Unmarshal(value, &at); err != nil {
		return err
	}
	es.Clamp(0, &at)
	es.keys[id] = at
	return nil
}

// join puts together what was restored, and returns the executions that have ended, in the order of their ends.
func (es *executions) join() (ended []*execution, err error) {
	read := es.loading
	es.loading = loading{}
	for _, e := range read.executions {
		e.stored, e.storedChunks = true, e.Chunks
		for i := range e.Chunks {
			path := store.ChunkPath(e.ID, i)
			part, ok := read.chunks[path]
			if !ok {
				return nil, fmt.Errorf("read execution %s: its part %s is missing; the scheduler's state is damaged: restore the registry from a copy", e.ID, path)
			}
			e.Shards = append(e.Shards, part...)
		}
		e.Chunks, e.endedAt = 0, e.EndedAt
		es.Clamp(0, &e.Made, &e.endedAt)
		for i := range e.Shards {
			s := &e.Shards[i]
			s.runningSince = es.Now()
			es.Clamp(0, &s.Launched, &s.Unreachable, &s.EndUnclear, &s.KillSince, &s.WaitSince, &s.RunningAt)
			es.Clamp(es.longestDelay(e), &s.NotBefore)
			if !s.State.terminal() {
				e.shardsOpen++
			}
		}
		if e.Ended > 0 {
			ended = append(ended, e)
			continue
		}
		es.open[e.ID] = e
		es.queues[e.Job] = append(es.queues[e.Job], e)
	}
	slices.SortFunc(ended, func(a, b *execution) int { return int(a.Ended - b.Ended) })
	for _, e := range ended {
		es.ended.seq = e.Ended
		es.ended.add(e)
	}
	for _, id := range step.SortedKeys(es.keys) {
		es.forgetKeyLater(id, es.keys[id])
	}
	return ended, nil
}

// queuesLoaded puts the queues of all jobs in order, once all that waits is in them.
func (es *executions) queuesLoaded() {
	for _, queue := range es.queues {
		slices.SortStableFunc(queue, func(a, b *execution) int {
			if a.launched() != b.launched() {
				if a.launched() {
					return -1
				}
				return 1
			}
			return compareLaunchKeys(launchKey{fire: a.Fire, id: a.ID}, launchKey{fire: b.Fire, id: b.ID})
		})
	}
}

// takeUp indexes a loaded execution's tasks.
func (es *executions) takeUp(e *execution) {
	for i := range e.Shards {
		if s := &e.Shards[i]; s.TaskID != "" && s.State != Waiting {
			es.begin(taskRef{e, i})
		}
	}
}

// setToWork lets the waiting shards of a loaded execution be launched.
func (es *executions) setToWork(e *execution) {
	for i := range e.Shards {
		if s := &e.Shards[i]; s.State == Waiting && s.NotBefore.After(es.Now()) {
			es.waitsUntil(e, s)
		}
	}
	es.liftShutdown(e)
	if e.launched() && e.waiting() > 0 {
		es.addLaunchable(e)
	}
}

// imported opens an execution that waited in the original's queue.
func (es *executions) imported(e *execution) {
	es.add(e)
	es.queues[e.Job] = append(es.queues[e.Job], e)
	es.Note(step.Note{Kind: step.NoteExecutionMade, Job: e.Job, Execution: e.ID, Detail: string(e.Source) + ", which waited in the original's queue"})
}

// importedLost opens an execution of shards that the original has lost: lost has the last task of each by its item. The
// others have come to their end under the original, at a moment.
func (es *executions) importedLost(e *execution, with *settings, lost map[int]string, ended time.Time) {
	e.Settings = with
	e.Shards = make([]shard, with.Job.ShardingTotalCount)
	for i := range e.Shards {
		e.Shards[i] = shard{Item: i, State: Finished, attempt: attempt{Complete: ended}}
		if task, isLost := lost[i]; isLost {
			e.Shards[i] = shard{Item: i, State: Waiting, Type: FailoverSource, Attempt: 1, WaitSince: es.Now(),
				attempt: attempt{TaskID: task, Cause: reason.Of(reason.LostBeforeImport)}}
			e.shardsOpen++
		}
		es.touchShard(e, i)
	}
	es.imported(e)
}

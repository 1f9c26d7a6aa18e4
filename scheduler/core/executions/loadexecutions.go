package executions

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// loading holds the executions that were read, until Join puts their parts together.
type loading struct {
	executions []*Execution
	chunks     map[string][]Shard
}

// Restore adds a stored execution while a term is loaded. It fails if value cannot be decoded.
func (es *Set) Restore(value []byte) error {
	var read struct {
		record
		Shards []shardRecord `json:"shards"`
	}
	if err := json.Unmarshal(value, &read); err != nil {
		return err
	}
	e := &Execution{rec: read.record, shards: shardsOf(read.Shards)}
	es.loading.executions = append(es.loading.executions, e)
	return nil
}

// RestoreShards adds shards that are stored at a path beside their execution. It fails if value cannot be decoded.
func (es *Set) RestoreShards(path string, value []byte) error {
	var part []shardRecord
	if err := json.Unmarshal(value, &part); err != nil {
		return err
	}
	if es.loading.chunks == nil {
		es.loading.chunks = map[string][]Shard{}
	}
	es.loading.chunks[path] = shardsOf(part)
	return nil
}

func shardsOf(records []shardRecord) []Shard {
	shards := make([]Shard, len(records))
	for i := range records {
		shards[i].rec = records[i]
	}
	return shards
}

// RestoreKey adds a remembered Idempotency-Key while a term is loaded. A key that seems to be too old is remembered
// for another 24 hours: the wall clock may be wrong, and if the key were forgotten, a repeated trigger would run
// twice.
func (es *Set) RestoreKey(id string, value []byte) error {
	var at time.Time
	if err := json.Unmarshal(value, &at); err != nil {
		return err
	}
	es.shared.Clamp(0, &at)
	if now := es.shared.Now(); now.Sub(at) > keyRetention {
		at = now
		es.changedKeys.Add(id)
	}
	es.keys[id] = at
	return nil
}

// Join puts the restored parts together, and returns the ended executions, in the order of their ends. It fails if
// shards of an execution are missing. It is called once, after everything was restored.
func (es *Set) Join() (ended []*Execution, err error) {
	read := es.loading
	es.loading = loading{}
	for _, e := range read.executions {
		e.stored, e.storedChunks = true, e.rec.Chunks
		for i := range e.rec.Chunks {
			path := store.ChunkPath(e.rec.ID, i)
			part, ok := read.chunks[path]
			if !ok {
				return nil, fmt.Errorf("read execution %s: its part %s is missing; the scheduler's state is damaged: restore the registry from a backup", e.rec.ID, path)
			}
			e.shards = append(e.shards, part...)
		}
		e.rec.Chunks, e.endedAt = 0, e.rec.EndedAt
		es.shared.Clamp(0, &e.rec.CreatedAt, &e.endedAt)
		for i := range e.shards {
			s := &e.shards[i]
			s.rec.runningSince = es.shared.Now()
			es.shared.Clamp(0, &s.rec.Launched, &s.rec.Unreachable, &s.rec.EndUnclear, &s.rec.KillSince,
				&s.rec.WaitSince, &s.rec.RunningAt)
			es.shared.Clamp(es.longestDelay(e), &s.rec.NotBefore)
			if g := s.rec.GivenUp; g != nil {
				es.shared.Clamp(0, &g.Launched, &g.Unreachable, &g.EndUnclear, &g.RunningAt)
			}
			if s.rec.Silent && !s.rec.Away {
				s.rec.Silent, s.rec.Unreachable = false, time.Time{} // this leader has to judge the silence itself
			}
			if !s.rec.State.Terminal() {
				e.shardsOpen++
			}
		}
		if e.rec.EndNumber > 0 {
			ended = append(ended, e)
			continue
		}
		es.ended.seq = max(es.ended.seq, e.rec.LastEndNumber)
		es.open[e.rec.ID] = e
		es.queues[e.rec.Job] = append(es.queues[e.rec.Job], e)
	}
	slices.SortFunc(ended, func(a, b *Execution) int { return int(a.rec.EndNumber - b.rec.EndNumber) })
	for _, e := range ended {
		es.ended.seq = max(es.ended.seq, e.rec.EndNumber)
		es.ended.add(e)
	}
	for _, id := range step.SortedKeys(es.keys) {
		es.forgetKeyLater(id, es.keys[id])
	}
	return ended, nil
}

// SortQueues sorts the queues of all jobs. It is called once all loaded or imported executions are in them.
func (es *Set) SortQueues() {
	for _, queue := range es.queues {
		slices.SortStableFunc(queue, func(a, b *Execution) int {
			if a.Launched() != b.Launched() {
				if a.Launched() {
					return -1
				}
				return 1
			}
			return compareLaunchKeys(LaunchKey{fire: a.rec.Fire, id: a.rec.ID},
				LaunchKey{fire: b.rec.Fire, id: b.rec.ID})
		})
	}
}

// IndexTasks indexes the tasks of a loaded execution that is open.
func (es *Set) IndexTasks(e *Execution) {
	for i := range e.shards {
		if s := &e.shards[i]; s.rec.TaskID != "" && s.rec.State != Waiting {
			es.indexTask(TaskRef{e, i})
		}
	}
}

// Resume makes a loaded execution launchable if shards of it wait, and schedules the ends of their backoffs.
func (es *Set) Resume(e *Execution) {
	for i := range e.shards {
		if s := &e.shards[i]; s.rec.State == Waiting && s.rec.NotBefore.After(es.shared.Now()) {
			es.scheduleRetry(e, s)
		}
	}
	es.liftShutdown(e)
	if e.Launched() && e.Waiting() > 0 {
		es.AddLaunchable(e)
	}
}

// Import opens an execution that waited in the queue of the original. SortQueues must follow.
func (es *Set) Import(m NewExecution) { es.openImported(es.create(m)) }

func (es *Set) openImported(e *Execution) {
	es.add(e)
	es.queues[e.rec.Job] = append(es.queues[e.rec.Job], e)
	es.shared.Note(step.Note{Kind: step.NoteExecutionCreated, Job: e.rec.Job, Execution: e.rec.ID,
		Detail: string(e.rec.Source) + ", which waited in the original's queue"})
}

// ImportLost opens an execution for shards that the original has lost: lost has the last task of each by its item.
// The other shards finished under the original, at the time ended. SortQueues must follow.
func (es *Set) ImportLost(m NewExecution, with *Settings, lost map[int]string, ended time.Time) {
	e := es.create(m)
	e.rec.Settings = with
	e.shards = make([]Shard, with.Job.ShardingTotalCount)
	for i := range e.shards {
		e.shards[i] = Shard{rec: shardRecord{Item: i, State: Finished, attempt: attempt{Complete: ended}}}
		if task, isLost := lost[i]; isLost {
			e.shards[i] = Shard{rec: shardRecord{Item: i, State: Waiting, Type: FailoverSource, Attempt: 1,
				WaitSince: es.shared.Now(),
				attempt:   attempt{TaskID: task, Cause: reason.Of(reason.LostBeforeImport)}}}
			e.shardsOpen++
		}
		es.markShardChanged(e, i)
	}
	es.openImported(e)
}

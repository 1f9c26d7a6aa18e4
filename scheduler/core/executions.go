package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// executions are all that are open, with the indexes over them, and those that ended and are kept. These hold between any two
// steps:
//
//   - open has, by id, every execution that has not ended, and ended every one that is kept of those that have;
//   - tasks has every live attempt of an open execution by its task's id, and no task of one that ended; onAgent has by agent
//     exactly those of tasks;
//   - launchable is sorted by launchKey and has exactly those with launchable set: at least every launched one that has a shard
//     to place, and the head of each job's queue if it was not launched and the job's document can be used. What else is in it
//     has nothing to place, and is passed over.
type executions struct {
	*step.Shared
	// observe is told of each change, in its order.
	observe    func(change)
	open       map[string]*execution
	tasks      map[string]taskRef
	onAgent    map[string]map[string]taskRef
	launchable []*execution
	// queues have the open executions of each job in order: the first one runs or is the next to.
	queues map[string][]*execution
	ended  history
	// changed has the id of every execution that differs from what is stored.
	changed store.Changed
	// keys has by id, as long as it is remembered, when an execution was triggered with an Idempotency-Key (rule T3).
	keys        map[string]time.Time
	loading     loading
	changedKeys store.Changed
}

func newExecutions(s *step.Shared) executions {
	return executions{Shared: s, open: map[string]*execution{}, tasks: map[string]taskRef{}, onAgent: map[string]map[string]taskRef{}, queues: map[string][]*execution{}, ended: newHistory(), keys: map[string]time.Time{}}
}

// touch has an execution be written without its chunks of shards.
func (es *executions) touch(e *execution) {
	e.dirty = true
	es.changed.Add(e.ID)
}

// touchShard marks one shard of an execution as changed.
func (es *executions) touchShard(e *execution, index int) {
	e.Shards[index].encoded = nil
	es.changed.Add(e.ID)
	if len(e.Shards) <= store.InlineShards {
		e.dirty = true
		return
	}
	if e.dirtyChunks == nil {
		e.dirtyChunks = map[int]bool{}
	}
	e.dirtyChunks[index/store.ChunkShards] = true
}

// known reports whether an execution of that id is open, or has ended and is kept.
func (es *executions) known(id string) bool { return es.open[id] != nil || es.ended.byID[id] != nil }

// add opens an execution.
func (es *executions) add(e *execution) {
	es.open[e.ID] = e
	es.touch(e)
}

// begin indexes the task of a shard's present attempt.
func (es *executions) begin(ref taskRef) {
	s := ref.shard()
	es.tasks[s.TaskID] = ref
	if es.onAgent[s.Agent] == nil {
		es.onAgent[s.Agent] = map[string]taskRef{}
	}
	es.onAgent[s.Agent][s.TaskID] = ref
}

// forgetTask takes a task out of the index: its attempt has ended, and another one of its shard may come.
func (es *executions) forgetTask(id string) {
	ref, ok := es.tasks[id]
	if !ok {
		return
	}
	agent := ref.shard().Agent
	delete(es.tasks, id)
	delete(es.onAgent[agent], id)
	if len(es.onAgent[agent]) == 0 {
		delete(es.onAgent, agent)
	}
}

// end files an execution among the ended ones, with its tasks.
func (es *executions) end(e *execution) {
	es.removeLaunchable(e)
	delete(es.open, e.ID)
	for i := range e.Shards {
		es.forgetTask(e.Shards[i].TaskID)
	}
	es.ended.seq++
	e.Ended, e.EndedAt, e.endedAt = es.ended.seq, es.Wall(), es.Now()
	es.touch(e)
	es.ended.add(e)
}

func (es *executions) insertLaunchable(e *execution, key launchKey) {
	e.launchKey, e.launchable = key, true
	i, _ := slices.BinarySearchFunc(es.launchable, key, compareLaunch)
	es.launchable = slices.Insert(es.launchable, i, e)
}

func (es *executions) removeLaunchable(e *execution) {
	if !e.launchable {
		return
	}
	if i, ok := slices.BinarySearchFunc(es.launchable, e.launchKey, compareLaunch); ok {
		es.launchable = slices.Delete(es.launchable, i, i+1)
	}
	e.launchable = false
}

func compareLaunch(e *execution, k launchKey) int { return compareLaunchKeys(e.launchKey, k) }

// keysKept is how long an Idempotency-Key is remembered.
const keysKept = 24 * time.Hour

// keepKey remembers a key, by the execution that it made, until it is old (rule T3).
func (es *executions) keepKey(id string, at time.Time) {
	es.keys[id] = at
	es.changedKeys.Add(id)
	es.forgetKeyLater(id, at)
}

func (es *executions) forgetKeyLater(id string, at time.Time) {
	es.Timers.At(at.Add(keysKept), func(time.Time) {
		delete(es.keys, id)
		es.changedKeys.Add(id)
	})
}

// write adds what has changed, and removes what the history has no place for any more and may forget.
// Those that ended up to stored are in the history for good; those up to recorded are at least in a batch (rule H1).
func (es *executions) write(r *store.Commit, stored, recorded int64) {
	gone := es.ended.trim(es.Now(), es.Opt.EndedKept, stored)
	gone = append(gone, es.ended.trimUnstored(es.Opt.UnstoredKept, recorded)...)
	store.PutChanged(r, store.PathKey, es.keys, &es.changedKeys)
	for _, id := range es.changed.Take() {
		if e := cmp.Or(es.open[id], es.ended.byID[id]); e != nil {
			e.write(r)
		}
	}
	for _, e := range gone {
		if !e.stored || es.open[e.ID] != nil {
			continue // the id lives again
		}
		r.Remove(store.Under(store.PathExecution, e.ID))
		for i := range e.storedChunks {
			r.Remove(store.ChunkPath(e.ID, i))
		}
	}
}

// queue has the open executions of a job in order: the first one runs or is the next to.
func (es *executions) queue(job string) []*execution { return es.queues[job] }

// busy reports whether an execution of a job is open.
func (es *executions) busy(job string) bool { return len(es.queues[job]) > 0 }

// standing is the execution of a daemon job that stays, nil if there is none, or only one that is being ended.
func (es *executions) standing(job string) *execution {
	for _, e := range es.queues[job] {
		if e.daemon() && e.goesOn() {
			return e
		}
	}
	return nil
}

// enqueue opens an execution and adds it to its job's queue, in order of fire time.
func (es *executions) enqueue(e *execution) {
	es.add(e)
	es.NeedChanged()
	queue := es.queues[e.Job]
	i := len(queue)
	for i > 0 && !queue[i-1].launched() && e.Fire.Before(queue[i-1].Fire) {
		i--
	}
	queue = slices.Insert(queue, i, e)
	es.queues[e.Job] = queue
	es.Note(step.Note{Kind: step.NoteExecutionMade, Job: e.Job, Execution: e.ID, Detail: string(e.Source)})
	if i == 0 && len(queue) > 1 {
		es.removeLaunchable(queue[1])
	}
	es.headOfQueue(e.Job)
	es.tell(change{kind: executionMade, exec: e})
}

// headOfQueue lets the first execution of a job's queue be launched (rule F5).
func (es *executions) headOfQueue(job string) {
	if queue := es.queues[job]; len(queue) > 0 && !queue[0].launched() && queue[0].Kill.IsZero() {
		es.addLaunchable(queue[0])
	}
}

// dequeue takes an execution that has ended out of its job's queue, and lets the next one be launched.
func (es *executions) dequeue(e *execution) {
	queue := slices.DeleteFunc(es.queues[e.Job], func(q *execution) bool { return q == e })
	if len(queue) == 0 {
		delete(es.queues, e.Job)
		return
	}
	es.queues[e.Job] = queue
	es.headOfQueue(e.Job)
}

// addLaunchable puts an execution where launch looks for work, or moves it
// when its place has changed.
func (es *executions) addLaunchable(e *execution) {
	class := classReady
	if e.launched() {
		class = classAgain
	}
	key := launchKey{class, e.Fire, e.ID}
	if e.launchable {
		if e.launchKey == key {
			return
		}
		es.removeLaunchable(e)
	}
	if !e.launched() {
		e.unplaced.never = false // its job may have changed while it was not the next
	}
	es.insertLaunchable(e, key)
	es.MatchAgain()
}

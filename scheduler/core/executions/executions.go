// Package executions holds the runs of jobs: open executions with their shards and attempts, the queue of each job,
// the indexes over tasks, and the ended executions that are kept.
//
// Only the transitions of Set change an execution. Each keeps the indexes correct, marks the changed records for the
// commit, and reports a Change to the observer; none decides what follows from it. A transition that is impossible in
// the present state panics, because it is a bug of the caller. A transition whose name begins with Record or Mark
// records an observation of the cluster; any other (Launch, Kill, Requeue) carries out a decision. The package
// launches and kills nothing: it records that a task was launched, or that its kill is wanted.
package executions

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Set holds all open executions with the indexes over them, and the ended ones that are kept. These hold between any
// two steps:
//
//   - open has, by id, every execution that has not ended; ended has the ended ones that are kept;
//   - tasks has every live attempt of an open execution by its task's id, and no task of one that ended; onAgent has
//     by agent exactly those of tasks;
//   - launchable is sorted by launchKey and has exactly those with launchable set: at least every launched one that
//     has a shard to place, and the head of each job's queue if it was not launched and the job's document can be
//     used. Any other execution in it has nothing to place, and is passed over.
type Set struct {
	shared *step.Shared
	// observe is called with each change, in order; nil for no observer.
	observe    func(Change)
	open       map[string]*Execution
	tasks      map[string]TaskRef
	onAgent    map[string]map[string]TaskRef
	launchable []*Execution
	// queues have the open executions of each job in order: the first one runs or is the next to run.
	queues map[string][]*Execution
	ended  history
	// changed has the id of every execution that differs from what is stored.
	changed store.Changed
	// keys has, by execution id, the time of each trigger whose Idempotency-Key is still remembered (rule T3).
	keys        map[string]time.Time
	loading     loading
	changedKeys store.Changed
}

// New returns a Set without executions and without an observer.
func New(s *step.Shared) *Set {
	return &Set{shared: s, open: map[string]*Execution{}, tasks: map[string]TaskRef{},
		onAgent: map[string]map[string]TaskRef{}, queues: map[string][]*Execution{}, ended: newHistory(),
		keys: map[string]time.Time{}}
}

// markChanged marks an execution to be written, without its chunks of shards.
func (es *Set) markChanged(e *Execution) {
	e.dirty = true
	es.changed.Add(e.rec.ID)
}

// markShardChanged marks one shard of an execution to be written.
func (es *Set) markShardChanged(e *Execution, index int) {
	e.shards[index].encoded = nil
	es.changed.Add(e.rec.ID)
	if len(e.shards) <= store.InlineShards {
		e.dirty = true
		return
	}
	if e.dirtyChunks == nil {
		e.dirtyChunks = map[int]bool{}
	}
	e.dirtyChunks[index/store.ChunkShards] = true
}

// Exists reports whether an execution with that id is open, or is kept after its end.
func (es *Set) Exists(id string) bool { return es.open[id] != nil || es.ended.byID[id] != nil }

// add opens an execution.
func (es *Set) add(e *Execution) {
	es.open[e.rec.ID] = e
	es.markChanged(e)
}

// indexTask indexes the task of a shard's present attempt.
func (es *Set) indexTask(ref TaskRef) {
	s := ref.Shard()
	es.tasks[s.rec.TaskID] = ref
	if es.onAgent[s.rec.Agent] == nil {
		es.onAgent[s.rec.Agent] = map[string]TaskRef{}
	}
	es.onAgent[s.rec.Agent][s.rec.TaskID] = ref
}

// ForgetTask removes a task from the index, because its attempt has ended and another one of its shard may follow.
// An unknown id is ignored.
func (es *Set) ForgetTask(id string) {
	ref, ok := es.tasks[id]
	if !ok {
		return
	}
	agent := ref.Shard().rec.Agent
	delete(es.tasks, id)
	delete(es.onAgent[agent], id)
	if len(es.onAgent[agent]) == 0 {
		delete(es.onAgent, agent)
	}
}

// end moves an execution to the ended ones, and its tasks out of the index of open ones.
func (es *Set) end(e *Execution) {
	es.removeLaunchable(e)
	delete(es.open, e.rec.ID)
	for i := range e.shards {
		es.ForgetTask(e.shards[i].rec.TaskID)
	}
	es.ended.seq++
	e.rec.EndNumber, e.rec.EndedAt, e.endedAt = es.ended.seq, es.shared.Wall(), es.shared.Now()
	es.markChanged(e)
	es.ended.add(e)
}

// Write adds the changed executions and keys to the commit, and deletes the ended executions beyond the limits of the
// history. Ends up to stored are in the history database; ends up to recorded are at least in a batch for it (rule
// H1). Later ends are not deleted.
func (es *Set) Write(r *store.Commit, stored, recorded int64) {
	removed := es.ended.trim(es.shared.Now(), es.shared.Opt.MaxEnded, stored)
	removed = append(removed, es.ended.trimUnstored(es.shared.Opt.MaxUnstored, recorded)...)
	store.PutChanged(r, store.PathKey, es.keys, &es.changedKeys)
	for _, id := range es.changed.Take() {
		if e := cmp.Or(es.open[id], es.ended.byID[id]); e != nil {
			e.write(r)
		}
	}
	for _, e := range removed {
		if !e.stored || es.open[e.rec.ID] != nil {
			continue // the id is in use again
		}
		r.Remove(store.Under(store.PathExecution, e.rec.ID))
		for i := range e.storedChunks {
			r.Remove(store.ChunkPath(e.rec.ID, i))
		}
	}
}

// Get returns the open execution with that id, or nil.
func (es *Set) Get(id string) *Execution { return es.open[id] }

// Find returns the execution with that id, which is open or kept after its end; nil if there is none.
func (es *Set) Find(id string) *Execution { return cmp.Or(es.open[id], es.ended.byID[id]) }

// AllOpen iterates over the open executions, in no order.
func (es *Set) AllOpen() iter.Seq[*Execution] { return maps.Values(es.open) }

// OpenIDs lists the ids of the open executions, sorted.
func (es *Set) OpenIDs() []string { return step.SortedKeys(es.open) }

// NumOpen is the number of open executions.
func (es *Set) NumOpen() int { return len(es.open) }

// Task returns the shard that the task of an open execution belongs to, and false for a task that is not indexed.
func (es *Set) Task(id string) (ref TaskRef, ok bool) {
	ref, ok = es.tasks[id]
	return ref, ok
}

// Ref is Task for an id that is known to be indexed, such as one of TaskIDs; else the TaskRef is zero.
func (es *Set) Ref(id string) TaskRef { return es.tasks[id] }

// AllTasks iterates over the tasks of open executions by id, in no order.
func (es *Set) AllTasks() iter.Seq2[string, TaskRef] { return maps.All(es.tasks) }

// TaskIDs lists the ids of the tasks of open executions, sorted.
func (es *Set) TaskIDs() []string { return step.SortedKeys(es.tasks) }

// NumTasks is the number of tasks of open executions.
func (es *Set) NumTasks() int { return len(es.tasks) }

// On iterates over the tasks of open executions on an agent, in no order.
func (es *Set) On(agent string) iter.Seq[TaskRef] { return maps.Values(es.onAgent[agent]) }

// EndedByID returns the ended execution with that id if it is kept, or nil.
func (es *Set) EndedByID(id string) *Execution { return es.ended.byID[id] }

// EndedTask returns the shard of a kept ended execution whose last task has that id; false if there is none.
func (es *Set) EndedTask(id string) (ref TaskRef, ok bool) {
	ref, ok = es.ended.tasks[id]
	return ref, ok
}

// EndedRef is EndedTask without its second result: the TaskRef is zero, with a nil Exec, for an id that is not
// found.
func (es *Set) EndedRef(id string) TaskRef { return es.ended.tasks[id] }

// AllEnded iterates over the ended executions that are kept, in the order of their ends.
func (es *Set) AllEnded() iter.Seq[*Execution] { return es.ended.all() }

// NewestEnded iterates over the last n ended executions that are kept, the newest first.
func (es *Set) NewestEnded(n int) iter.Seq[*Execution] { return es.ended.newest(n) }

// LastEnded is the last execution of a job that ended with one of these results and is kept, or nil.
func (es *Set) LastEnded(job string, among ...Result) *Execution {
	return es.ended.lastOf(job, among...)
}

// LastLaunchedEnded is the last execution of a job that was launched, has ended and is kept, or nil.
func (es *Set) LastLaunchedEnded(job string) (last *Execution) {
	of := es.ended.jobs[job]
	if of == nil {
		return nil
	}
	for i := range of.rings {
		for _, e := range slices.Backward(of.rings[i].list) {
			if e.Launched() {
				if last == nil || e.rec.EndNumber > last.rec.EndNumber {
					last = e
				}
				break
			}
		}
	}
	return last
}

// AnyEnded reports whether an ended execution of a job is kept.
func (es *Set) AnyEnded(job string) bool { return es.ended.jobs[job] != nil }

// Of iterates over the executions of a job: the open ones in the order of its queue, then the kept ended ones, in no
// order.
func (es *Set) Of(job string) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for _, e := range es.queues[job] {
			if !yield(e) {
				return
			}
		}
		if of := es.ended.jobs[job]; of != nil {
			for i := range of.rings {
				for _, e := range of.rings[i].list {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// Failures counts the kept executions of a job that failed since the last one that finished or was killed. It also
// returns when the first of them ended, by the wall clock.
func (es *Set) Failures(job string) (n int, since time.Time) {
	if es.ended.jobs[job] == nil {
		return 0, since
	}
	var upTo int64
	if well := es.ended.lastOf(job, ResultFinished, ResultKilled); well != nil {
		upTo = well.rec.EndNumber
	}
	failed := es.ended.jobs[job].rings[ResultFailed].list
	first, _ := slices.BinarySearchFunc(failed, upTo,
		func(e *Execution, after int64) int { return cmp.Compare(e.rec.EndNumber, after+1) })
	if first == len(failed) {
		return 0, since
	}
	return len(failed) - first, failed[first].rec.EndedAt
}

// Observe sets the function that is called with each change, in order and during the transition; nil for none.
func (es *Set) Observe(observe func(Change)) { es.observe = observe }

// Fire is a time at which a job's cron is due, in UTC.
type Fire struct {
	Job string
	At  time.Time
}

// ID returns the id of the execution for a fire of a job. It derives from the job and the second of the fire, so that
// a fire is made at most once (rule F2).
func ID(job string, fire time.Time) string {
	return job + "@" + fire.UTC().Format("20060102T150405Z")
}

// MarkJobsChanged reports each job that has a task whose shard matches as changed to those who watch it, in the order
// of the jobs' names.
func (es *Set) MarkJobsChanged(match func(*Shard) bool) {
	var names []string
	for _, ref := range es.tasks {
		if match(ref.Shard()) {
			names = append(names, ref.Exec.rec.Job)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		es.shared.JobChanged(name)
	}
}

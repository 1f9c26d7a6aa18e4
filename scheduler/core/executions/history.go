package executions

import (
	"container/list"
	"iter"
	"slices"
	"time"
)

// history keeps executions that ended, in the order of their ends. Each job has a ring for each result, so that a
// job that fails every second, or can't run at all, takes no room from the runs of others; only when there are too
// many in all does the oldest go, whoever's it is. An execution's record stays where it was in the registry until it
// goes.
type history struct {
	seq    int64
	byID   map[string]*Execution
	tasks  map[string]TaskRef
	jobs   map[string]*jobHistory
	order  list.List // of *Execution, the oldest end first
	shards int       // of all executions
	// crowded are the rings with more than they keep, in the order in which that came about.
	crowded []*ring
}

// stateOf is the state of executions with each result.
var stateOf = [results]State{ResultFinished: Finished, ResultFailed: Failed, ResultKilled: Killed,
	resultDropped: Killed}

// jobHistory is what is kept of one job's ended executions.
type jobHistory struct{ rings [results]ring }

// ring holds one job's executions of one result, the oldest end first.
type ring struct {
	list    []*Execution
	shards  int
	most    int
	state   State // of all of them
	crowded bool  // it is in history.crowded
}

// Result is how an execution ended, by which the history of its job is bounded.
type Result int

// Results of executions.
const (
	// ResultFinished is an execution of which all shards finished.
	ResultFinished Result = iota
	// ResultFailed is an execution with a shard that ended otherwise than finished or killed.
	ResultFailed
	// ResultKilled is an execution that was killed, as a whole or in part.
	ResultKilled
	resultDropped // a fire that was dropped while it waited: it never ran
	results
)

// RingSizes is how many executions of each result the history of a job keeps.
var RingSizes = [results]int{ResultFinished: 20, ResultFailed: 100, ResultKilled: 20, resultDropped: 1}

const (
	// ringShards bounds the shards in one ring, and historyShards those in all: a run of 10,000 shards takes as much
	// memory as thousands of small ones. The newest run of a ring is kept however large it is.
	ringShards    = 50_000
	historyShards = 1_000_000
)

func newHistory() history {
	return history{byID: map[string]*Execution{}, tasks: map[string]TaskRef{}, jobs: map[string]*jobHistory{}}
}

// Result is how the execution ended. It must have ended.
func (e *Execution) Result() Result {
	switch {
	case e.rec.Dropped:
		return resultDropped
	case e.State() == Finished:
		return ResultFinished
	case e.State() == Killed:
		return ResultKilled
	}
	return ResultFailed
}

// add takes an execution that ended.
func (h *history) add(e *Execution) {
	of := h.jobs[e.rec.Job]
	if of == nil {
		of = &jobHistory{}
		for i := range of.rings {
			of.rings[i].most, of.rings[i].state = RingSizes[i], stateOf[i]
		}
		h.jobs[e.rec.Job] = of
	}
	e.ring, e.place = &of.rings[e.Result()], h.order.PushBack(e)
	e.ring.list = append(e.ring.list, e)
	e.ring.shards += len(e.shards)
	h.shards += len(e.shards)
	h.byID[e.rec.ID] = e
	for i := range e.shards {
		if id := e.shards[i].rec.TaskID; id != "" {
			h.tasks[id] = TaskRef{e, i}
		}
	}
	if !e.ring.crowded && e.ring.isOver() {
		e.ring.crowded = true
		h.crowded = append(h.crowded, e.ring)
	}
}

func (r *ring) isOver() bool {
	return len(r.list) > r.most || r.shards > ringShards && len(r.list) > 1
}

// trim takes out what is too much and may be forgotten, the oldest first; most is how many are kept in all. What a
// ring has too many of goes when it is old, or when there are too many in all: who has just asked for runs can look
// at each of them. What ended after forgettable stays.
func (h *history) trim(now time.Time, most int, forgettable int64) (dropped []*Execution) {
	full := func() bool {
		return h.order.Len() > most || h.shards > historyShards && h.order.Len() > 1
	}
	take := func(e *Execution) {
		if h.take(e) {
			dropped = append(dropped, e)
		}
	}
	takeFrom := func(r *ring, mayToo func(*Execution) bool) {
		if !r.isOver() || r.list[0].rec.Ended > forgettable || !mayToo(r.list[0]) {
			return
		}
		for _, e := range slices.Clone(r.list) {
			if !r.isOver() || e.rec.Ended > forgettable || !mayToo(e) {
				return
			}
			take(e)
		}
	}
	for _, r := range h.crowded {
		takeFrom(r, func(e *Execution) bool { return e.rec.Dropped || r.shards > ringShards || !isYoung(e, now) })
	}
	for _, r := range h.crowded {
		takeFrom(r, func(*Execution) bool { return full() })
	}
	h.crowded = slices.DeleteFunc(h.crowded, func(r *ring) bool {
		r.crowded = r.isOver()
		return !r.crowded
	})
	return append(dropped, h.takeOldest(full, forgettable)...)
}

// unstoredShards bounds the shards of all executions while their ends can't be stored.
const unstoredShards = 2 * historyShards

// trimUnstored takes the oldest out until most are left with unstoredShards, though they may not be stored: a
// database that is away for long must not take all memory, nor the registry's. What ended after recorded stays.
func (h *history) trimUnstored(most int, recorded int64) []*Execution {
	return h.takeOldest(func() bool { return h.order.Len() > most || h.shards > unstoredShards && h.order.Len() > 1 },
		recorded)
}

// takeOldest takes the oldest out while there are too many, but nothing that ended after upto.
func (h *history) takeOldest(tooMany func() bool, upto int64) (taken []*Execution) {
	for at := h.order.Front(); at != nil && tooMany(); {
		e := at.Value.(*Execution)
		if at = at.Next(); e.rec.Ended > upto {
			break
		}
		if h.take(e) {
			taken = append(taken, e)
		}
	}
	return taken
}

// take takes an execution out, unless its end is not written yet: each end is written once, so that whoever reads
// the registry sees it.
func (h *history) take(e *Execution) bool {
	if e.dirty {
		return false
	}
	h.remove(e)
	return true
}

// youngFor is how long an execution is kept, if there is room, that its job's ring has no place for.
const youngFor = 10 * time.Minute

// isYoung reports whether an execution has just ended.
func isYoung(e *Execution, now time.Time) bool { return now.Sub(e.endedAt) < youngFor }

func (h *history) remove(e *Execution) {
	h.order.Remove(e.place)
	i := slices.Index(e.ring.list, e)
	e.ring.list = slices.Delete(e.ring.list, i, i+1)
	e.ring.shards -= len(e.shards)
	h.shards -= len(e.shards)
	if h.byID[e.rec.ID] == e {
		delete(h.byID, e.rec.ID)
	}
	for i := range e.shards {
		delete(h.tasks, e.shards[i].rec.TaskID)
	}
	if of := h.jobs[e.rec.Job]; of.isEmpty() {
		delete(h.jobs, e.rec.Job)
	}
	e.ring, e.place = nil, nil
}

func (of *jobHistory) isEmpty() bool {
	for i := range of.rings {
		if len(of.rings[i].list) > 0 {
			return false
		}
	}
	return true
}

// all are the executions in the order of their ends.
func (h *history) all() iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for at := h.order.Front(); at != nil; at = at.Next() {
			if !yield(at.Value.(*Execution)) {
				return
			}
		}
	}
}

// newest are the last n that ended, the newest first.
func (h *history) newest(n int) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for at := h.order.Back(); at != nil && n > 0; at, n = at.Prev(), n-1 {
			if !yield(at.Value.(*Execution)) {
				return
			}
		}
	}
}

// lastOf is the last execution of a job that ended with one of the results, or nil.
func (h *history) lastOf(job string, among ...Result) (last *Execution) {
	of := h.jobs[job]
	if of == nil {
		return nil
	}
	for _, o := range among {
		if r := &of.rings[o]; len(r.list) > 0 {
			if e := r.list[len(r.list)-1]; last == nil || e.rec.Ended > last.rec.Ended {
				last = e
			}
		}
	}
	return last
}

package executions

import (
	"container/list"
	"iter"
	"slices"
	"time"
)

// history keeps ended executions, in the order of their ends. Each job has a ring for each result, so that a job that
// fails every second, or cannot run at all, displaces no runs of other jobs. Only when there are too many in all is
// the oldest removed, whatever its job. An execution's record stays where it was in the registry until it is removed.
type history struct {
	seq    int64
	byID   map[string]*Execution
	tasks  map[string]TaskRef
	jobs   map[string]*jobHistory
	order  list.List // of *Execution, the oldest end first
	shards int       // of all executions
	// crowded lists the rings with more executions than they keep, in the order in which they became crowded.
	crowded []*ring
}

// stateOf is the state of executions with each result.
var stateOf = [results]State{ResultFinished: Finished, ResultFailed: Failed, ResultKilled: Killed,
	resultDropped: Killed}

// jobHistory holds one job's ended executions.
type jobHistory struct{ rings [results]ring }

// ring holds one job's executions of one result, the oldest end first.
type ring struct {
	list    []*Execution
	shards  int
	limit   int
	state   State // of all of them
	crowded bool  // it is in history.crowded
}

// Result is how an execution ended; the history of a job has a limit for each.
type Result int

// Results of executions.
const (
	// ResultFinished is the result of an execution whose shards all finished.
	ResultFinished Result = iota
	// ResultFailed is the result of an execution with a shard that ended in another way than finished or killed.
	ResultFailed
	// ResultKilled is the result of an execution that was killed, as a whole or in part.
	ResultKilled
	resultDropped // a fire that was dropped while it waited: it never ran
	results
)

// RingSizes is how many executions of each result the history of a job keeps.
var RingSizes = [results]int{ResultFinished: 20, ResultFailed: 100, ResultKilled: 20, resultDropped: 1}

const (
	// maxRingShards bounds the shards in one ring, and maxHistoryShards those in all, because a run of 10,000 shards
	// takes as much memory as thousands of small ones. The newest run of a ring is kept however large it is.
	maxRingShards    = 50_000
	maxHistoryShards = 1_000_000
)

func newHistory() history {
	return history{byID: map[string]*Execution{}, tasks: map[string]TaskRef{}, jobs: map[string]*jobHistory{}}
}

// Result returns how the execution ended. It must have ended.
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

// add adds an execution that has ended.
func (h *history) add(e *Execution) {
	of := h.jobs[e.rec.Job]
	if of == nil {
		of = &jobHistory{}
		for i := range of.rings {
			of.rings[i].limit, of.rings[i].state = RingSizes[i], stateOf[i]
		}
		h.jobs[e.rec.Job] = of
	}
	e.ring, e.element = &of.rings[e.Result()], h.order.PushBack(e)
	e.ring.list = append(e.ring.list, e)
	e.ring.shards += len(e.shards)
	h.shards += len(e.shards)
	h.byID[e.rec.ID] = e
	for i := range e.shards {
		if id := e.shards[i].rec.TaskID; id != "" {
			h.tasks[id] = TaskRef{e, i}
		}
	}
	if !e.ring.crowded && e.ring.isCrowded() {
		e.ring.crowded = true
		h.crowded = append(h.crowded, e.ring)
	}
}

func (r *ring) isCrowded() bool {
	return len(r.list) > r.limit || r.shards > maxRingShards && len(r.list) > 1
}

// trim removes and returns the executions beyond the limits, the oldest first; limit is the maximum number of all. The
// surplus of a ring stays for minRetention, so that a user who has just triggered runs can look at each of them. It is
// removed earlier if it was dropped, or if the ring has too many shards, or the history too many executions or shards.
// Executions whose EndNumber is greater than forgettable stay.
func (h *history) trim(now time.Time, limit int, forgettable int64) (dropped []*Execution) {
	tooMany := func() bool {
		return h.order.Len() > limit || h.shards > maxHistoryShards && h.order.Len() > 1
	}
	remove := func(e *Execution) {
		if h.removeWritten(e) {
			dropped = append(dropped, e)
		}
	}
	removeSurplus := func(r *ring, mayRemove func(*Execution) bool) {
		if !r.isCrowded() || r.list[0].rec.EndNumber > forgettable || !mayRemove(r.list[0]) {
			return
		}
		for _, e := range slices.Clone(r.list) {
			if !r.isCrowded() || e.rec.EndNumber > forgettable || !mayRemove(e) {
				return
			}
			remove(e)
		}
	}
	for _, r := range h.crowded {
		removeSurplus(r, func(e *Execution) bool {
			return e.rec.Dropped || r.shards > maxRingShards || !isRecent(e, now)
		})
	}
	for _, r := range h.crowded {
		removeSurplus(r, func(*Execution) bool { return tooMany() })
	}
	h.crowded = slices.DeleteFunc(h.crowded, func(r *ring) bool {
		r.crowded = r.isCrowded()
		return !r.crowded
	})
	return append(dropped, h.removeOldest(tooMany, forgettable)...)
}

// maxUnstoredShards bounds the shards of all executions while their ends cannot be stored.
const maxUnstoredShards = 2 * maxHistoryShards

// trimUnstored removes and returns the oldest executions until at most limit of them, with at most maxUnstoredShards,
// are left, even if they are not stored: an outage of the database must not fill the memory or the registry.
// Executions whose EndNumber is greater than recorded stay.
func (h *history) trimUnstored(limit int, recorded int64) []*Execution {
	return h.removeOldest(func() bool {
		return h.order.Len() > limit || h.shards > maxUnstoredShards && h.order.Len() > 1
	}, recorded)
}

// removeOldest removes and returns the oldest executions while tooMany holds, up to the end with number last.
func (h *history) removeOldest(tooMany func() bool, last int64) (removed []*Execution) {
	for at := h.order.Front(); at != nil && tooMany(); {
		e := at.Value.(*Execution)
		if at = at.Next(); e.rec.EndNumber > last {
			break
		}
		if h.removeWritten(e) {
			removed = append(removed, e)
		}
	}
	return removed
}

// removeWritten removes an execution, and returns true, if its end was written. An end that was not written yet stays
// until then, so that readers of the registry see each end.
func (h *history) removeWritten(e *Execution) bool {
	if e.dirty {
		return false
	}
	h.remove(e)
	return true
}

// minRetention is how long an execution beyond the limit of its ring is kept while there is room in all.
const minRetention = 10 * time.Minute

// isRecent reports whether an execution ended less than minRetention ago.
func isRecent(e *Execution, now time.Time) bool { return now.Sub(e.endedAt) < minRetention }

func (h *history) remove(e *Execution) {
	h.order.Remove(e.element)
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
	e.ring, e.element = nil, nil
}

func (of *jobHistory) isEmpty() bool {
	for i := range of.rings {
		if len(of.rings[i].list) > 0 {
			return false
		}
	}
	return true
}

// all iterates over the executions in the order of their ends.
func (h *history) all() iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for at := h.order.Front(); at != nil; at = at.Next() {
			if !yield(at.Value.(*Execution)) {
				return
			}
		}
	}
}

// newest iterates over the last n that ended, the newest first.
func (h *history) newest(n int) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for at := h.order.Back(); at != nil && n > 0; at, n = at.Prev(), n-1 {
			if !yield(at.Value.(*Execution)) {
				return
			}
		}
	}
}

// lastOf returns the last execution of a job that ended with one of the results, or nil.
func (h *history) lastOf(job string, among ...Result) (last *Execution) {
	of := h.jobs[job]
	if of == nil {
		return nil
	}
	for _, o := range among {
		if r := &of.rings[o]; len(r.list) > 0 {
			if e := r.list[len(r.list)-1]; last == nil || e.rec.EndNumber > last.rec.EndNumber {
				last = e
			}
		}
	}
	return last
}

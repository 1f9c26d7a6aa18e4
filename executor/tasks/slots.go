package tasks

import (
	"runtime"
	"slices"
	"sync"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// slots limits how many runs of a job this executor executes at the same time, for jobs with such a limit. A job's
// slots are granted in the order in which they were requested.
type slots struct {
	mu   sync.Mutex
	jobs map[string]*jobSlots
}

type jobSlots struct {
	limit, used int
	waiting     []*slot
}

// slot is the right to execute one run. granted gets a value when the slot is granted.
type slot struct {
	job     string
	granted chan struct{}
	held    bool // the slot is granted and counts for the limit; guarded by slots.mu
}

func newSlots() *slots { return &slots{jobs: map[string]*jobSlots{}} }

// slotsFor returns how many runs a concurrency setting allows at once; 0 means no limit.
func slotsFor(concurrency string) int {
	switch concurrency {
	case wire.ConcurrencySingle:
		return 1
	case wire.ConcurrencyCPU:
		return 2 * runtime.NumCPU()
	}
	return 0
}

// request requests a slot. Without a limit (0) the slot is granted at once. The caller must release it, even if it was
// not granted.
func (s *slots) request(job string, limit int) *slot {
	n := &slot{job: job, granted: make(chan struct{}, 1)}
	if limit == 0 {
		n.granted <- struct{}{}
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[job]
	if j == nil {
		j = &jobSlots{}
		s.jobs[job] = j
	}
	j.limit = limit
	j.waiting = append(j.waiting, n)
	j.grant()
	return n
}

// release releases a slot, or cancels a request that was not granted. For
// a slot without a limit it changes nothing.
func (s *slots) release(n *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[n.job]
	switch {
	case j == nil:
		return
	case n.held:
		n.held = false
		j.used--
	default:
		j.waiting = slices.DeleteFunc(j.waiting, func(other *slot) bool { return other == n })
	}
	j.grant()
	if j.used == 0 && len(j.waiting) == 0 {
		delete(s.jobs, n.job)
	}
}

// grant grants slots to the waiting runs, up to the limit. The caller holds slots.mu.
func (j *jobSlots) grant() {
	for j.used < j.limit && len(j.waiting) > 0 {
		next := j.waiting[0]
		j.waiting = j.waiting[1:]
		j.used++
		next.held = true
		next.granted <- struct{}{}
	}
}

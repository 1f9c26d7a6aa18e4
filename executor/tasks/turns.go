package tasks

import (
	"runtime"
	"slices"
	"sync"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// turns limits how many of a job's runs are under way at once in this executor, if the job has such a limit. Turns
// are granted in the order in which they were asked for.
type turns struct {
	mu   sync.Mutex
	jobs map[string]*jobTurns
}

type jobTurns struct {
	limit, used int
	waiting     []*turn
}

// turn is the right of one run to begin. granted gets a value when the turn is granted.
type turn struct {
	job     string
	granted chan struct{}
	has     bool // guarded by turns.mu
}

func newTurns() *turns { return &turns{jobs: map[string]*jobTurns{}} }

// turnsFor returns how many runs a concurrency setting allows at once; 0 means no limit.
func turnsFor(concurrency string) int {
	switch concurrency {
	case wire.ConcurrencySingle:
		return 1
	case wire.ConcurrencyCPU:
		return 2 * runtime.NumCPU()
	}
	return 0
}

// ask asks for a turn. The caller must give it back, even if it was not granted.
func (t *turns) ask(job string, limit int) *turn {
	n := &turn{job: job, granted: make(chan struct{}, 1)}
	if limit == 0 {
		n.granted <- struct{}{}
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[job]
	if j == nil {
		j = &jobTurns{}
		t.jobs[job] = j
	}
	j.limit = limit
	j.waiting = append(j.waiting, n)
	j.grant()
	return n
}

// giveBack ends a turn, or the wait for one.
func (t *turns) giveBack(n *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[n.job]
	switch {
	case j == nil:
		return
	case n.has:
		n.has = false
		j.used--
	default:
		j.waiting = slices.DeleteFunc(j.waiting, func(other *turn) bool { return other == n })
	}
	j.grant()
	if j.used == 0 && len(j.waiting) == 0 {
		delete(t.jobs, n.job)
	}
}

// grant grants turns to the waiting runs, up to the limit. The caller holds turns.mu.
func (j *jobTurns) grant() {
	for j.used < j.limit && len(j.waiting) > 0 {
		next := j.waiting[0]
		j.waiting = j.waiting[1:]
		j.used++
		next.has = true
		next.granted <- struct{}{}
	}
}

package tasks

import (
	"runtime"
	"slices"
	"sync"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// turns bound how many of a job's runs go on at once in this executor, where the job asks for it. Who waits gets a
// turn in the order of asking.
type turns struct {
	mu   sync.Mutex
	jobs map[string]*jobTurns
}

type jobTurns struct {
	limit, used int
	waiting     []*turn
}

// turn is one run's right to go on. granted has a value once it has it.
type turn struct {
	job     string
	granted chan struct{}
	has     bool // guarded by turns.mu
}

func newTurns() *turns { return &turns{jobs: map[string]*jobTurns{}} }

// turnsFor is how many runs a kind of concurrency allows at once; 0 stands for any number.
func turnsFor(concurrency string) int {
	switch concurrency {
	case wire.ConcurrencySingle:
		return 1
	case wire.ConcurrencyCPU:
		return 2 * runtime.NumCPU()
	}
	return 0
}

// ask asks for a turn, which must be given back, also if it was not granted.
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

// giveBack ends a turn, or the wait for it.
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

// grant gives turns to those who wait. It is called with mu held.
func (j *jobTurns) grant() {
	for j.used < j.limit && len(j.waiting) > 0 {
		next := j.waiting[0]
		j.waiting = j.waiting[1:]
		j.used++
		next.has = true
		next.granted <- struct{}{}
	}
}

package scheduler

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// stateGate keeps readers and the loop apart: the loop has the core for itself from a step's
// begin to its commit's end, so that what a reader sees is committed. Unlike behind a
// lock, a reader who has waited enough can leave.
type stateGate struct{ sem *semaphore.Weighted }

// wholeGate is more than there are readers at once.
const wholeGate = 1 << 30

// readPatience is how long a reader waits for the loop: a commit that takes so long
// has a registry that answers nothing.
const readPatience = 5 * time.Second

func newStateGate() stateGate { return stateGate{semaphore.NewWeighted(wholeGate)} }

// begin waits for the readers that are there, and lets no more in before end.
func (t stateGate) begin() { _ = t.sem.Acquire(context.Background(), wholeGate) } // it fails only with its context

func (t stateGate) end() { t.sem.Release(wholeGate) }

// enter waits until nothing is stepped or committed, and then keeps the loop out until leave.
func (t stateGate) enter(ctx context.Context) error { return t.sem.Acquire(ctx, 1) }

func (t stateGate) leave() { t.sem.Release(1) }

// Read has look see the core of this process's term between two steps, as far as a scope goes: what it sees is
// committed, and all of one moment. It is the one way in for what people ask. The loop waits meanwhile, so look does
// nothing that takes long.
func (s *Scheduler) Read(ctx context.Context, scope explain.Scope, look func(explain.Reader) error) error {
	r, err := s.current()
	if err != nil {
		return err
	}
	var refused error
	err = r.look(ctx, func(c *core.Core) {
		var reader explain.Reader
		if reader, refused = explain.NewReader(c.Views(), scope); refused == nil {
			refused = look(reader)
		}
	})
	return cmp.Or(err, refused)
}

// look has fn see the term's core between two steps, whoever it is for.
func (r *termRunner) look(ctx context.Context, fn func(*core.Core)) error {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	if r.gate.enter(ctx) != nil {
		return problem.Errorf(problem.Unavailable, "registry_silent",
			"the registry has not answered the leader's last commit yet, so nobody knows what holds; try again shortly")
	}
	defer r.gate.leave()
	if r.over.Load() {
		return problem.Errorf(problem.Unavailable, "term_ended", "the term has ended: try again shortly")
	}
	fn(r.core)
	return nil
}

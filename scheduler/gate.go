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

// stateGate separates readers from the loop. The loop has the core exclusively from the beginning of a step to the end
// of its commit, so that readers see only committed state. Unlike with a mutex, a reader can stop waiting.
type stateGate struct{ sem *semaphore.Weighted }

// wholeGate is the weight of the semaphore. The loop takes the whole weight, a reader takes 1. There are never so many
// readers at once.
const wholeGate = 1 << 30

// readTimeout is how long a reader waits for the loop. A commit takes longer only if the registry does not answer.
const readTimeout = 5 * time.Second

func newStateGate() stateGate { return stateGate{semaphore.NewWeighted(wholeGate)} }

// begin waits for the present readers, and admits no others before end.
func (g stateGate) begin() { _ = g.sem.Acquire(context.Background(), wholeGate) } // fails only with its context

func (g stateGate) end() { g.sem.Release(wholeGate) }

// enter waits until no step or commit is under way, and then blocks the loop until leave.
func (g stateGate) enter(ctx context.Context) error { return g.sem.Acquire(ctx, 1) }

func (g stateGate) leave() { g.sem.Release(1) }

// Read calls visit, between two steps, with a Reader of the core of this process's term, restricted to a scope. visit
// sees the committed state of one moment. Read is the only way for requests to read the core. The loop waits
// meanwhile, so visit must be quick.
func (s *Scheduler) Read(ctx context.Context, scope explain.Scope, visit func(explain.Reader) error) error {
	r, err := s.current()
	if err != nil {
		return err
	}
	var refused error
	err = r.read(ctx, func(c *core.Core) {
		var reader explain.Reader
		if reader, refused = explain.NewReader(c.Views(), scope); refused == nil {
			refused = visit(reader)
		}
	})
	return cmp.Or(err, refused)
}

// read calls fn with the term's core between two steps, without a scope. It fails if the loop does not finish its step
// in time, or the term has ended.
func (r *termRunner) read(ctx context.Context, fn func(*core.Core)) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if r.gate.enter(ctx) != nil {
		return problem.Errorf(problem.Unavailable, "registry_silent",
			"the registry has not answered the leader's last commit yet, so the present state is not known; try again shortly")
	}
	defer r.gate.leave()
	if r.ended.Load() {
		return problem.Errorf(problem.Unavailable, "term_ended", "the term has ended: try again shortly")
	}
	fn(r.core)
	return nil
}

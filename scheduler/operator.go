package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// reconcileGap is how long after one another people may ask for reconciliation.
const reconcileGap = 10 * time.Second

// Reconcile asks the cluster now about every task (explicit), or for all tasks
// that it knows of ours (implicit), beside what it reconciles by itself every 10 minutes. A second
// call of either kind within 10 s is TooSoon.
func (s *Scheduler) Reconcile(ctx context.Context, scope explain.Scope, explicit bool) error {
	if err := scope.RequireAll(); err != nil {
		return err
	}
	r, err := s.current()
	if err != nil {
		return err
	}
	if !r.subscribed.Load() {
		return problem.Errorf(problem.Unavailable, "not_subscribed",
			"there is no subscription to the cluster; every subscription begins with reconciliation")
	}
	if err := s.mayReconcile(); err != nil {
		return err
	}
	_, err = s.ask(ctx, func(token uint64) core.Request {
		return operator.ReconcileRequested{Token: token, Explicit: explicit, Actor: actorOf(ctx)}
	})
	return err
}

func (s *Scheduler) mayReconcile() error {
	s.reconcileMu.Lock()
	defer s.reconcileMu.Unlock()
	now := s.opt.Clock()
	if wait := reconcileGap - now.Sub(s.reconciled); !s.reconciled.IsZero() && wait > 0 {
		e := problem.Errorf(problem.TooSoon, "too_soon",
			"reconciliation was asked for less than %s ago: ask again in %s", reconcileGap, wait.Round(time.Second/10))
		e.RetryAfter = wait
		return e
	}
	s.reconciled = now
	return nil
}

// TriggerAgain asks for an execution as another one was, which has ended or not: with the settings of its own, if it
// had any, and the others of its job as they are now. Without withEnv it is Forbidden if that one had an env of its
// own. See Trigger for the key.
func (s *Scheduler) TriggerAgain(
	ctx context.Context, scope explain.Scope, executionID, idempotencyKey string, withEnv bool,
) (string, error) {
	reply, err := s.order(ctx, scope, explain.Reader.SeesExecution, executionID, func(token uint64) core.Request {
		return operator.TriggerRequested{Token: token, Again: executionID, Key: idempotencyKey, NoEnv: !withEnv,
			Actor: actorOf(ctx)}
	})
	return reply.ExecutionID, err
}

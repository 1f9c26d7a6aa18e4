package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// minReconcileInterval is the minimum interval between two requests for reconciliation.
const minReconcileInterval = 10 * time.Second

// Reconcile asks the cluster now about every task (explicit), or for all tasks of this framework that it knows
// (implicit), in addition to the periodic reconciliation. A second call of either kind within minReconcileInterval is
// TooSoon.
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
	_, err = s.ask(ctx, operator.ReconcileRequested{Explicit: explicit, Actor: actorOf(ctx)})
	return err
}

// Cordon requests that nothing new is placed on a machine, and returns the machine once that is committed. The request
// names the machine, the reason and the end of the cordon; Cordon adds the requester.
func (s *Scheduler) Cordon(
	ctx context.Context, scope explain.Scope, r operator.CordonRequested,
) (views.MachineView, error) {
	r.Actor = actorOf(ctx)
	reply, err := s.askOfMachine(ctx, scope, r)
	return reply.Machine, err
}

// Uncordon ends the cordon of a machine, which is named by its host or by the id of one of its agents.
func (s *Scheduler) Uncordon(ctx context.Context, scope explain.Scope, machine string) (views.MachineView, error) {
	reply, err := s.askOfMachine(ctx, scope, operator.UncordonRequested{Machine: machine, Actor: actorOf(ctx)})
	return reply.Machine, err
}

// DrainMachine requests that nothing new is placed on a machine and that its tasks move or end, and returns the
// machine once that is committed. DrainMachine adds the requester.
func (s *Scheduler) DrainMachine(
	ctx context.Context, scope explain.Scope, r operator.DrainRequested,
) (views.MachineView, error) {
	r.Actor = actorOf(ctx)
	reply, err := s.askOfMachine(ctx, scope, r)
	return reply.Machine, err
}

// DeclareDead ends all attempts on a machine that will never come back. It returns the machine and the number of these
// attempts once that is committed. DeclareDead adds the requester.
func (s *Scheduler) DeclareDead(
	ctx context.Context, scope explain.Scope, r operator.DeadRequested,
) (views.DeadView, error) {
	r.Actor = actorOf(ctx)
	reply, err := s.askOfMachine(ctx, scope, r)
	return views.DeadView{MachineView: reply.Machine, AttemptsOver: reply.AttemptsOver}, err
}

// askOfMachine makes a request about a machine, which requires a scope of all apps.
func (s *Scheduler) askOfMachine(ctx context.Context, scope explain.Scope, request core.Event) (core.Reply, error) {
	if err := scope.RequireAll(); err != nil {
		return core.Reply{}, err
	}
	return s.ask(ctx, request)
}

// mayReconcile returns an error if reconciliation was requested a moment ago; otherwise it records the request.
func (s *Scheduler) mayReconcile() error {
	s.reconcileMu.Lock()
	defer s.reconcileMu.Unlock()
	now := s.opt.Clock()
	if wait := minReconcileInterval - now.Sub(s.reconciled); !s.reconciled.IsZero() && wait > 0 {
		e := problem.Errorf(problem.TooSoon, "too_soon",
			"reconciliation was requested less than %s ago: try again in %s", minReconcileInterval,
			wait.Round(time.Second/10))
		e.RetryAfter = wait
		return e
	}
	s.reconciled = now
	return nil
}

// TriggerAgain requests an execution like an earlier one, which may be open or ended: with the overrides of the
// earlier one and the present settings of its job. Without withEnv the request is Forbidden if the earlier one had an
// env of its own. See Trigger for the key.
func (s *Scheduler) TriggerAgain(
	ctx context.Context, scope explain.Scope, executionID, idempotencyKey string, withEnv bool,
) (string, error) {
	reply, err := s.request(ctx, scope, explain.Reader.SeesExecution, executionID, operator.TriggerRequested{
		RerunOf: executionID, Key: idempotencyKey, NoEnv: !withEnv, Actor: actorOf(ctx)})
	return reply.ExecutionID, err
}

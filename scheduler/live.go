package scheduler

import (
	"cmp"
	"context"

	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// JobPage lists the jobs in a scope that match a query. It reads rows that are kept outside of the loop.
func (s *Scheduler) JobPage(ctx context.Context, scope explain.Scope, q view.Query) (view.Page, error) {
	return ofView(s, scope, func(j *view.Jobs) (view.Page, error) {
		q.Now = s.opt.Clock()
		return j.Page(ctx, scope, q)
	})
}

// Summary summarizes the jobs in a scope. With a scope of all apps it includes data of the whole cluster.
func (s *Scheduler) Summary(ctx context.Context, scope explain.Scope) (view.Summary, error) {
	return ofView(s, scope, func(j *view.Jobs) (view.Summary, error) { return j.Summary(ctx, scope, s.opt.Clock()) })
}

// Overview returns the summary with the problems.
func (s *Scheduler) Overview(ctx context.Context, scope explain.Scope) (view.Overview, error) {
	return ofView(s, scope, func(j *view.Jobs) (view.Overview, error) { return j.Overview(ctx, scope, s.opt.Clock()) })
}

// Follow opens a stream of the changes in a scope. It ends with this server's term.
func (s *Scheduler) Follow(_ context.Context, scope explain.Scope) (*view.Stream, error) {
	return ofView(s, scope, func(j *view.Jobs) (*view.Stream, error) { return j.Follow(scope) })
}

// ofView calls ask with the rows of the present term.
func ofView[T any](s *Scheduler, scope explain.Scope, ask func(*view.Jobs) (T, error)) (none T, err error) {
	r, err := s.current()
	if err = cmp.Or(scope.Check(), err); err != nil {
		return none, err
	}
	return ask(r.view)
}

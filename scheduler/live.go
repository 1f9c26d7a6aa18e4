package scheduler

import (
	"context"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// watched has fn see the core between two steps, for the rows of what people watch.
func (r *termRunner) watched(ctx context.Context, fn func(*core.Core)) error {
	_, err := readOf(ctx, r, func(c *core.Core) (struct{}, error) {
		fn(c)
		return struct{}{}, nil
	})
	return err
}

// JobPage lists the jobs that match a query, from rows beside the loop.
func (s *Scheduler) JobPage(ctx context.Context, q view.Query) (view.Page, error) {
	return ofView(s, func(j *view.Jobs) (view.Page, error) {
		q.Now = s.opt.Clock()
		return j.Page(ctx, q)
	})
}

// Summary sums up what is of the apps that covers allows; nil allows all, and has what is about the whole cluster.
func (s *Scheduler) Summary(ctx context.Context, covers func(app string) bool) (view.Summary, error) {
	return ofView(s, func(j *view.Jobs) (view.Summary, error) { return j.Summary(ctx, covers, s.opt.Clock()) })
}

// Overview is the summary with what is wrong.
func (s *Scheduler) Overview(ctx context.Context, covers func(app string) bool) (view.Overview, error) {
	return ofView(s, func(j *view.Jobs) (view.Overview, error) { return j.Overview(ctx, covers, s.opt.Clock()) })
}

// Follow opens a stream of what changes of the apps that covers allows; nil allows all. It ends with this server's term.
func (s *Scheduler) Follow(_ context.Context, covers func(app string) bool) (*view.Stream, error) {
	return ofView(s, func(j *view.Jobs) (*view.Stream, error) { return j.Follow(covers) })
}

// ofView asks the rows of the present term.
func ofView[T any](s *Scheduler, ask func(*view.Jobs) (T, error)) (none T, err error) {
	r, err := s.current()
	if err != nil {
		return none, err
	}
	return ask(r.view)
}

package api

import (
	"context"

	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// scopeOf is what the caller of a request may see of the scheduler: the apps of their grant. What is of others is not
// there for them: both are looked for in the same way and have the same answer. What texts say of it is hidden in the
// answer (others.go). Where no request was admitted it is nobody's.
func scopeOf(ctx context.Context) explain.Scope {
	who := callerOf(ctx)
	switch {
	case !who.letIn():
		return explain.Scope{}
	case who.Unrestricted():
		return explain.All()
	}
	return explain.Apps(who.Covers, func(app string) error {
		return notAllowed(who.Principal, "a grant for the app "+quoted(app))
	})
}

// see is what the scheduler says to the caller of a request, all of one moment.
func see[V any](ctx context.Context, s *Server, say func(explain.Reader) (V, error)) (v V, err error) {
	err = s.opts.Scheduler.Read(ctx, scopeOf(ctx), func(r explain.Reader) (err error) {
		v, err = say(r)
		return err
	})
	return v, err
}

// seeOf is see for what is said of something.
func seeOf[A, V any](ctx context.Context, s *Server, say func(explain.Reader, A) (V, error), of A) (V, error) {
	return see(ctx, s, func(r explain.Reader) (V, error) { return say(r, of) })
}

// list is see for what is always there.
func list[V any](ctx context.Context, s *Server, say func(explain.Reader) []V) ([]V, error) {
	return see(ctx, s, func(r explain.Reader) ([]V, error) { return say(r), nil })
}

// maySee refuses a job, for what the scheduler does not answer, unless it is of the caller's apps. Who may see all
// apps may see all jobs, also those that are not there any more.
func (s *Server) maySee(ctx context.Context, job string) error {
	if scopeOf(ctx).IsAll() {
		return nil
	}
	_, err := seeOf(ctx, s, explain.Reader.Job, job)
	return err
}

package caller

import (
	"context"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// ScopeOf returns the part of the scheduler's state that the caller of a request may see: the apps of the caller's
// grant. Everything else looks as if it did not exist: the scheduler looks for both in the same way and gives the same
// answer. Texts that mention it are hidden later, by Redactor. Without an authenticated caller the scope is empty.
func ScopeOf(ctx context.Context) explain.Scope {
	who := Of(ctx)
	switch {
	case !who.IsAuthenticated():
		return explain.Scope{}
	case who.Unrestricted():
		return explain.All()
	}
	return explain.Apps(who.Covers, func(app string) error {
		return NotAllowed(who.Principal, "a grant for the app "+failure.Quoted(app))
	})
}

// Scheduler is the part of the scheduler that reads need.
type Scheduler interface {
	// Read calls look with a view of the scheduler's state at one moment, restricted to the scope.
	Read(ctx context.Context, scope explain.Scope, look func(explain.Reader) error) error
}

// Read returns what say reads from the scheduler's state, restricted to what the caller of the request may see. All of
// it is of one moment.
func Read[V any](ctx context.Context, s Scheduler, say func(explain.Reader) (V, error)) (v V, err error) {
	err = s.Read(ctx, ScopeOf(ctx), func(r explain.Reader) (err error) {
		v, err = say(r)
		return err
	})
	return v, err
}

// ReadWith is Read for a reader that takes an argument.
func ReadWith[A, V any](ctx context.Context, s Scheduler, say func(explain.Reader, A) (V, error), of A) (V, error) {
	return Read(ctx, s, func(r explain.Reader) (V, error) { return say(r, of) })
}

// ReadList is Read for a reader that cannot fail.
func ReadList[V any](ctx context.Context, s Scheduler, say func(explain.Reader) []V) ([]V, error) {
	return Read(ctx, s, func(r explain.Reader) ([]V, error) { return say(r), nil })
}

// MaySee returns an error unless the caller may see the job. Routes that answer from other sources than the scheduler
// call it. For a caller with a grant for all apps it always returns nil, also for removed jobs.
func MaySee(ctx context.Context, s Scheduler, job string) error {
	if ScopeOf(ctx).IsAll() {
		return nil
	}
	_, err := ReadWith(ctx, s, explain.Reader.Job, job)
	return err
}

package caller

import (
	"context"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// ScopeOf returns the part of the scheduler's state that the caller of a request may see: the apps of the caller's
// grant and their jobs. For an app or job outside the scope, the scheduler answers exactly as for one that does not
// exist. Redactor hides the ids of such jobs in texts. Without an authenticated caller the scope is empty.
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

// Scheduler is the part of the scheduler that Read uses.
type Scheduler interface {
	// Read calls read with the scheduler's state, restricted to the scope. The state does not change during the call.
	Read(ctx context.Context, scope explain.Scope, read func(explain.Reader) error) error
}

// Read calls read with the part of the scheduler's state that the caller of the request may see, and returns its
// result. The state does not change during the call.
func Read[V any](ctx context.Context, s Scheduler, read func(explain.Reader) (V, error)) (v V, err error) {
	err = s.Read(ctx, ScopeOf(ctx), func(r explain.Reader) (err error) {
		v, err = read(r)
		return err
	})
	return v, err
}

// ReadWith is Read for a function with an argument.
func ReadWith[A, V any](ctx context.Context, s Scheduler, read func(explain.Reader, A) (V, error), arg A) (V, error) {
	return Read(ctx, s, func(r explain.Reader) (V, error) { return read(r, arg) })
}

// ReadList is Read for a function that returns a list and no error.
func ReadList[V any](ctx context.Context, s Scheduler, read func(explain.Reader) []V) ([]V, error) {
	return Read(ctx, s, func(r explain.Reader) ([]V, error) { return read(r), nil })
}

// MaySee returns an error unless the caller may see the job. Routes that answer from other sources than the scheduler
// call it. For a caller with a grant for all apps it returns nil for any name, also that of a removed job.
func MaySee(ctx context.Context, s Scheduler, job string) error {
	if ScopeOf(ctx).IsAll() {
		return nil
	}
	_, err := ReadWith(ctx, s, explain.Reader.Job, job)
	return err
}

package caller

import (
	"context"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// ScopeOf is what the caller of a request may see of the scheduler: the apps of their grant. What is of others is not
// there for them: both are looked for in the same way and have the same answer. What texts say of it is hidden in the
// answer (others.go). Where no request was admitted it is nobody's.
func ScopeOf(ctx context.Context) explain.Scope {
	who := Of(ctx)
	switch {
	case !who.LetIn():
		return explain.Scope{}
	case who.Unrestricted():
		return explain.All()
	}
	return explain.Apps(who.Covers, func(app string) error {
		return NotAllowed(who.Principal, "a grant for the app "+failure.Quoted(app))
	})
}

// Scheduler is what is needed of the scheduler to see something of it.
type Scheduler interface {
	// Read has look see the scheduler's memory at one moment, as far as the scope goes.
	Read(ctx context.Context, scope explain.Scope, look func(explain.Reader) error) error
}

// See is what the scheduler says to the caller of a request, all of one moment.
func See[V any](ctx context.Context, s Scheduler, say func(explain.Reader) (V, error)) (v V, err error) {
	err = s.Read(ctx, ScopeOf(ctx), func(r explain.Reader) (err error) {
		v, err = say(r)
		return err
	})
	return v, err
}

// SeeOf is see for what is said of something.
func SeeOf[A, V any](ctx context.Context, s Scheduler, say func(explain.Reader, A) (V, error), of A) (V, error) {
	return See(ctx, s, func(r explain.Reader) (V, error) { return say(r, of) })
}

// List is see for what is always there.
func List[V any](ctx context.Context, s Scheduler, say func(explain.Reader) []V) ([]V, error) {
	return See(ctx, s, func(r explain.Reader) ([]V, error) { return say(r), nil })
}

// MaySee refuses a job, for what the scheduler does not answer, unless it is of the caller's apps. Who may see all
// apps may see all jobs, also those that are not there any more.
func MaySee(ctx context.Context, s Scheduler, job string) error {
	if ScopeOf(ctx).IsAll() {
		return nil
	}
	_, err := SeeOf(ctx, s, explain.Reader.Job, job)
	return err
}

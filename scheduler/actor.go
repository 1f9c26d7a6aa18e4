package scheduler

import (
	"context"

	"github.com/elasticjob-go/elasticjob/history/event"
)

type actorKey struct{}

// WithActor says who asks for what is asked for with the context: changes made with it leave audit rows with that name
// (rule A1).
func WithActor(ctx context.Context, a event.Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// actorOf is who asks; the zero Actor where nobody has said.
func actorOf(ctx context.Context) event.Actor {
	a, _ := ctx.Value(actorKey{}).(event.Actor)
	return a
}

package scheduler

import (
	"context"

	"github.com/elasticjob-go/elasticjob/history/event"
)

type actorKey struct{}

// WithActor adds the requester to a context. The audit rows of changes that are made with that context name the
// requester (rule A1).
func WithActor(ctx context.Context, a event.Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// actorOf returns the requester; the zero Actor if the context has none.
func actorOf(ctx context.Context) event.Actor {
	a, _ := ctx.Value(actorKey{}).(event.Actor)
	return a
}

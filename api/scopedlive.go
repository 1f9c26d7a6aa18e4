package api

import (
	"context"

	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// covers says of which apps the caller sees what is watched, nil for all. What callers of the scoped scheduler give is not asked for: it
// can only be the caller's.
func (s scoped) covers(ctx context.Context) (func(app string) bool, error) {
	g, free, err := s.grant(ctx)
	if err != nil || free {
		return nil, err
	}
	return g.Covers, nil
}

// JobPage lists jobs of the caller's apps.
func (s scoped) JobPage(ctx context.Context, q view.Query) (p view.Page, err error) {
	if q.Covers, err = s.covers(ctx); err != nil {
		return p, err
	}
	return s.all.JobPage(ctx, q)
}

// Summary sums up the caller's apps.
func (s scoped) Summary(ctx context.Context, _ func(string) bool) (view.Summary, error) {
	return watched(ctx, s, s.all.Summary)
}

// Overview has what is wrong of the caller's apps.
func (s scoped) Overview(ctx context.Context, _ func(string) bool) (view.Overview, error) {
	return watched(ctx, s, s.all.Overview)
}

// Follow names what changes of the caller's apps.
func (s scoped) Follow(ctx context.Context, _ func(string) bool) (*view.Stream, error) {
	return watched(ctx, s, s.all.Follow)
}

func watched[V any](ctx context.Context, s scoped, ask func(context.Context, func(string) bool) (V, error)) (none V, err error) {
	covers, err := s.covers(ctx)
	if err != nil {
		return none, err
	}
	return ask(ctx, covers)
}

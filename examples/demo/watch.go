package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// watcher follows the runs of jobs and shows them.
type watcher struct {
	api    *client
	server *server
	screen *screen
	jobs   []string

	seen     map[string]*sighting // by execution id
	order    []*sighting          // those that are not over, oldest first
	detailed map[string]bool      // jobs of which a run was shown in full
	ended    int                  // runs shown to their end
	advised  bool
}

// sighting is what was shown of an execution so far.
type sighting struct {
	id     string
	full   bool // shard by shard, with output
	begun  bool
	state  string
	reason string
	shards map[int]string // states
}

// watch shows runs until ctx ends or the server fails.
func (w *watcher) watch(ctx context.Context) error {
	for {
		err := w.look(ctx)
		if !w.advised && w.ended >= len(w.jobs) {
			w.advise()
		}
		var refused *refusal
		if err != nil && errors.As(err, &refused) && refused.status != 503 && refused.status != 404 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.server.exited:
			if err := w.revive(ctx); err != nil {
				return err
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// revive starts the server again after someone killed it.
func (w *watcher) revive(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !w.server.killed() {
		return w.server.explain("the server ended by itself")
	}
	w.screen.event("", "the server was killed; what it started goes on without it. Starting it again, on the same data")
	if err := w.server.start(); err != nil {
		return err
	}
	if err := w.server.awaitReady(ctx, w.api); err != nil {
		return err
	}
	w.screen.event("", "it is back, and finds its runs again")
	return nil
}

// look asks once for all that may have changed, and shows it.
func (w *watcher) look(ctx context.Context) error {
	for _, job := range w.jobs {
		ids, err := w.api.runs(ctx, job)
		if err != nil {
			return err
		}
		for _, id := range ids {
			w.expect(id)
		}
	}
	going := w.order[:0]
	for _, s := range w.order {
		e, err := w.api.execution(ctx, s.id)
		if err != nil {
			return errors.Join(err, w.keep(going))
		}
		w.show(ctx, s, e)
		if !e.over() {
			going = append(going, s)
		}
	}
	w.order = going
	return nil
}

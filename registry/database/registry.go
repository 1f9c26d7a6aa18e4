package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Registry is a registry.Registry in SQL. All methods may be called concurrently.
type Registry struct {
	place  *place
	memory *memory
	// witness is under which name this server says to others what it remembers.
	witness string

	ctx    context.Context // ends when it is closed
	cancel context.CancelFunc
	owned  sync.WaitGroup

	campaigning chan struct{} // holds one token while nobody campaigns
	wasUsable   atomic.Bool   // the database could be used once

	current atomic.Pointer[term] // set with mu held, so that Close misses none

	mu    sync.Mutex
	stood []string // the latest holders of this process

	follower follower
}

var _ registry.Registry = (*Registry)(nil)

// Open checks the options and begins to look who leads; it does not wait for the database, which Campaign does.
func Open(o Options) (*Registry, error) {
	p, err := newPlace(o)
	if err != nil {
		return nil, err
	}
	m, err := openMemory(o.Seen)
	if err != nil {
		p.close()
		return nil, err
	}
	r := &Registry{place: p, memory: m, witness: uuid.NewString(), campaigning: make(chan struct{}, 1)}
	r.campaigning <- struct{}{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.owned.Go(func() { r.follow(r.ctx) })
	return r, nil
}

// Leader is who leads by the lease's row.
func (r *Registry) Leader() (registry.Leader, bool) {
	if current := r.current.Load(); current != nil && current.Err() == nil {
		return current.leader, true
	}
	found, ok := r.follower.leader()
	if !ok || r.isOwn(found.LeaseHolder) {
		return registry.Leader{}, false
	}
	return found.leader(), true
}

// Trouble says why the database can't be reached or used at present; nil when it can. It asks nobody.
func (r *Registry) Trouble() error { return r.follower.trouble() }

var errClosed = errors.New("the registry is closed")

// complain is how often the log says that standing for election fails.
const complain = 30 * time.Second

// Campaign waits until the lead is free and takes it. It keeps trying while the database can't be reached, and says so
// in the log. A term of this registry that still lasts ends. Its error is registry.ErrUnusable only as long as the
// database could not be used once: what worked once comes back, and is tried on.
func (r *Registry) Campaign(ctx context.Context, who string) (registry.Term, error) {
	fail := func(err error) (registry.Term, error) {
		return nil, fmt.Errorf("stand for election in the database %s: %w", r.place.name, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(errClosed) })()
	select {
	case <-r.campaigning:
		defer func() { r.campaigning <- struct{}{} }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	if current := r.current.Load(); current != nil {
		current.finish(fmt.Errorf("%w: this process stood for election again", registry.ErrTermEnded))
	}
	var said time.Time
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		t, err := r.try(ctx, who)
		switch {
		case err == nil:
			if err = r.lead(ctx, t); err == nil {
				r.place.Logger.Info("term began", "term", t.Number(), "who", who)
				return t, nil
			}
			t.finish(err)
			return fail(err)
		case ctx.Err() != nil:
			return fail(context.Cause(ctx))
		case is(err, denied...) && !r.wasUsable.Load():
			return fail(fmt.Errorf("%w: %w", registry.ErrUnusable, err))
		case errors.Is(err, registry.ErrUnusable) && !r.wasUsable.Load():
			return fail(err)
		}
		if time.Since(said) >= complain {
			said = time.Now()
			r.place.Logger.Warn("standing for election failed: trying on", "error", err)
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
		}
	}
}

// firstPause and longestPause are between tries.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

// lead makes a term that has begun the registry's, unless nobody wants it any more.
func (r *Registry) lead(ctx context.Context, t *term) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return errClosed
	}
	if ctx.Err() == nil {
		r.current.Store(t)
	}
	return ctx.Err()
}

// mostStood is more of our holders than the lease's row may be behind.
const mostStood = 100

// standing keeps that the lead may be this process's under that name.
func (r *Registry) standing(holder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stood = append(r.stood, holder)
	r.stood = r.stood[max(0, len(r.stood)-mostStood):]
}

// isOwn reports whether a holder is one of this process, which leads with its current term only: others of it are
// over, or never began.
func (r *Registry) isOwn(holder string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.stood, holder)
}

// Close ends the term, gives the lead back and waits for everything.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.cancel() // no term becomes the registry's after this
	r.mu.Unlock()
	if current := r.current.Load(); current != nil {
		current.finish(fmt.Errorf("%w: the registry was closed", registry.ErrTermEnded))
	}
	<-r.campaigning // a campaign that just ends
	r.campaigning <- struct{}{}
	r.owned.Wait()
	r.place.close()
	return r.memory.keep()
}

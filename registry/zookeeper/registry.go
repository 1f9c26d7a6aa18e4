package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Registry is a registry.Registry in ZooKeeper. All methods may be called concurrently.
type Registry struct {
	place *place

	ctx    context.Context // ends when it is closed
	cancel context.CancelFunc
	owned  sync.WaitGroup

	campaigning chan struct{} // holds one token while nobody campaigns

	current atomic.Pointer[term] // set with mu held, so that Close misses none

	mu    sync.Mutex
	stood []string        // the latest candidates of this process
	seen  registry.Leader // the latest leader that was seen

	follower follower
}

var _ registry.Registry = (*Registry)(nil)

// Open checks the options and begins to look who leads; it does not wait for
// ZooKeeper, which Campaign does. Its error is registry.ErrUnusable.
func Open(o Options) (*Registry, error) {
	p, err := newPlace(o)
	if err != nil {
		return nil, err
	}
	r := &Registry{place: p, campaigning: make(chan struct{}, 1)}
	r.campaigning <- struct{}{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.follower.place, r.follower.saw = p, r.saw
	r.owned.Go(func() { r.follower.run(r.ctx) })
	return r, nil
}

// Leader is who leads by the election's nodes. Of an original that leads only the
// address and since when it stands is known; its term is 0.
func (r *Registry) Leader() (registry.Leader, bool) {
	if current := r.current.Load(); current != nil && current.Err() == nil {
		return current.leader, true
	}
	l, candidate, ok := r.follower.leader()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok || slices.Contains(r.stood, candidate) {
		return registry.Leader{}, false
	}
	return l, true
}

// saw keeps the latest leader, and logs when term numbers have gone back.
func (r *Registry) saw(l registry.Leader) {
	r.mu.Lock()
	before := r.seen
	later := l.Since.After(before.Since)
	if later || l.Term > before.Term {
		r.seen = l
	}
	r.mu.Unlock()
	if later && l.Term <= before.Term {
		r.place.Logger.Warn("ZooKeeper went back: the new leader's term is not after one that was there before. Was it restored from an older copy, or its namespace emptied? What was done since that copy may be done again",
			"term", l.Term, "before", before.Term, "leader", l.Address)
	}
}

// highest is the number of the latest term that was seen.
func (r *Registry) highest() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.Term
}

// Trouble says why ZooKeeper can't be reached at present, or refuses to show who leads; nil when neither is so. It
// asks nobody.
func (r *Registry) Trouble() error { return r.follower.trouble() }

// Campaign stands for election until it leads or ctx ends. It keeps trying while
// ZooKeeper can't be reached, and says so in the log. A term of this registry that still
// lasts ends. The address who is stored, and seen by everybody. Its error is registry.ErrUnusable only as
// long as no candidate could be made: what worked once comes back, as when somebody is just
// restoring ZooKeeper, and is tried on.
func (r *Registry) Campaign(ctx context.Context, who string) (registry.Term, error) {
	fail := func(err error) (registry.Term, error) {
		return nil, fmt.Errorf("stand for election in %s of ZooKeeper %s: %w", r.place.root, r.place.Servers, err)
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
	var failures backoff
	for {
		began := time.Now()
		t, err := r.try(ctx, who)
		switch {
		case err == nil:
			r.place.Logger.Info("term began", "term", t.Number(), "who", who)
			return t, nil
		case ctx.Err() != nil:
			return fail(context.Cause(ctx))
		case errors.Is(err, registry.ErrUnusable) && !r.hasStood():
			return fail(err)
		}
		if time.Since(began) > longestPause { // as when a session is lost that stood for long
			failures.reset()
		}
		wait := failures.next(rand.Float64())
		if errors.Is(err, registry.ErrUnusable) {
			wait = max(wait, time.Second)
		}
		if time.Since(said) >= complain {
			said = time.Now()
			r.place.Logger.Warn("standing for election failed: trying on", "servers", r.place.servers, "error", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

var errClosed = errors.New("the registry is closed")

// try is one candidacy with a session of its own, which the term keeps.
func (r *Registry) try(ctx context.Context, who string) (_ *term, err error) {
	c, err := r.place.connect(nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	// A request that waits for a connection ends with the session.
	defer context.AfterFunc(ctx, c.End)()
	if err := c.join(ctx); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	own, err := c.stand(ctx, who, r.standing)
	if err != nil {
		return nil, err
	}
	leader, version, err := c.begin(own, who, r.highest())
	if err != nil {
		return nil, err
	}
	r.saw(leader)
	t := newTerm(c, own, leader, version)
	if err = t.recoverCommit(ctx); err == nil {
		err = r.lead(ctx, t)
	}
	if err != nil {
		t.finish(err)
		return nil, err
	}
	return t, nil
}

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

// mostStood is more of our candidates than a follower may be behind, or a ZooKeeper that was restored.
const mostStood = 100

// standing keeps that a candidate was made: the registry was usable once, and the candidate must not be shown as the
// leader when its term has ended, least of all by ourselves.
func (r *Registry) standing(candidate string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stood = append(r.stood, candidate)
	r.stood = r.stood[max(0, len(r.stood)-mostStood):]
}

func (r *Registry) hasStood() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.stood) > 0
}

// Close ends the term, gives the session back and waits for everything.
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
	return nil
}

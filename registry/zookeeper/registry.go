package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Registry is a registry.Registry in ZooKeeper. All methods may be called concurrently.
type Registry struct {
	place  *place
	limits registry.Limits

	ctx    context.Context // over: closed
	cancel context.CancelFunc
	owned  sync.WaitGroup

	campaigning chan struct{} // holds one token while nobody campaigns

	mu      sync.Mutex
	closed  bool
	current *term
	ended   []string        // the candidates of our latest terms that are over
	stood   bool            // a candidate was made: the registry was usable once
	seen    registry.Leader // the latest leader that was seen

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
	r := &Registry{place: p, limits: p.limits(), campaigning: make(chan struct{}, 1)}
	r.campaigning <- struct{}{}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.follower.saw = r.saw
	r.owned.Go(func() { r.follower.run(r.ctx, p) })
	return r, nil
}

// wireLimit is ZooKeeper's jute.maxbuffer unless it was set: no request is longer.
const wireLimit = 0xfffff

// frameBytes is room for what a commit's request has beside its writes: headers, the
// fence and the check of the election node.
const frameBytes = 1024

// limits are such that the writes of any commit that keeps to them fit one request:
// PerWrite is what the largest operation takes beside path and value.
func (p *place) limits() registry.Limits {
	return registry.Limits{
		Value:    1_000_000,
		Commit:   wireLimit - frameBytes - 2*len(p.root),
		PerWrite: createBytes + len(p.root),
	}
}

// Limits are ZooKeeper's 1 MiB per request, less what frames the writes.
func (r *Registry) Limits() registry.Limits { return r.limits }

// Leader is who leads by the election's nodes. Of an original that leads only the
// address and since when it stands is known; its term is 0.
func (r *Registry) Leader() (registry.Leader, bool) {
	r.mu.Lock()
	current := r.current
	r.mu.Unlock()
	if current != nil && current.Err() == nil {
		return current.leader, true
	}
	l, candidate, ok := r.follower.leader()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok || slices.Contains(r.ended, candidate) {
		return registry.Leader{}, false
	}
	return l, true
}

// endedMost is more terms of ours than a follower may be behind, or a ZooKeeper that was restored.
const endedMost = 100

// over keeps that a term of ours is: followers may still show it, but it is not to be told by ourselves.
func (r *Registry) over(t *term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, t.own.name)
	r.ended = r.ended[max(0, len(r.ended)-endedMost):]
}

// saw keeps the latest leader, and tells when term numbers have gone back.
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

// Trouble says why ZooKeeper can't be reached at present, or refuses to tell who leads; nil when neither is so. It
// asks nobody.
func (r *Registry) Trouble() error {
	refusal, silence := r.follower.trouble()
	switch {
	case silence != nil:
		return fmt.Errorf("can't reach ZooKeeper at %s: %w", r.place.Servers, silence)
	case refusal != nil:
		return fmt.Errorf("can't find out who leads from ZooKeeper at %s: %w", r.place.Servers, refusal)
	}
	return nil
}

// Campaign stands for election until it leads or ctx ends. It keeps trying while
// ZooKeeper can't be reached, and says so in the log. A term of this registry that still
// lasts ends. The address who is stored, and seen by everybody. Its error is registry.ErrUnusable only as
// long as no candidate could be made: what worked once comes back, as when somebody is just
// restoring ZooKeeper, and is tried on.
func (r *Registry) Campaign(ctx context.Context, who string) (registry.Term, error) {
	fail := func(err error) (registry.Term, error) {
		return nil, fmt.Errorf("stand for election in %s of ZooKeeper %s: %w", r.place.root, r.place.Servers, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	select {
	case <-r.campaigning:
	case <-ctx.Done():
		return fail(ctx.Err())
	}
	defer func() { r.campaigning <- struct{}{} }()
	r.mu.Lock()
	current := r.current
	r.mu.Unlock()
	if current != nil {
		current.finish(fmt.Errorf("%w: this process stood for election again", registry.ErrTermEnded))
	}
	var said time.Time
	failures := backoff{first: 5 * pause, most: longestPause}
	for {
		began := time.Now()
		t, err := r.try(ctx, who)
		switch {
		case err == nil:
			return t, nil
		case ctx.Err() != nil:
			return fail(ctx.Err())
		case r.ctx.Err() != nil:
			return fail(errClosed)
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
		case <-r.ctx.Done():
		}
	}
}

var errClosed = errors.New("the registry is closed")

// try is one candidacy with a session of its own, which the term keeps.
func (r *Registry) try(ctx context.Context, who string) (_ *term, err error) {
	if r.ctx.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	c, err := dial(r.place)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	// A request that waits for a connection ends with the client.
	defer context.AfterFunc(ctx, c.abandon)()
	if err := c.join(ctx); err != nil {
		return nil, err
	}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	own, err := c.stand(ctx, who, r.standing)
	if err != nil {
		return nil, err
	}
	record, version, err := c.begin(own, who, time.Now(), r.highest())
	if err != nil {
		return nil, err
	}
	return r.reign(ctx, c, own, record, version)
}

// standing keeps that a candidate was made.
func (r *Registry) standing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stood = true
}

func (r *Registry) hasStood() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stood
}

// reign makes the term that has begun the registry's.
func (r *Registry) reign(ctx context.Context, c *client, own candidate, record termRecord, version int32) (*term, error) {
	r.saw(record.leader())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := newTerm(r, c, own, record, version)
	r.current = t
	r.place.Logger.Info("term began", "term", t.Number(), "who", record.Address)
	return t, nil
}

// Close ends the term, gives the session back and waits for everything.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	current := r.current
	r.mu.Unlock()
	r.cancel()
	if current != nil {
		current.finish(fmt.Errorf("%w: the registry was closed", registry.ErrTermEnded))
	}
	<-r.campaigning // a campaign that just ends
	r.campaigning <- struct{}{}
	r.owned.Wait()
	return nil
}

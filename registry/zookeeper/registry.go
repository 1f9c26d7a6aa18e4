package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/campaign"
)

// Registry is a registry.Registry in ZooKeeper. All methods may be called concurrently.
type Registry struct {
	namespace *namespace

	leadership *campaign.Leadership
	candidates campaign.Holders

	mu     sync.Mutex
	latest registry.Leader // the observed leader with the latest term

	follower   follower
	goroutines sync.WaitGroup
}

var _ registry.Registry = (*Registry)(nil)

// Open checks the options and begins to observe who leads. It does not wait for ZooKeeper; Campaign does. If the
// options are invalid, the error is registry.ErrUnusable.
func Open(o Options) (*Registry, error) {
	ns, err := newNamespace(o)
	if err != nil {
		return nil, err
	}
	r := &Registry{namespace: ns, leadership: campaign.New(ns.Logger, warnInterval, "servers", ns.servers)}
	r.follower.namespace, r.follower.onLeader = ns, r.recordLeader
	r.goroutines.Go(func() { r.follower.run(r.leadership.Context()) })
	return r, nil
}

// Leader returns the leader according to the election. If the original leads, Term is 0, and Since is the time of its
// candidacy.
func (r *Registry) Leader() (registry.Leader, bool) {
	if own, ok := r.leadership.Leader(); ok {
		return own, true
	}
	l, candidate, ok := r.follower.leader()
	if !ok || r.candidates.Has(candidate) {
		return registry.Leader{}, false
	}
	return l, true
}

// recordLeader records an observed leader. It logs a warning if the leader is newer than the last one but its term is
// not.
func (r *Registry) recordLeader(l registry.Leader) {
	r.mu.Lock()
	before := r.latest
	later := l.Since.After(before.Since)
	if later || l.Term > before.Term {
		r.latest = l
	}
	r.mu.Unlock()
	if later && l.Term <= before.Term {
		r.namespace.Logger.Warn("ZooKeeper went back: the new leader's term is not later than one that was seen before; it may have been restored from an older copy, or its namespace emptied, and what was done since that copy may be done again",
			"term", l.Term, "before", before.Term, "leader", l.Address)
	}
}

// highestTerm returns the number of the latest observed term.
func (r *Registry) highestTerm() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest.Term
}

// Trouble returns why ZooKeeper can't be reached at present, or why it refuses to show who leads. It returns nil if
// there is no such problem. It sends no request.
func (r *Registry) Trouble() error { return r.follower.trouble() }

// Campaign stands for election until this process leads or ctx ends. It ends this registry's previous term if that
// still lasts. While ZooKeeper can't be reached, it logs that and retries. The address is stored in clear text, for
// everyone who can read the election. The error is registry.ErrUnusable only if this registry has never stood for
// election before. A registry that has worked once is expected to come back, for example after a restore of ZooKeeper.
func (r *Registry) Campaign(ctx context.Context, address string) (registry.Term, error) {
	t, err := r.leadership.Campaign(ctx, address, &election{Registry: r})
	if err != nil {
		return nil, fmt.Errorf("stand for election in %s of ZooKeeper %s: %w", r.namespace.root,
			r.namespace.Servers, err)
	}
	return t, nil
}

// Close ends the term, closes its session and waits for all goroutines of the registry.
func (r *Registry) Close() error {
	r.leadership.Close()
	r.goroutines.Wait()
	return nil
}

// election is a campaign by successive candidates.
type election struct {
	*Registry
	failures backoff
}

func (e *election) PermanentError(err error) error {
	if errors.Is(err, registry.ErrUnusable) && !e.candidates.Any() {
		return err
	}
	return nil
}

func (e *election) Pause(err error, took time.Duration) time.Duration {
	if took > maxPause { // for example, a session was lost after a long candidacy
		e.failures.reset()
	}
	wait := e.failures.next(rand.Float64())
	if errors.Is(err, registry.ErrUnusable) {
		wait = max(wait, time.Second)
	}
	return wait
}

// Try stands for election once, with a new session, which the term keeps.
func (e *election) Try(ctx context.Context, address string) (_ campaign.Term, err error) {
	c, err := e.namespace.connect(nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	// The end of the session also ends requests that wait for a connection.
	defer context.AfterFunc(ctx, c.End)()
	if err := c.join(ctx); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	own, err := c.stand(ctx, address, e.candidates.Add)
	if err != nil {
		return nil, err
	}
	leader, version, err := c.begin(own, address, e.highestTerm())
	if err != nil {
		return nil, err
	}
	e.recordLeader(leader)
	t := newTerm(c, own, leader, version)
	if err = t.recoverCommit(ctx); err != nil {
		t.Finish(err)
		return nil, err
	}
	return t, nil
}

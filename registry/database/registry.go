package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/campaign"
)

// Registry is a registry.Registry in SQL. All methods may be called concurrently.
type Registry struct {
	store  *store
	memory *memory
	// lacksRow is the key of the row in which this server publishes which commits the registry lacks, and proofRow that
	// of the row that it writes to prove that what it has read is durable.
	lacksRow, proofRow string

	leadership *campaign.Leadership
	holders    campaign.Holders
	wasUsable  atomic.Bool // the database was usable at least once

	follower   follower
	goroutines sync.WaitGroup
}

var _ registry.Registry = (*Registry)(nil)

// Open checks the options and begins to observe who leads. It does not wait for the database; Campaign does.
func Open(o Options) (*Registry, error) {
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	m, err := openMemory(o.Seen)
	if err != nil {
		s.close()
		return nil, err
	}
	r := &Registry{store: s, memory: m, lacksRow: uuid.NewString(), proofRow: uuid.NewString(),
		leadership: campaign.New(s.Logger, warnInterval)}
	r.goroutines.Go(func() { r.follow(r.leadership.Context()) })
	return r, nil
}

// Leader returns the leader according to the row of the lease.
func (r *Registry) Leader() (registry.Leader, bool) {
	if own, ok := r.leadership.Leader(); ok {
		return own, true
	}
	found, ok := r.follower.leader()
	if !ok || r.holders.Has(found.LeaseHolder) {
		return registry.Leader{}, false
	}
	return found.leader(), true
}

// Trouble returns why the database can't be reached or used at present, or nil. It sends no request.
func (r *Registry) Trouble() error { return r.follower.trouble() }

// warnInterval is the interval at which the log reports a failing campaign.
const warnInterval = 30 * time.Second

// Campaign waits until the leadership is free and takes it. It ends this registry's previous term if that still lasts.
// While the database can't be reached, it logs that and retries. The error is registry.ErrUnusable only if the
// database was never usable: a database that was usable before is expected to come back.
func (r *Registry) Campaign(ctx context.Context, address string) (registry.Term, error) {
	t, err := r.leadership.Campaign(ctx, address, &election{Registry: r, wait: firstPause})
	if err != nil {
		return nil, fmt.Errorf("stand for election in the database %s: %w", r.store.name, err)
	}
	return t, nil
}

// Close ends the term, releases the lease and waits for all goroutines of the registry.
func (r *Registry) Close() error {
	r.leadership.Close()
	r.goroutines.Wait()
	r.store.close()
	return r.memory.save()
}

// election is a campaign for the lease.
type election struct {
	*Registry
	wait time.Duration
}

func (e *election) Try(ctx context.Context, address string) (campaign.Term, error) {
	t, err := e.try(ctx, address)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (e *election) PermanentError(err error) error {
	switch {
	case e.wasUsable.Load():
	case hasCode(err, deniedCodes...):
		return fmt.Errorf("%w: %w", registry.ErrUnusable, err)
	case errors.Is(err, registry.ErrUnusable):
		return err
	}
	return nil
}

func (e *election) Pause(error, time.Duration) time.Duration {
	wait := e.wait
	e.wait = min(2*wait, maxPause)
	return wait/2 + rand.N(wait)
}

// firstPause and maxPause bound the pause between two tries.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/registry"
)

// term is one leader's term in the database.
type term struct {
	registry *Registry
	store    *store
	leader   registry.Leader
	lineage  string
	holder   string

	// changes is the count in the fence's row after the last answered commit.
	changes atomic.Int64
	// until is the earliest time at which the lease may expire, in nanoseconds since began, by the monotonic clock.
	until atomic.Int64
	began time.Time
	// renewalErr is the error of the last renewal; nil if it succeeded.
	renewalErr atomic.Pointer[error]

	// writing is locked during a commit, and guards the connection.
	writing  sync.Mutex
	conn     *sqlx.Conn // the connection for commits; nil if it is closed
	connUsed time.Time  // when conn was last used

	// ctx ends with the term. Its cause is the first reason that was given to end.
	ctx        context.Context
	end        context.CancelCauseFunc
	goroutines sync.WaitGroup
	finishOnce sync.Once
}

func newTerm(r *Registry, a acquired) *term {
	t := &term{registry: r, store: r.store, leader: a.leader, lineage: a.lineage, holder: a.holder,
		began: time.Now()}
	t.until.Store(int64(a.until.Sub(t.began)))
	t.ctx, t.end = context.WithCancelCause(context.Background())
	t.recordCommit(a.changes)
	t.goroutines.Go(t.renew)
	t.goroutines.Go(t.expire)
	return t
}

func (t *term) Number() int64           { return t.leader.Term }
func (t *term) Leader() registry.Leader { return t.leader }
func (t *term) Done() <-chan struct{}   { return t.ctx.Done() }

// Changed returns nil, because only terms write entries.
func (t *term) Changed() <-chan string { return nil }

// Err returns why the term has ended, or nil. It first ends the term if the lease has expired: if the process was
// suspended, expire may not have done so yet.
func (t *term) Err() error {
	if t.remaining() <= 0 {
		t.end(t.expired())
	}
	why := context.Cause(t.ctx)
	if why == nil || errors.Is(why, registry.ErrTermEnded) {
		return why
	}
	return fmt.Errorf("%w: %w", registry.ErrTermEnded, why)
}

// remaining returns the minimum time until the lease expires.
func (t *term) remaining() time.Duration {
	return time.Duration(t.until.Load()) - time.Since(t.began)
}

// recordCommit records the count in the fence's row after a commit.
func (t *term) recordCommit(changes int64) {
	t.changes.Store(changes)
	replaced := t.registry.memory.recordCommit(position{t.lineage, t.leader.Term, t.holder, changes})
	t.registry.logReplaced(replaced, t.lineage)
}

// Confirm reads the fence's row.
func (t *term) Confirm(ctx context.Context) error {
	found, err := t.registry.readRows(ctx)
	switch ended := t.Err(); {
	case ended != nil:
		return ended
	case err != nil:
		return fmt.Errorf("confirm the term: %w", err)
	case found.Term != t.leader.Term || found.Holder != t.holder:
		return fmt.Errorf("%w: another server leads", registry.ErrTermEnded)
	}
	return nil
}

// Finish ends the term, waits for the goroutines of the term, and releases the lease if the term still holds it.
func (t *term) Finish(reason error) {
	t.end(reason)
	t.goroutines.Wait()
	t.finishOnce.Do(func() {
		t.writing.Lock() // a running commit fails
		defer t.writing.Unlock()
		t.dropConn()
		t.release()
		t.store.Logger.Info("term ended", "term", t.Number(), "why", t.Err())
	})
}

// releaseTimeout is how long Finish tries to release the lease. If it fails, the next leader has to wait until the
// lease expires.
const releaseTimeout = 3 * time.Second

// release releases the lease, unless the registry lacks commits of this term, for example after a failover a moment
// ago. In that case it publishes which commits are missing, because perhaps no candidate knows of them. Until the lease
// expires, the candidates have time to read that.
func (t *term) release() {
	if errors.As(context.Cause(t.ctx), new(rolledBackError)) {
		return // the candidates have been told already
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(releaseTimeout, t.store.Lease))
	defer cancel()
	done, err := t.store.db.ExecContext(ctx, `UPDATE REGISTRY_LEASE l JOIN REGISTRY_FENCE f ON f.id = l.id
 SET l.holder = '', l.renewals = l.renewals + 1, l.expires = UTC_TIMESTAMP(6) WHERE l.id = 1 AND l.holder = ? AND f.term = ? AND f.holder = ? AND f.changes >= ?`,
		t.holder, t.leader.Term, t.holder, t.changes.Load())
	if err != nil {
		return
	}
	if n, err := done.RowsAffected(); err == nil && n == 0 {
		if found, err := t.registry.readRows(ctx); err == nil {
			_ = t.registry.publishLacks(ctx, found.Lineage) // the follower has logged what the registry lacks
		}
	}
}

// Resign ends the term and releases the lease, so that the next leader can begin at once. A running commit fails.
func (t *term) Resign(context.Context) error {
	t.Finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.Number()))
	return nil
}

// countWaiting counts the candidates that can take the leadership.
const countWaiting = "SELECT COUNT(*) FROM REGISTRY_CANDIDATE WHERE expires > UTC_TIMESTAMP(6) AND lacks = ''"

// Standby reports whether another candidate waits for the end of this term. If the candidates can't be read, it
// returns false.
func (t *term) Standby(ctx context.Context) bool {
	var waiting int
	err := t.store.db.GetContext(ctx, &waiting, countWaiting)
	return err == nil && waiting > 0 && t.Err() == nil
}

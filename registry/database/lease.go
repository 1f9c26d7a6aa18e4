package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/registry"
)

// errDeposed is the error of a term whose lease or fence belongs to another leader.
var errDeposed = errors.New("another server has become the leader")

// renew renews the lease until the term ends, five times in the length of a lease. It retries a failed renewal sooner.
func (t *term) renew() {
	interval := t.store.Lease / 5
	for {
		pause := interval
		if err := t.renewOnce(interval); err != nil && t.ctx.Err() == nil {
			t.store.Logger.Warn("lease renewal failed, retrying", "term", t.Number(), "left",
				t.remaining().Round(time.Millisecond), "error", err)
			pause = interval / 5
		}
		select {
		case <-time.After(pause):
		case <-t.ctx.Done():
			return
		}
	}
}

// renewOnce renews the lease in one transaction. It ends the term if the rows show that another leader has taken over,
// or that the registry lacks commits of this term.
func (t *term) renewOnce(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(t.ctx, max(timeout, 200*time.Millisecond))
	defer cancel()
	sent, changes := time.Since(t.began), t.changes.Load()
	err := t.store.inTx(ctx, func(ctx context.Context, tx *sqlx.Conn) error {
		done, err := tx.ExecContext(ctx,
			"UPDATE REGISTRY_LEASE SET renewals = renewals + 1, expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE id = 1 AND holder = ?",
			t.store.Lease.Microseconds(), t.holder)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errDeposed)
		}
		var now rows
		if err := tx.GetContext(ctx, &now, selectRows); err != nil {
			return err
		}
		if now.ReadOnly {
			return errReadOnly
		}
		return t.checkFence(now, changes)
	})
	err = t.confirmRolledBack(ctx, err)
	switch {
	case errors.Is(err, errDeposed), errors.As(err, new(rolledBackError)):
		t.end(err)
	case err == nil:
		t.until.Store(int64(sent + t.store.safeLease()))
	}
	if err = t.store.explain("renew the lease", err); t.ctx.Err() == nil {
		t.renewalErr.Store(&err)
	}
	return err
}

// errStale is the error for an answer that lacks commits which the connection for commits shows.
var errStale = errors.New("the answer is older than this term: connections may be spread over nodes that lag behind; send all of them to one node at a time")

// confirmRolledBack verifies a rolledBackError by a locking read on the connection for commits. It returns errStale if
// that read does not confirm the error, or if a commit is running, because the commit then detects a rollback itself.
// It returns any other error unchanged.
func (t *term) confirmRolledBack(ctx context.Context, err error) error {
	if !errors.As(err, new(rolledBackError)) {
		return err
	}
	if !t.writing.TryLock() {
		return errStale
	}
	defer t.writing.Unlock()
	conn, err := t.connection()
	if err != nil {
		return err
	}
	var now rows
	if err := conn.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
		t.dropConn()
		return err
	}
	if err := t.checkFence(now, t.changes.Load()); err != nil {
		return err
	}
	return errStale
}

// checkFence returns nil if the fence's row is of this term and has at least the number of changes. Otherwise it
// returns a rolledBackError if the registry lacks commits, or errDeposed if another leader has taken over.
func (t *term) checkFence(now rows, changes int64) error {
	switch {
	case now.Changes < changes || now.Term < t.leader.Term || now.Lineage != t.lineage && now.Term <= t.leader.Term:
		return rolledBackError{t.registry.rolledBack(fmt.Sprintf(
			"it is at change %d of term %d, and this term, %d, has made change %d",
			now.Changes, now.Term, t.leader.Term, changes))}
	case now.Term != t.leader.Term || now.Holder != t.holder:
		return fmt.Errorf("%w: the fence is of term %d", errDeposed, now.Term)
	}
	return nil
}

// expired returns the reason for the end of a term whose lease has expired.
func (t *term) expired() error {
	err := errors.New("the lease could not be renewed in time, so another server may lead")
	if last := t.renewalErr.Load(); last != nil && *last != nil {
		err = fmt.Errorf("%w: %w", err, *last)
	}
	return fmt.Errorf("%w: %w", registry.ErrTermEnded, err)
}

// expire ends the term when its lease has expired by this process's monotonic clock.
func (t *term) expire() {
	for {
		left := t.remaining()
		if left <= 0 {
			t.end(t.expired())
			return
		}
		select {
		case <-time.After(left):
		case <-t.ctx.Done():
			return
		}
	}
}

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/registry"
)

// errHeld is the error of acquire if another server has taken the leadership. The candidate then keeps waiting.
var errHeld = errors.New("another server leads")

// rolledBackError is the error for a registry that lacks commits which this server or another candidate remembers.
type rolledBackError struct{ message string }

func (e rolledBackError) Error() string { return e.message }

// acquired is a term that this process has just acquired.
type acquired struct {
	leader  registry.Leader
	lineage string
	holder  string
	changes int64
	// until is the earliest time at which the lease may expire, by this process's monotonic clock.
	until time.Time
}

// acquire takes the leadership in one transaction (rule T1), unless the lease has changed since it was found free.
// After an error this process may hold the lease under a.holder, because the answer may have been lost. r.holders has
// that name, so this process can take the leadership again.
func (r *Registry) acquire(ctx context.Context, address string, found rows) (a acquired, err error) {
	s := r.store
	a.holder = uuid.NewString()
	r.holders.Add(a.holder)
	sent := r.memory.beginRead()
	err = s.inTx(ctx, func(ctx context.Context, tx *sqlx.Conn) error {
		var now rows
		// This locks the lease's row first, as every transaction does that locks both. The lock of the fence's row may
		// have to wait for the end of a commit.
		if err := tx.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
			return err
		}
		if !now.same(found) {
			return errHeld
		}
		if now.ReadOnly {
			return errReadOnly
		}
		if lacks := r.observe(now.position(), sent); lacks != "" {
			return rolledBackError{lacks}
		}
		if err := r.checkOthers(ctx, tx, now.Lineage); err != nil {
			return err
		}
		a.lineage, a.changes = now.Lineage, now.Changes+1
		a.leader = registry.Leader{Term: max(now.Term, now.LeaseTerm) + 1, Address: address}
		if _, err := tx.ExecContext(ctx, "UPDATE REGISTRY_FENCE SET term = ?, holder = ?, changes = ? WHERE id = 1",
			a.leader.Term, a.holder, a.changes); err != nil {
			return err
		}
		a.until = time.Now().Add(s.safeLease())
		if _, err := tx.ExecContext(ctx,
			`UPDATE REGISTRY_LEASE SET term = ?, holder = ?, address = ?, since = UTC_TIMESTAMP(6), renewals = renewals + 1, lease_ms = ?,
 expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE id = 1`, a.leader.Term, a.holder, []byte(address),
			s.Lease.Milliseconds(), s.Lease.Microseconds()); err != nil {
			return err
		}
		return tx.GetContext(ctx, &a.leader.Since, "SELECT since FROM REGISTRY_LEASE WHERE id = 1")
	})
	if err != nil {
		return acquired{}, err
	}
	return a, nil
}

// safeLease is how long a leader may lead after it has sent a renewal. It is a little less than the lease, because the
// clocks of the leader and the database may run at different speeds.
func (o Options) safeLease() time.Duration { return o.Lease - o.Lease/20 }

// registerCandidate writes a row of REGISTRY_CANDIDATE, which is valid for one lease. If lacks is "", the row tells
// the leader that there is a standby. Otherwise it tells the other candidates which commits the registry lacks.
func (s *store) registerCandidate(ctx context.Context, holder, lineage, lacks string) error {
	ctx, cancel := context.WithTimeout(ctx, s.requestTimeout())
	defer cancel()
	_, err := s.db.ExecContext(ctx, `INSERT INTO REGISTRY_CANDIDATE (holder, expires, lineage, lacks) VALUES (?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, ?, ?)
 ON DUPLICATE KEY UPDATE expires = VALUES(expires), lineage = VALUES(lineage), lacks = VALUES(lacks)`, holder,
		s.Lease.Microseconds(), lineage, []byte(lacks[:min(len(lacks), maxLacks)]))
	return err
}

// writeProof writes a row of REGISTRY_CANDIDATE that has expired, so that it is no candidate's. It gives up soon,
// because the next read of who leads has to wait for it.
func (s *store) writeProof(ctx context.Context, holder string) error {
	ctx, cancel := context.WithTimeout(ctx, s.Lease/8)
	defer cancel()
	_, err := s.db.ExecContext(ctx, `INSERT INTO REGISTRY_CANDIDATE (holder, expires, lineage, lacks) VALUES (?, UTC_TIMESTAMP(6), '', '')
 ON DUPLICATE KEY UPDATE expires = VALUES(expires)`, holder)
	return err
}

// maxLacks is the maximum length of a row's text about missing commits, in bytes.
const maxLacks = 512

// checkOthers returns an error if another candidate has published that the registry lacks commits.
func (r *Registry) checkOthers(ctx context.Context, tx *sqlx.Conn, lineage string) error {
	var lacks string
	err := tx.GetContext(ctx, &lacks,
		"SELECT lacks FROM REGISTRY_CANDIDATE WHERE expires > UTC_TIMESTAMP(6) AND lineage = ? AND lacks <> '' LIMIT 1",
		lineage)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		r.follower.setOthersLack("")
		return nil
	case err != nil:
		return err
	}
	lacks = r.rolledBack("another server has seen more: " + lacks)
	r.follower.setOthersLack(lacks)
	return rolledBackError{lacks}
}

// removeCandidate deletes the row of a candidate. It also deletes rows that expired more than an hour ago, because
// their candidates have disappeared.
func (s *store) removeCandidate(ctx context.Context, holder string) error {
	_, err := s.db.ExecContext(ctx,
		"DELETE FROM REGISTRY_CANDIDATE WHERE holder = ? OR expires < UTC_TIMESTAMP(6) - INTERVAL 1 HOUR", holder)
	return err
}

// try waits until the leadership is free, and takes it. It returns at the first error, but continues while another
// server leads or the registry lacks commits.
func (r *Registry) try(ctx context.Context, address string) (*term, error) {
	if err := r.store.prepare(ctx, r.memory.get()); err != nil {
		return nil, err
	}
	r.wasUsable.Store(true)
	candidate := uuid.NewString()
	var registeredAt time.Time
	defer func() {
		if !registeredAt.IsZero() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store.Lease/5)
			defer cancel()
			_ = r.store.removeCandidate(ctx, candidate) // otherwise the row expires
		}
	}()
	for {
		found, err := r.readRows(ctx)
		if err != nil {
			return nil, r.store.explain("read who leads", err)
		}
		if r.holders.Has(found.LeaseHolder) || found.isFree(r.follower.unchanged()) {
			t, err := r.acquireInTime(ctx, address, found)
			if !errors.Is(err, errHeld) && !errors.As(err, new(rolledBackError)) {
				return t, err
			}
		}
		// A server that remembers missing commits cannot lead, so it is no standby.
		if lacks := r.follower.lacking(); lacks == "" && time.Since(registeredAt) > r.store.Lease/3 {
			if err := r.store.registerCandidate(ctx, candidate, found.Lineage, ""); err != nil {
				return nil, r.store.explain("register as a standby", err)
			}
			registeredAt = time.Now()
		}
		select {
		case <-time.After(jitter(checkInterval)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// acquireInTime takes the leadership and begins the term. It returns an error if taking the leadership has lasted
// longer than the lease, because the lease may then have expired.
func (r *Registry) acquireInTime(ctx context.Context, address string, found rows) (*term, error) {
	acquireCtx, cancel := context.WithTimeout(ctx, max(r.store.Lease, acquireTimeout))
	defer cancel()
	a, err := r.acquire(acquireCtx, address, found)
	switch {
	case errors.Is(err, errHeld), errors.As(err, new(rolledBackError)):
		return nil, err
	case err != nil:
		return nil, r.store.explain("take the lead", err)
	case time.Now().After(a.until):
		return nil, fmt.Errorf("take the lead in the database %s: it took longer than the lease", r.store.name)
	}
	return newTerm(r, a), nil
}

// acquireTimeout is how long acquire waits at least for the fence's lock, which a leader that disappeared may still
// hold.
const acquireTimeout = 10 * time.Second

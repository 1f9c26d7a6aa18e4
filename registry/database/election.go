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

// errHeld is the error of a candidate that finds the lead held, so it keeps waiting.
var errHeld = errors.New("somebody else leads")

// behind is the error for a registry that lacks commits which this server has seen.
type behind struct{ what string }

func (b behind) Error() string { return b.what }

// taken is a lead that this process has just taken.
type taken struct {
	leader  registry.Leader
	lineage string
	holder  string
	changes int64
	// until is the earliest time, by this process's monotonic clock, at which the lease may end.
	until time.Time
}

// take takes the lead if it is free, in one transaction (rule T1). found is the lease that was found free. After an
// error the lead may have been taken under t.holder; this process recognizes that holder as its own and may take the
// lead again.
func (r *Registry) take(ctx context.Context, who string, found rows) (t taken, err error) {
	p := r.place
	t.holder = uuid.NewString()
	r.holders.Add(t.holder)
	before := r.memory.get()
	err = p.inTx(ctx, func(ctx context.Context, tx *sqlx.Conn) error {
		var now rows
		// Lock the lease's row first, as every transaction does; the lock of the fence's row may wait for the end of a
		// commit.
		if err := tx.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
			return err
		}
		if !now.same(found) {
			return errHeld
		}
		if now.ReadOnly {
			return errReadOnly
		}
		if lacks := r.noted(now.seen(), before); lacks != "" {
			return behind{lacks}
		}
		if err := r.othersRemember(ctx, tx, now.Lineage); err != nil {
			return err
		}
		t.lineage, t.changes = now.Lineage, now.Changes+1
		t.leader = registry.Leader{Term: max(now.Term, now.LeaseTerm) + 1, Address: who}
		if _, err := tx.ExecContext(ctx, "UPDATE REGISTRY_FENCE SET term = ?, holder = ?, changes = ? WHERE id = 1",
			t.leader.Term, t.holder, t.changes); err != nil {
			return err
		}
		t.until = time.Now().Add(p.holds())
		if _, err := tx.ExecContext(ctx,
			`UPDATE REGISTRY_LEASE SET term = ?, holder = ?, address = ?, since = UTC_TIMESTAMP(6), renewals = renewals + 1, lease_ms = ?,
 expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND WHERE id = 1`, t.leader.Term, t.holder, []byte(who),
			p.Lease.Milliseconds(), p.Lease.Microseconds()); err != nil {
			return err
		}
		return tx.GetContext(ctx, &t.leader.Since, "SELECT since FROM REGISTRY_LEASE WHERE id = 1")
	})
	if err != nil {
		return taken{}, err
	}
	return t, nil
}

// holds is how long a leader may lead after it has sent a renewal: a little less than its lease, because the clocks of
// leader and database may run at different speeds.
func (o Options) holds() time.Duration { return o.Lease - o.Lease/20 }

// waits registers a candidate for one lease: it tells the leader that there is a standby, or, with lacks, tells the
// other candidates what the registry lacks that this server has seen.
func (p *place) waits(ctx context.Context, holder, lineage, lacks string) error {
	ctx, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	_, err := p.db.ExecContext(ctx, `INSERT INTO REGISTRY_CANDIDATE (holder, expires, lineage, lacks) VALUES (?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, ?, ?)
 ON DUPLICATE KEY UPDATE expires = VALUES(expires), lineage = VALUES(lineage), lacks = VALUES(lacks)`, holder,
		p.Lease.Microseconds(), lineage, []byte(lacks[:min(len(lacks), maxLacks)]))
	return err
}

// maxLacks is the greatest length in bytes of the text lacks that a candidate publishes.
const maxLacks = 512

// othersRemember returns an error if another candidate has published that the registry lacks something.
func (r *Registry) othersRemember(ctx context.Context, tx *sqlx.Conn, lineage string) error {
	var lacks string
	err := tx.GetContext(ctx, &lacks, "SELECT lacks FROM REGISTRY_CANDIDATE WHERE expires > UTC_TIMESTAMP(6) AND lineage = ? AND lacks <> '' LIMIT 1", lineage)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		r.follower.heard("")
		return nil
	case err != nil:
		return err
	}
	lacks = r.wentBack("another server remembers more, and says: " + lacks)
	r.follower.heard(lacks)
	return behind{lacks}
}

// waitsNoMore deletes the candidate's row, and the rows of candidates that disappeared without deleting theirs.
func (p *place) waitsNoMore(ctx context.Context, holder string) error {
	_, err := p.db.ExecContext(ctx, "DELETE FROM REGISTRY_CANDIDATE WHERE holder = ? OR expires < UTC_TIMESTAMP(6) - INTERVAL 1 HOUR", holder)
	return err
}

// try waits until the lead is free and takes it, or returns the first error.
func (r *Registry) try(ctx context.Context, who string) (*term, error) {
	if err := r.place.prepare(ctx, r.memory.get()); err != nil {
		return nil, err
	}
	r.wasUsable.Store(true)
	candidate := uuid.NewString()
	var said time.Time
	defer func() {
		if !said.IsZero() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.place.Lease/5)
			defer cancel()
			_ = r.place.waitsNoMore(ctx, candidate) // otherwise the row expires
		}
	}()
	for {
		found, err := r.look(ctx)
		if err != nil {
			return nil, r.place.explain("look who leads", err)
		}
		if r.holders.Has(found.LeaseHolder) || found.isFree(r.follower.unchanged()) {
			t, err := r.takeWithin(ctx, who, found)
			if !errors.Is(err, errHeld) && !errors.As(err, new(behind)) {
				return t, err
			}
		}
		// A server that knows of lost commits is no standby.
		if lacks := r.follower.missing(); lacks == "" && time.Since(said) > r.place.Lease/3 {
			if err := r.place.waits(ctx, candidate, found.Lineage, ""); err != nil {
				return nil, r.place.explain("stand by", err)
			}
			said = time.Now()
		}
		select {
		case <-time.After(jitter(checkInterval)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// takeWithin takes the lead, unless that takes longer than the lease, which would end before the term begins.
func (r *Registry) takeWithin(ctx context.Context, who string, found rows) (*term, error) {
	within, cancel := context.WithTimeout(ctx, max(r.place.Lease, takeTimeout))
	defer cancel()
	t, err := r.take(within, who, found)
	var gone behind
	switch {
	case errors.Is(err, errHeld), errors.As(err, &gone):
		return nil, err
	case err != nil:
		return nil, r.place.explain("take the lead", err)
	case time.Now().After(t.until):
		return nil, fmt.Errorf("take the lead in the database %s: it took longer than the lease", r.place.name)
	}
	return newTerm(r, t), nil
}

// takeTimeout is how long take waits for the fence's lock, which a leader that disappeared may still hold.
const takeTimeout = 10 * time.Second

package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
)

// commandTimeout is how long a command retries a database that does not answer, while its user waits at a terminal.
const commandTimeout = time.Minute

// Accept declares the present content of the database valid, whatever the servers remember of it: the operator has
// decided that the commits which it lacks are lost. It returns the change and the term that the registry is at. It
// fails while a leader exists. It recognizes a leader by its renewals, not by the lease's expiry, since the database's
// clock may have leapt: it waits for a lease that has not expired, and then looks whether it was renewed.
func Accept(ctx context.Context, o Options) (change, term int64, err error) {
	var before rows
	err = o.within(ctx, func(ctx context.Context, p *place) error { return p.db.GetContext(ctx, &before, selectRows) })
	if err != nil {
		return 0, 0, err
	}
	if before.LeaseHolder != "" && before.Lives {
		select {
		case <-time.After(before.lease() + before.lease()/10):
		case <-ctx.Done():
			return 0, 0, fmt.Errorf("wait for the end of the lease: %w", ctx.Err())
		}
	}
	err = o.within(ctx, func(ctx context.Context, p *place) error {
		return p.inTx(ctx, func(ctx context.Context, tx *sqlx.Conn) error {
			var now rows
			if err := tx.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
				return err
			}
			if now.LeaseHolder != "" && now.Lives && !now.same(before) {
				return fmt.Errorf("the server at %s leads: nothing has to be accepted", now.Address)
			}
			if now.ReadOnly {
				return errReadOnly
			}
			change, term = now.Changes, now.Term
			_, err := tx.ExecContext(ctx, "UPDATE REGISTRY_FENCE SET lineage = ? WHERE id = 1", uuid.NewString())
			return err
		})
	})
	return change, term, err
}

// Look returns why the database has no usable registry, or nil if it has one. It creates nothing.
func Look(ctx context.Context, o Options) error {
	return o.within(ctx, func(ctx context.Context, p *place) error {
		var found rows
		return p.db.GetContext(ctx, &found, selectRows)
	})
}

// within runs a function with the database, without standing for election.
func (o Options) within(ctx context.Context, do func(context.Context, *place) error) error {
	p, err := newPlace(o)
	if err != nil {
		return err
	}
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err = do(ctx, p)
	if is(err, noSuchTable) {
		return fmt.Errorf("the database %s has no registry: no scheduler has ever used it; name the database that your servers have, or start a server first, which makes the tables", p.name)
	}
	return p.explain("use the registry", err)
}

// ErrNotEmpty is wrapped by the error of Restore if the database already has a registry.
var ErrNotEmpty = errors.New("there is a registry already")

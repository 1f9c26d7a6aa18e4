package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
)

// commandPatience is for how long a database is tried that does not answer: somebody waits at a terminal.
const commandPatience = time.Minute

// Accept makes what is in the database what counts, whatever servers remember of it: a person has decided that what it
// lacks is lost. It says at which change of which term it is. While somebody leads there is nothing to accept, which
// is an error; whether he does is seen by his renewals, since the database's clock may have leapt: a lease that has
// not expired is waited for.
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

// Look says why there is no registry in a database that could be used; nil when there is one. It makes nothing.
func Look(ctx context.Context, o Options) error {
	return o.within(ctx, func(ctx context.Context, p *place) error {
		var found rows
		return p.db.GetContext(ctx, &found, selectRows)
	})
}

// within does something with a database, without standing for election.
func (o Options) within(ctx context.Context, do func(context.Context, *place) error) error {
	p, err := newPlace(o)
	if err != nil {
		return err
	}
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	err = do(ctx, p)
	if is(err, noSuchTable) {
		return fmt.Errorf("the database %s has no registry: no scheduler has ever used it; name the database that your servers have, or start a server first, which makes the tables", p.name)
	}
	return p.explain("use the registry", err)
}

// ErrNotEmpty is wrapped by Restore's error where a registry is already.
var ErrNotEmpty = errors.New("there is a registry already")

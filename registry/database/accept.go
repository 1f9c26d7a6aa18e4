package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
)

// commandTimeout is how long a command waits for the database. Its user waits at a terminal meanwhile.
const commandTimeout = time.Minute

// Accept declares the present content of the database valid, even if servers remember commits that it lacks: the
// operator has decided that these commits are lost. It returns the number of changes and the term of the registry.
//
// Accept returns an error while a server leads. If there is a lease that has not expired, it waits for the length of
// the lease, and then checks whether the lease was renewed. The expiry alone is no proof, because the database's clock
// may have leapt.
func Accept(ctx context.Context, o Options) (change, term int64, err error) {
	var before rows
	err = o.withStore(ctx, func(ctx context.Context, s *store) error {
		return s.db.GetContext(ctx, &before, selectRows)
	})
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
	err = o.withStore(ctx, func(ctx context.Context, s *store) error {
		return s.inTx(ctx, func(ctx context.Context, tx *sqlx.Conn) error {
			var now rows
			if err := tx.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
				return err
			}
			if now.LeaseHolder != "" && now.Lives && !now.same(before) {
				return fmt.Errorf("the server at %s leads: there is nothing to accept", now.Address)
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

// Probe returns why the database has no usable registry, or nil if it has one. It creates nothing.
func Probe(ctx context.Context, o Options) error {
	return o.withStore(ctx, func(ctx context.Context, s *store) error {
		var found rows
		return s.db.GetContext(ctx, &found, selectRows)
	})
}

// withStore calls do with the database, for commands that do not stand for election.
func (o Options) withStore(ctx context.Context, do func(context.Context, *store) error) error {
	s, err := newStore(o)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err = do(ctx, s)
	if hasCode(err, noSuchTable) {
		return fmt.Errorf("the database %s has no registry: no scheduler has ever used it; name the database that your servers use, or start a server first, which creates the tables",
			s.name)
	}
	return s.explain("use the registry", err)
}

// ErrNotEmpty is wrapped by the error of Restore if the database already has a registry.
var ErrNotEmpty = errors.New("there is a registry already")

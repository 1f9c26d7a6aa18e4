package database

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Copy is the whole content of a registry at one time.
type Copy struct {
	Term    int64
	Entries []registry.Entry
	Shared  []registry.Entry
}

// Backup reads the content of a registry in one transaction. It works with or without a leader.
func Backup(ctx context.Context, o Options) (c Copy, err error) {
	err = o.withStore(ctx, func(ctx context.Context, s *store) error {
		tx, err := s.db.BeginTxx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback() // the transaction has changed nothing
		if err := tx.GetContext(ctx, &c.Term, "SELECT term FROM REGISTRY_FENCE WHERE id = 1"); err != nil {
			return err
		}
		if err := tx.SelectContext(ctx, &c.Entries,
			"SELECT path, version, value FROM REGISTRY_ENTRY ORDER BY path"); err != nil {
			return err
		}
		return tx.SelectContext(ctx, &c.Shared,
			"SELECT name AS path, version, value FROM REGISTRY_SHARED ORDER BY name")
	})
	return c, err
}

// Restore creates a registry from a copy, all of it or nothing. The database must have no registry, or a registry that
// was never used; otherwise the error is ErrNotEmpty and the database stays unchanged. Versions begin at 0. The
// registry gets a new lineage, so that servers notice that it is not the registry that they used before.
func Restore(ctx context.Context, o Options, c Copy) error {
	return o.withStore(ctx, func(ctx context.Context, s *store) error {
		if err := s.prepare(ctx, position{}); err != nil {
			return err
		}
		return s.inTx(ctx, func(ctx context.Context, tx *sqlx.Conn) error {
			var now rows
			var used int
			if err := tx.GetContext(ctx, &now, selectRows+" FOR UPDATE"); err != nil {
				return err
			}
			if err := tx.GetContext(ctx, &used,
				"SELECT (SELECT COUNT(*) FROM REGISTRY_ENTRY) + (SELECT COUNT(*) FROM REGISTRY_SHARED)"); err != nil {
				return err
			}
			if now.Term > 0 || used > 0 {
				return fmt.Errorf("%w, in term %d: name an empty database, or stop all servers and drop this one's tables REGISTRY_…",
					ErrNotEmpty, now.Term)
			}
			var writes []registry.Write
			for _, e := range c.Entries {
				writes = append(writes, registry.Write{Path: e.Path, Value: e.Value})
			}
			if err := registry.CheckWrites(writes); err != nil {
				return fmt.Errorf("the backup is damaged: %w", err)
			}
			for _, statement := range newPlan(writes).statements() {
				if err := statement.exec(ctx, tx); err != nil {
					return err
				}
			}
			for _, e := range c.Shared {
				if _, err := tx.ExecContext(ctx,
					"INSERT INTO REGISTRY_SHARED (name, version, writer, value) VALUES (?, 0, '', ?)", e.Path,
					notNil(e.Value)); err != nil {
					return err
				}
			}
			_, err := tx.ExecContext(ctx, "UPDATE REGISTRY_FENCE SET lineage = ?, term = ?, changes = 1 WHERE id = 1",
				uuid.NewString(), c.Term)
			return err
		})
	})
}

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Locked is the error of a migration that gave up waiting for another one to end.
func Locked(patience time.Duration) error {
	return fmt.Errorf("another process has been migrating it for %v: try again when it is done", patience)
}

// MigrationLock is a lock for goose: a named one of MySQL's, of the connection that migrates. If that breaks, so does
// the lock.
type MigrationLock struct {
	// Name tells migrations of different things in one database apart.
	Name string
	// Table is that in which goose keeps which steps were taken.
	Table    string
	Patience time.Duration
}

// name makes a lock's name of a parameter. A name has 64 characters at most, and is the server's, not the database's.
// MySQL 9.7 has no SHA1 any more.
const name = "SHA2(CONCAT(?, '.', DATABASE()), 256)"

// SessionLock waits for the lock as long as Patience says.
func (l MigrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", ?)", l.Name,
		int(l.Patience.Seconds())).Scan(&got); err != nil {
		return fmt.Errorf("take the lock for migrations: %w", err)
	}
	if got.Int64 != 1 {
		return Locked(l.Patience)
	}
	if err := l.beginVersions(ctx, conn); err != nil {
		return errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// HasTable counts the tables of a name.
const HasTable = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?"

// beginVersions adds the row that goose begins its table with, where that is missing: MySQL commits the table by
// itself, and goose refuses it ever after if it was cut off before the row.
func (l MigrationLock) beginVersions(ctx context.Context, conn *sql.Conn) error {
	var tables int
	err := conn.QueryRowContext(ctx, HasTable, l.Table).Scan(&tables)
	if err == nil && tables > 0 {
		_, err = conn.ExecContext(ctx, "INSERT INTO "+l.Table+
			" (version_id, is_applied) SELECT 0, 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM "+l.Table+")")
	}
	if err != nil {
		return fmt.Errorf("look at the table %s: %w", l.Table, err)
	}
	return nil
}

// SessionUnlock gives the lock back.
func (l MigrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+name+")", l.Name)
	return err
}

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Locked returns the error of a migration that has waited for another one for too long.
func Locked(timeout time.Duration) error {
	return fmt.Errorf("another process has been migrating it for %v: try again when it is done", timeout)
}

// MigrationLock is a lock for goose: a named lock of MySQL, which belongs to the connection of the migration. The
// server frees the lock when that connection breaks. A database that refuses such locks gets a row instead (rowLock).
type MigrationLock struct {
	// Name identifies the migration among others in the same database.
	Name string
	// Table is goose's table of applied steps.
	Table   string
	Timeout time.Duration
	// DB renews a lock that is a row.
	DB *sql.DB

	row *rowLock // the row that is held, nil for a named lock
}

// name is the SQL that derives the name of a lock from a parameter. The name of the database is part of it, because
// locks are global to the server. It is a hash, because names have at most 64 characters. MySQL 9.7 has no SHA1 any
// more.
const name = "SHA2(CONCAT(?, '.', DATABASE()), 256)"

// SessionLock waits for the lock for at most Timeout.
func (l *MigrationLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	l.row = nil
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", ?)", l.Name, int(l.Timeout.Seconds())).Scan(&got)
	switch {
	case isRefused(err), err == nil && !got.Valid: // NULL is an error too
		if l.row, err = takeRow(ctx, conn, l.DB, l.Name, l.Timeout); err != nil {
			return fmt.Errorf("take the lock for migrations: %w", err)
		}
	case err != nil:
		return fmt.Errorf("take the lock for migrations: %w", err)
	case got.Int64 != 1:
		return Locked(l.Timeout)
	}
	if err := l.beginVersions(ctx, conn); err != nil {
		return errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// HasTable is the query that counts the tables with a name.
const HasTable = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?"

// beginVersions adds the first row of goose's table if the table exists without that row. MySQL commits the creation
// of the table separately, and goose would refuse the table forever if it was interrupted before it added the row.
func (l *MigrationLock) beginVersions(ctx context.Context, conn *sql.Conn) error {
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

// SessionUnlock frees the lock.
func (l *MigrationLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if l.row != nil {
		return l.row.release(ctx, conn)
	}
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+name+")", l.Name)
	return err
}

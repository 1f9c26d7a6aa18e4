package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long a migration waits for another one's. The caller tries again: a large table may take longer.
const lockPatience = 30 * time.Second

func locked(patience time.Duration) error {
	return fmt.Errorf("another process has been migrating it for %v: try again when it is done", patience)
}

// serverLock is a named lock of MySQL's, of the connection that migrates: if that breaks, so does the lock.
type serverLock struct{ patience time.Duration }

// A name has 64 characters at most, and is the server's, not the database's.
const lockName = "SHA1(CONCAT('elasticjob-history.', DATABASE()))"

func (l serverLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", ?)", int(l.patience.Seconds())).Scan(&got); err != nil {
		return fmt.Errorf("take the lock for migrations: %w", err)
	}
	if got.Int64 != 1 {
		return locked(l.patience)
	}
	if err := beginVersions(ctx, conn); err != nil {
		return errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// beginVersions adds the row that goose begins its table with, where that is missing: MySQL commits the table by itself, and goose
// refuses it ever after if it was cut off before the row.
func beginVersions(ctx context.Context, conn *sql.Conn) error {
	var tables int
	err := conn.QueryRowContext(ctx, tablesOfMySQL, versionTable).Scan(&tables)
	if err == nil && tables > 0 {
		_, err = conn.ExecContext(ctx, "INSERT INTO "+versionTable+" (version_id, is_applied) SELECT 0, 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM "+versionTable+")")
	}
	if err != nil {
		return fmt.Errorf("look at the table %s: %w", versionTable, err)
	}
	return nil
}

func (serverLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+lockName+")")
	return err
}

// fileLock is a lock on a file beside SQLite's. The file stays: removing it would let two in.
type fileLock struct {
	path     string
	patience time.Duration
	file     *os.File // while it is held
}

func (l *fileLock) SessionLock(ctx context.Context, _ *sql.Conn) error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(l.patience)
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			l.file = file
			return nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			select {
			case <-poll.C:
				continue
			case <-deadline:
				err = locked(l.patience)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		_ = file.Close()
		return fmt.Errorf("take the lock %s for migrations: %w", l.path, err)
	}
}

func (l *fileLock) SessionUnlock(context.Context, *sql.Conn) error { return l.file.Close() }

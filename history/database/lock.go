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

func locked() error {
	return fmt.Errorf("another process has been migrating it for %v: try again when it is done", lockPatience)
}

// serverLock is a named lock of MySQL's, of the connection that migrates: if that breaks, so does the lock.
type serverLock struct{}

// A name has 64 characters at most, and is the server's, not the database's.
const lockName = "SHA1(CONCAT('elasticjob-history.', DATABASE()))"

func (serverLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", ?)", int(lockPatience.Seconds())).Scan(&got); err != nil {
		return fmt.Errorf("take the lock for migrations: %w", err)
	}
	if got.Int64 != 1 {
		return locked()
	}
	return nil
}

func (serverLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+lockName+")")
	return err
}

// fileLock is a lock on a file beside SQLite's. The file stays: removing it would let two in.
type fileLock struct {
	path string
	file *os.File // while it is held
}

func (l *fileLock) SessionLock(ctx context.Context, _ *sql.Conn) error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(lockPatience)
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
				err = locked()
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		_ = file.Close()
		return fmt.Errorf("take the lock %s for migrations: %w", l.path, err)
	}
}

func (l *fileLock) SessionUnlock(context.Context, *sql.Conn) error { return l.file.Close() }

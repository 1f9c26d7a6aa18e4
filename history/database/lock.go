package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// lockTimeout is how long a migration waits for another one. The caller retries, since a large table may take longer.
const lockTimeout = 30 * time.Second

// fileLock is a lock on a separate file beside the SQLite file. The lock file is never removed. Otherwise two processes
// could lock different files of that name.
type fileLock struct {
	path    string
	timeout time.Duration
	file    *os.File // set while the lock is held
}

func (l *fileLock) SessionLock(ctx context.Context, _ *sql.Conn) error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(l.timeout)
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
				err = mysql.Locked(l.timeout)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		_ = file.Close()
		return fmt.Errorf("take the lock %s for migrations: %w", l.path, err)
	}
}

func (l *fileLock) SessionUnlock(context.Context, *sql.Conn) error { return l.file.Close() }

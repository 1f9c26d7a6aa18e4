package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// rowLock is a lock that is a row, for databases that refuse GET_LOCK, such as Galera in its strict mode, Vitess and
// some proxies. The row is a lease, which its holder renews. It expires only if the holder has ended or can't reach
// the database; then another process may take it. Only the database's clock counts.
type rowLock struct {
	name, holder string
	cancel       context.CancelFunc
	renewing     sync.WaitGroup
}

const (
	// leaseSeconds is the duration of a lease. A holder renews it every renewInterval.
	leaseSeconds  = 60
	renewInterval = 15 * time.Second
	// pollInterval is the pause between two attempts to take the lock.
	pollInterval = 100 * time.Millisecond

	lockTable = "ELASTICJOB_LOCK"
)

// isRefused reports whether a server has answered a statement with an error, other than that it was interrupted.
func isRefused(err error) bool {
	const interrupted, lockDeadlock = 1317, 3058
	var refusal *driver.MySQLError
	return errors.As(err, &refusal) && refusal.Number != interrupted && refusal.Number != lockDeadlock
}

// isConflict reports whether a statement was undone because of a statement of another connection, or of another node
// of a Galera cluster.
func isConflict(err error) bool {
	const lockWait, deadlock = 1205, 1213
	var refusal *driver.MySQLError
	return errors.As(err, &refusal) && (refusal.Number == lockWait || refusal.Number == deadlock)
}

// takeRow waits for the row for at most timeout. It renews the lease on connections of db until release.
func takeRow(ctx context.Context, conn *sql.Conn, db *sql.DB, name string, timeout time.Duration) (*rowLock, error) {
	l := &rowLock{name: name, holder: rand.Text()}
	_, err := conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+lockTable+" (NAME VARCHAR(64) NOT NULL PRIMARY KEY, "+
		"HOLDER VARCHAR(64) NOT NULL, EXPIRES DATETIME NOT NULL) ENGINE=InnoDB")
	if err != nil {
		return nil, err
	}
	expired := time.After(timeout)
	for {
		_, err := conn.ExecContext(ctx, "INSERT IGNORE INTO "+lockTable+
			" (NAME, HOLDER, EXPIRES) VALUES (?, '', '2000-01-01 00:00:00')", name)
		taken := false
		if err == nil {
			taken, err = l.write(ctx, conn, "EXPIRES < UTC_TIMESTAMP()")
		}
		switch {
		case err != nil && !isConflict(err):
			return nil, err
		case taken:
			ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
			l.renewing.Go(func() { l.renew(ctx, db) })
			return l, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-expired:
			return nil, Locked(timeout)
		case <-time.After(pollInterval):
		}
	}
}

// execer is a *sql.DB or a *sql.Conn.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write makes l the holder for a new lease if the row meets a condition, and reports whether it does.
func (l *rowLock) write(ctx context.Context, db execer, condition string, args ...any) (bool, error) {
	all := append([]any{l.holder, leaseSeconds, l.name}, args...)
	result, err := db.ExecContext(ctx, "UPDATE "+lockTable+
		" SET HOLDER = ?, EXPIRES = UTC_TIMESTAMP() + INTERVAL ? SECOND WHERE NAME = ? AND "+condition, all...)
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// renew renews the lease until ctx ends. A failed renewal is repeated with the next one, before the lease expires.
func (l *rowLock) renew(ctx context.Context, db *sql.DB) {
	tick := time.NewTicker(renewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = l.write(ctx, db, "HOLDER = ?", l.holder)
		}
	}
}

// release frees the row.
func (l *rowLock) release(ctx context.Context, conn *sql.Conn) error {
	l.cancel()
	l.renewing.Wait()
	_, err := conn.ExecContext(ctx, "UPDATE "+lockTable+
		" SET HOLDER = '', EXPIRES = '2000-01-01 00:00:00' WHERE NAME = ? AND HOLDER = ?", l.name, l.holder)
	if err != nil {
		return fmt.Errorf("free the lock for migrations, which otherwise expires after %d s: %w", leaseSeconds, err)
	}
	return nil
}

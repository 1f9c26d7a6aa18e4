package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// file connects to an SQLite file. A kernel silently continues to write to a file that was removed or replaced, so
// each connection is used only while the path still names its open file.
type file struct {
	driver.Connector
	path string

	mu   sync.Mutex
	seen os.FileInfo // the file at the path at the last check; nil if there was none
}

// SQLite fails without waiting when several processes switch a new file to WAL at once. busyTimeout is how long Connect
// then retries, and busyPause is the pause between two tries.
const (
	busyTimeout = 30 * time.Second
	busyPause   = 5 * time.Millisecond
)

func (f *file) Connect(ctx context.Context) (driver.Conn, error) {
	deadline := time.Now().Add(busyTimeout)
	for {
		conn, err := f.connect(ctx)
		var refusal *sqlite.Error
		if err == nil || !errors.As(err, &refusal) || refusal.Code()&0xff != lib.SQLITE_BUSY ||
			time.Now().After(deadline) {
			return conn, err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *file) connect(ctx context.Context) (driver.Conn, error) {
	before, _ := os.Stat(f.path)
	conn, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := os.Stat(f.path)
	if err == nil && before != nil && !os.SameFile(before, opened) {
		err = fmt.Errorf("open %s: it was replaced just then", f.path)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &fileConn{conn.(sqliteConn), f.path, opened}, nil
}

// checkFile returns an error if the path no longer names the file of the last check. The next check compares with the
// new file, so the error is returned once.
func (f *file) checkFile() error {
	now, err := os.Stat(f.path)
	event := "was replaced by another file"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		now, event = nil, "was removed"
	case err != nil:
		return nil // for example an unsearchable folder: writes to the open file still work
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.seen
	f.seen = now
	if last == nil || now != nil && os.SameFile(last, now) {
		return nil
	}
	return fmt.Errorf("the file %s %s while this server used it: the new file lacks the content of the old one; it is opened again, and waiting rows are written there", f.path, event)
}

// sqliteConn lists what a connection of the driver implements.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// fileConn is a connection to one file.
type fileConn struct {
	sqliteConn
	path   string
	opened os.FileInfo
}

// ResetSession is called before a connection is reused. It returns an error, which closes the connection, if the path
// no longer names the connection's file.
func (c *fileConn) ResetSession(ctx context.Context) error {
	now, err := os.Stat(c.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, c.opened) {
		return driver.ErrBadConn
	}
	return c.sqliteConn.ResetSession(ctx)
}

// Package database keeps the history in SQL: in MySQL 8, in MariaDB from 10.6 on, or in a file of SQLite. It is the
// only package that knows tables, columns and dialects.
//
// Rows come in batches (Write). Each has an id that is made of what it says, or a revision, so what is written again,
// after a crash or because nobody knows whether a commit came through, changes nothing. That makes retrying right in
// every case: an error of this package means that nothing is known to be stored, and that the same call may heal with
// time. What no time heals, a row that the database refuses for its content, is left out, logged and counted; it
// blocks nobody.
//
// Statistics are counted from what is stored. A transaction that writes an end leaves a mark for the end's minute, and
// Recount counts the marked minutes. So rows that come late, twice, or from another server's disk are in the numbers
// once, and a restart invents nothing.
//
// Times are text in UTC with milliseconds for both kinds of databases, see Time.
package database

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// Options are what a DB needs from outside.
type Options struct {
	Logger *slog.Logger     // of rows that are lost; nil: slog.Default
	Now    func() time.Time // says what is a year old; nil: time.Now
}

// DB is one database. Its methods may be called at once. It connects when it is asked something: one that is down is
// an error of each call, and not of Open.
type DB struct {
	db      *sqlx.DB
	dialect dialect
	log     *slog.Logger
	now     func() time.Time
	counts  counts
	// look is an error when the database is no longer the one that it was at the last look.
	look func() error
	// patience bounds each transaction, and each question that the writer waits for.
	patience time.Duration
	// reads has a place for each read that may be under way.
	reads chan struct{}
}

// patience is long for one transaction: a database that is frozen, or cut off without a word, must not hold its caller
// for ever.
const patience = time.Minute

// connections bound what one process asks of the database at once, and reads how many of them searches may hold:
// people who look must not keep what happens from being written.
const (
	connections = 8
	reads       = 6
)

// OpenMySQL opens a database of MySQL or MariaDB by its DSN, of which mysql.CheckDSN says what it looks like.
func OpenMySQL(dsn string, opt Options) (*DB, error) {
	c, err := mysql.Config(dsn)
	if err != nil {
		return nil, err
	}
	c.Logger = log.New(io.Discard, "", 0) // broken connections are errors of calls
	connector, err := driver.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("use the settings behind the ? of the DSN: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetConnMaxLifetime(3 * time.Minute) // shorter than what proxies and wait_timeout usually allow
	return open(sqlx.NewDb(db, "mysql"), inMySQL, opt), nil
}

// OpenSQLite opens a file of SQLite, which is made when it is first used. Commits are on the disk when they are done
// (synchronous FULL): the outbox forgets a row once it is written here, and the registry does.
func OpenSQLite(path string, opt Options) (*DB, error) {
	// Writers begin as such, so that they wait for each other instead of failing when a reader becomes a writer.
	connector, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the history's database %s: %w", path, err)
	}
	f := &file{Connector: connector, path: path}
	d := open(sqlx.NewDb(sql.OpenDB(f), "sqlite3"), inSQLite(path), opt)
	d.look = f.look
	return d, nil
}

func open(db *sqlx.DB, d dialect, opt Options) *DB {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &DB{db: db, dialect: d, log: opt.Logger, now: opt.Now, look: func() error { return nil },
		reads: make(chan struct{}, reads), patience: patience}
}

// Close ends all connections.
func (d *DB) Close() error { return d.db.Close() }

// reconnect has new connections made after an error: MySQL looks up what a user may do in a database when it connects,
// so what was granted since then is not known to those that are open.
func (d *DB) reconnect() {
	d.db.SetMaxIdleConns(0)
	d.db.SetMaxIdleConns(connections)
}

// ask reads the rows of a statement that the writer waits for.
func (d *DB) ask(ctx context.Context, rows any, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	return d.db.SelectContext(ctx, rows, statement, args...)
}

// inTx does something in one transaction. After an error it may still have happened, if the answer to its commit was
// lost.
func (d *DB) inTx(ctx context.Context, do func(context.Context, *sqlx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	tx, err := d.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing to do after the commit
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

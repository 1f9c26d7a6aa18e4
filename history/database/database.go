// Package database stores the history in SQL: in MySQL 8, in MariaDB 10.6 or later, or in an SQLite file. It is the
// only package that knows tables, columns and dialects.
//
// Rows come in batches (Write). Each row has a key, and a version if its content changes, so writing the same rows
// again changes nothing. A caller may therefore repeat any failed call, also after a crash or after a lost answer to a
// commit: after an error it is unknown whether anything was stored. A row that the database refuses for its content
// would be refused every time. It is left out, logged and counted, so that it blocks no others.
//
// Statistics are counted from the stored rows. A transaction that writes the end of a run also marks the minute of
// that end, and Recount counts the marked minutes. So rows that come late, twice, or from another server's disk count
// once, and a restart invents no numbers.
//
// Times are text in UTC with milliseconds in both kinds of databases, see Time.
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

// Options are the dependencies of a DB.
type Options struct {
	Logger *slog.Logger     // reports lost rows; nil: slog.Default
	Now    func() time.Time // decides what is a year old; nil: time.Now
}

// DB is one database. Its methods may be called concurrently. It connects when it is first used. So opening an
// unreachable database succeeds, and each call returns an error.
type DB struct {
	db      *sqlx.DB
	dialect dialect
	log     *slog.Logger
	now     func() time.Time
	counts  counts
	// checkFile returns an error if the path of an SQLite file names another file than at the last check.
	checkFile func() error
	// timeout is the timeout of each transaction, and of each query of the writer.
	timeout time.Duration
	// readSlots holds a token for each running search.
	readSlots chan struct{}
}

// queryTimeout is a long timeout for one transaction. It ensures that a frozen or unreachable database does not block
// its caller forever.
const queryTimeout = time.Minute

const (
	// maxConnections is the maximum number of simultaneous connections of one process to the database.
	maxConnections = 8
	// maxReads is how many of these connections searches may use, so that some are always left for writing.
	maxReads = 6
)

// OpenMySQL opens a MySQL or MariaDB database by its DSN; mysql.CheckDSN describes the form.
func OpenMySQL(dsn string, opt Options) (*DB, error) {
	c, err := mysql.Config(dsn)
	if err != nil {
		return nil, err
	}
	c.Logger = log.New(io.Discard, "", 0) // calls return the errors of broken connections
	connector, err := driver.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("use the settings after the ? in the DSN: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetConnMaxLifetime(3 * time.Minute) // shorter than the usual limits of proxies and wait_timeout
	return open(sqlx.NewDb(db, "mysql"), mysqlDialect, opt), nil
}

// OpenSQLite opens an SQLite file, which is created on first use. A commit is on the disk when it returns (synchronous
// FULL), because the outbox discards a row once it is written here.
func OpenSQLite(path string, opt Options) (*DB, error) {
	// Transactions begin as writers, so that they wait for each other; a reader that becomes a writer would fail.
	connector, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the history's database %s: %w", path, err)
	}
	f := &file{Connector: connector, path: path}
	d := open(sqlx.NewDb(sql.OpenDB(f), "sqlite3"), sqliteDialect(path), opt)
	d.checkFile = f.checkFile
	return d, nil
}

func open(db *sqlx.DB, d dialect, opt Options) *DB {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	return &DB{db: db, dialect: d, log: opt.Logger, now: opt.Now, checkFile: func() error { return nil },
		readSlots: make(chan struct{}, maxReads), timeout: queryTimeout}
}

// Close ends all connections.
func (d *DB) Close() error { return d.db.Close() }

// reconnect forces new connections after an error. MySQL checks a user's permissions when it connects, so open
// connections would not see later grants.
func (d *DB) reconnect() {
	d.db.SetMaxIdleConns(0)
	d.db.SetMaxIdleConns(maxConnections)
}

// ask runs a query for the writer, with its timeout.
func (d *DB) ask(ctx context.Context, rows any, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	return d.db.SelectContext(ctx, rows, statement, args...)
}

// inTx runs a function in one transaction. After an error the transaction may have been committed, if the answer to the
// commit was lost.
func (d *DB) inTx(ctx context.Context, do func(context.Context, *sqlx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	tx, err := d.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after the commit
	if err := do(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/registry"
)

// store is the location of a registry: the checked Options with defaults, and the connections to its database.
type store struct {
	Options
	name   string // address and database, for messages
	config *mysqldriver.Config
	db     *sqlx.DB
	// sharedDB is a separate pool for shared values, so that many requests for them never delay a renewal of the
	// lease.
	sharedDB *sqlx.DB
	// syncWarning guards the warning that commits are not synced, which is logged once.
	syncWarning sync.Once
}

func newStore(o Options) (*store, error) {
	c, err := mysql.Config(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of the database: %w", registry.ErrUnusable, err)
	}
	o.setDefaults()
	c.Logger = log.New(io.Discard, "", 0) // calls return the errors of broken connections
	c.ParseTime = true
	// One request may hold several statements. The driver writes all values into them as escaped literals, which is
	// safe because the character set is UTF-8.
	c.InterpolateParams, c.MultiStatements = true, true
	c.Timeout = min(c.Timeout, o.Lease/2) // a server that saw more than others must tell them within a lease
	if o.Dial != nil {
		c.DialFunc = o.Dial
	}
	silence := strconv.Itoa(o.idleTimeoutSeconds())
	for setting, value := range map[string]string{"wait_timeout": silence, "net_read_timeout": silence,
		"innodb_lock_wait_timeout": silence} {
		c.Params[setting] = value
	}
	s := &store{Options: o, name: mysql.Name(o.DSN), config: c}
	if s.db, err = s.open(); err == nil {
		s.sharedDB, err = s.open()
	}
	return s, err
}

// close ends all connections. Its errors concern connections that are already broken.
func (s *store) close() {
	_ = s.db.Close()
	_ = s.sharedDB.Close()
}

// idleTimeoutSeconds is the timeout in seconds after which the server closes a silent connection and frees its locks.
func (o Options) idleTimeoutSeconds() int { return int(math.Ceil((o.Lease / 2).Seconds())) }

// open creates a pool. The pool connects on first use.
func (s *store) open() (*sqlx.DB, error) {
	inner, err := mysqldriver.NewConnector(s.config)
	if err != nil {
		return nil, fmt.Errorf("%w: the settings after the ? in the address: %w", registry.ErrUnusable, err)
	}
	db := sqlx.NewDb(sql.OpenDB(connector{inner}), "mysql")
	db.SetConnMaxIdleTime(time.Duration(s.idleTimeoutSeconds()) * time.Second / 2)
	db.SetConnMaxLifetime(10 * time.Minute)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	return db, nil
}

// maxConnections suffice for the simultaneous looks, renewals, commits and reads.
const maxConnections = 8

// connector sets the isolation level of each connection to REPEATABLE READ. This package relies on it: all reads of a
// transaction show one moment.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx,
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", nil); err != nil {
		_ = conn.Close() // the first error counts
		return nil, err
	}
	return conn, nil
}

// discard closes a connection whose state is unknown, so that it does not return to its pool.
func discard(conn *sqlx.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // Raw returns this error itself
	_ = conn.Close()
}

// inTx runs a function in one transaction on any connection. After an error it may have been committed, if the answer
// to its COMMIT was lost. COMMIT is sent as an ordinary request, because the one of database/sql takes no context and
// would block on a database that disappeared without closing the connection.
func (s *store) inTx(ctx context.Context, do func(context.Context, *sqlx.Conn) error) error {
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return err
	}
	if _, err = conn.ExecContext(ctx, "START TRANSACTION"); err == nil {
		err = do(ctx, conn)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		discard(conn) // closing the connection rolls back
		return err
	}
	return conn.Close()
}

// requestTimeout is the timeout of one request of a commit, and of the wait for the next row of a read. After it the
// connection counts as broken. It is longer than the server's lock timeouts. Without it, a request to a host that
// disappeared would block until TCP gives up, which may take 15 minutes.
func (o Options) requestTimeout() time.Duration { return max(o.Lease, 10*time.Second) }

// withTimeout runs one request with the timeout of requestTimeout.
func (s *store) withTimeout(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.requestTimeout())
	defer cancel()
	return do(ctx)
}

// Dial connects to an address.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

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
	// syncWarning makes sure that the warning about commits that are not synced is logged only once.
	syncWarning sync.Once
}

// newStore checks the options. It does not connect to the database.
func newStore(o Options) (*store, error) {
	c, err := mysql.Config(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of the database: %w", registry.ErrUnusable, err)
	}
	o.setDefaults()
	c.Logger = log.New(io.Discard, "", 0) // the driver also returns the errors that it would log
	c.ParseTime = true
	// A request may contain several statements. The driver then writes the values into the statements as escaped
	// literals. This is safe because the character set is UTF-8.
	c.InterpolateParams, c.MultiStatements = true, true
	// A server that remembers more commits than the database has must tell the others within a lease.
	c.Timeout = min(c.Timeout, o.Lease/2)
	if o.Dial != nil {
		c.DialFunc = o.Dial
	}
	for _, setting := range []string{"wait_timeout", "net_read_timeout", "innodb_lock_wait_timeout"} {
		c.Params[setting] = strconv.Itoa(o.idleTimeoutSeconds())
	}
	s := &store{Options: o, name: mysql.Name(o.DSN), config: c}
	if s.db, err = s.open(); err == nil {
		s.sharedDB, err = s.open()
	}
	return s, err
}

// close closes all connections.
func (s *store) close() {
	_ = s.db.Close() // an error means that a connection was already broken
	_ = s.sharedDB.Close()
}

// idleTimeoutSeconds is the timeout in seconds after which the server closes a silent connection and frees its locks.
// It is half a lease, rounded up.
func (o Options) idleTimeoutSeconds() int { return int(math.Ceil((o.Lease / 2).Seconds())) }

// open creates a pool of connections, without connecting.
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

// maxConnections is the maximum number of connections of a pool. It is enough for a registry's simultaneous requests.
const maxConnections = 8

// connector sets the isolation level of each connection to REPEATABLE READ, because this package relies on it: all
// reads of a transaction show the same state.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx,
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", nil); err != nil {
		_ = conn.Close() // the first error says more
		return nil, err
	}
	return conn, nil
}

// discard closes a connection whose state is unknown, so that it does not return to its pool.
func discard(conn *sqlx.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // Raw returns this error itself
	_ = conn.Close()
}

// inTx calls do in a transaction. If inTx returns an error, the transaction may still have been committed, because the
// answer to its COMMIT may have been lost. COMMIT is sent as an ordinary request: the method of database/sql takes no
// context, and would block if the database disappears without closing the connection.
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

// requestTimeout is the timeout of one request of a commit, and of the wait for the next row of a read. After the
// timeout the connection counts as broken. It is longer than the server's lock timeouts. Without it, a request to a
// host that disappeared would block until TCP gives up, which may take 15 minutes.
func (o Options) requestTimeout() time.Duration { return max(o.Lease, 10*time.Second) }

// withTimeout calls do, which sends one request, with requestTimeout.
func (s *store) withTimeout(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.requestTimeout())
	defer cancel()
	return do(ctx)
}

// Dial connects to an address.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

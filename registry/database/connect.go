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

// place is where a registry is: Options, checked and with defaults, and what its database is reached with.
type place struct {
	Options
	name   string // for people: address and database
	config *mysqldriver.Config
	db     *sqlx.DB
	// values has connections of their own for shared values: however many people ask for, the lease is renewed.
	values *sqlx.DB
	// lax is done once the log has said that commits are not synced.
	lax sync.Once
}

func newPlace(o Options) (*place, error) {
	c, err := mysql.Config(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of the database: %w", registry.ErrUnusable, err)
	}
	o.setDefaults()
	c.Logger = log.New(io.Discard, "", 0) // broken connections are errors of calls
	c.ParseTime = true
	// A request may have several statements. All values are arguments, which the driver writes into them: safe, since
	// the character set is UTF-8.
	c.InterpolateParams, c.MultiStatements = true, true
	c.Timeout = min(c.Timeout, o.Lease/2) // who remembers more than the others has a lease to say so
	if o.Dial != nil {
		c.DialFunc = o.Dial
	}
	silence := strconv.Itoa(o.silence())
	for setting, value := range map[string]string{"wait_timeout": silence, "net_read_timeout": silence,
		"innodb_lock_wait_timeout": silence} {
		c.Params[setting] = value
	}
	p := &place{Options: o, name: mysql.Name(o.DSN), config: c}
	if p.db, err = p.open(); err == nil {
		p.values, err = p.open()
	}
	return p, err
}

// close ends all connections. Errors are of some that have broken already.
func (p *place) close() {
	_ = p.db.Close()
	_ = p.values.Close()
}

// silence is for how many seconds the server bears with a connection that says nothing, and with what it may hold.
func (o Options) silence() int { return int(math.Ceil((o.Lease / 2).Seconds())) }

// open makes a pool of connections, which are made when they are used.
func (p *place) open() (*sqlx.DB, error) {
	inner, err := mysqldriver.NewConnector(p.config)
	if err != nil {
		return nil, fmt.Errorf("%w: the settings behind the ? of the address: %w", registry.ErrUnusable, err)
	}
	db := sqlx.NewDb(sql.OpenDB(connector{inner}), "mysql")
	db.SetConnMaxIdleTime(time.Duration(p.silence()) * time.Second / 2)
	db.SetConnMaxLifetime(10 * time.Minute)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// connections are enough for looks, renewals, commits and reads at once.
const connections = 8

// connector makes connections that have the isolation level which all here rests on: what one transaction reads is of
// one moment.
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

// discard closes a connection of which nobody knows how it stands, instead of giving it back to its pool.
func discard(conn *sqlx.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which is what it returns
	_ = conn.Close()
}

// inTx does something in one transaction on any connection. After an error it may still have happened, if the answer
// to its COMMIT was lost. COMMIT is a request as others: that of database/sql takes no context, and would wait for a
// database that is gone without a word.
func (p *place) inTx(ctx context.Context, do func(context.Context, *sqlx.Conn) error) error {
	conn, err := p.db.Connx(ctx)
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
		discard(conn) // which rolls back
		return err
	}
	return conn.Close()
}

// patience is how long one request of a commit may take, or the next row of a read, before the connection counts as
// broken: locks are waited for less long, and a machine that is gone without a word would be waited for until TCP
// gives up, which may take 15 minutes.
func (o Options) patience() time.Duration { return max(o.Lease, 10*time.Second) }

// within does one request, which counts as lost if it takes too long.
func (p *place) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	return do(ctx)
}

// Dial makes connections to an address.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

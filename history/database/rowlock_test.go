package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// withoutGetLock are connections to a database that answers GET_LOCK otherwise than MariaDB: with an error, or NULL.
type withoutGetLock struct {
	driver.Connector
	refusal *mysqldriver.MySQLError // nil for NULL
}

func (c withoutGetLock) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return refusingConn{conn, c.refusal}, err
}

type refusingConn struct {
	driver.Conn
	refusal *mysqldriver.MySQLError
}

func (c refusingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if strings.Contains(query, "GET_LOCK") {
		if c.refusal != nil {
			return nil, c.refusal
		}
		query = "SELECT NULL FROM (SELECT ? AS a, ? AS b) AS x"
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c refusingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c refusingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c refusingConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c refusingConn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

// refusing opens a database through such connections.
func refusing(t *testing.T, dsn string, refusal *mysqldriver.MySQLError) *DB {
	t.Helper()
	c, err := mysql.Config(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysqldriver.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(withoutGetLock{connector, refusal})
	return closed(t)(open(sqlx.NewDb(db, "mysql"), mysqlDialect, options()), nil)
}

// TestMigrationsWithoutGetLock checks that a database that refuses named locks is migrated, by one process at a time.
func TestMigrationsWithoutGetLock(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]*mysqldriver.MySQLError{
		"Galera in strict mode": {Number: 1105, Message: "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"},
		"Galera of MariaDB":     {Number: 1235, Message: "This version of MariaDB doesn't yet support 'GET_LOCK in cluster (WSREP_ON=ON)'"},
		"no such function":      {Number: 1305, Message: "FUNCTION GET_LOCK does not exist"},
		"denied by a proxy":     {Number: 1148, Message: "Command not allowed"},
		"NULL":                  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := server.Server(t).Database(t)
			d, other := refusing(t, dsn, refusal), refusing(t, dsn, refusal)
			migrated := make(chan error)
			for _, one := range []*DB{d, other} {
				go func() {
					_, _, err := one.Migrate(t.Context())
					migrated <- err
				}()
			}
			for range 2 {
				if err := <-migrated; err != nil {
					t.Error(err)
				}
			}
			conn, err := d.db.DB.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			holder := d.dialect.lock(d.db.DB)
			waiter := other.dialect.lock(other.db.DB).(*mysql.MigrationLock)
			waiter.Timeout = 300 * time.Millisecond
			if err := holder.SessionLock(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			if err := waiter.SessionLock(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "another process has been migrating") {
				t.Errorf("while another one migrates: %v", err)
			}
			// A holder that has ended does not renew its row, which then expires.
			if _, err := d.db.Exec("UPDATE ELASTICJOB_LOCK SET EXPIRES = UTC_TIMESTAMP() - INTERVAL 1 SECOND"); err != nil {
				t.Fatal(err)
			}
			if err := waiter.SessionLock(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			if err := holder.SessionUnlock(t.Context(), conn); err != nil { // frees nothing of the new holder
				t.Error(err)
			}
			holder.(*mysql.MigrationLock).Timeout = 300 * time.Millisecond
			if err := holder.SessionLock(t.Context(), conn); err == nil {
				t.Error("a former holder has freed the lock of its successor")
			}
			if err := waiter.SessionUnlock(t.Context(), conn); err != nil {
				t.Error(err)
			}
		})
	}
}

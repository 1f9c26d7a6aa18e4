package database

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// refusing opens a database that refuses statements.
func refusing(t *testing.T, dsn string, refusals mariadb.Refusals) *DB {
	t.Helper()
	c, err := mysql.Config(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysqldriver.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(mariadb.Refusing(connector, refusals))
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
			refusals := mariadb.Refusals{"GET_LOCK": refusal}
			d, other := refusing(t, dsn, refusals), refusing(t, dsn, refusals)
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
			if err := waiter.SessionLock(t.Context(), conn); err == nil ||
				!strings.Contains(err.Error(), "another process has been migrating") {
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

// TestDeniedRowLock checks that a database that also refuses the row is reported as it answers, and not as locked.
func TestDeniedRowLock(t *testing.T) {
	t.Parallel()
	dsn := server.Server(t).Database(t)
	for _, statement := range []string{"CREATE TABLE IF NOT EXISTS ELASTICJOB_LOCK",
		"INSERT IGNORE INTO ELASTICJOB_LOCK", "UPDATE ELASTICJOB_LOCK"} {
		d := refusing(t, dsn, mariadb.Refusals{"GET_LOCK": nil, statement: {Number: 1142, Message: "command denied"}})
		if _, _, err := d.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "command denied") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

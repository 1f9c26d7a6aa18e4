package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// TestRefusals checks that temporary refusals are retried, and that permanent ones change nothing and end no term.
func TestRefusals(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	_, term := lead(t, Options{DSN: dsn})
	commit(t, term, write("/a", "0"))
	for number, heals := range map[int]bool{1205: true, 1226: true, 1213: true, 1290: true, 1114: false, 1142: false} {
		change(t, dsn, fmt.Sprintf("CREATE TRIGGER refuse BEFORE INSERT ON REGISTRY_ENTRY FOR EACH ROW SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'for a test'", number))
		result := make(chan error, 1)
		go func() {
			result <- term.Commit(context.Background(), []registry.Write{write("/a", "1"), write("/b", "1")})
		}()
		if heals {
			select {
			case err := <-result:
				t.Errorf("%d: the commit ended: %v", number, err)
				result <- err
			case <-time.After(100 * time.Millisecond): // it is retried
			}
			change(t, dsn, "DROP TRIGGER refuse")
			if err := <-result; err != nil {
				t.Errorf("%d: %v", number, err)
			}
		} else {
			if err := <-result; err == nil || errors.Is(err, registry.ErrTermEnded) {
				t.Errorf("%d: %v", number, err)
			}
			change(t, dsn, "DROP TRIGGER refuse")
		}
		wantValue(t, term, "/a", map[bool]string{true: "1", false: "0"}[heals])
		commit(t, term, write("/a", "0"), registry.Write{Path: "/b", Delete: true})
	}
}

// TestReadOnlyNow checks that read_only is recognized as a word as well as a number.
func TestReadOnlyNow(t *testing.T) {
	t.Parallel()
	root := shared.Server(t).Root(t)
	for value, want := range map[string]bool{"0": false, "1": true, "'OFF'": false, "'ON'": true, "'NO_LOCK'": true,
		"'NO_LOCK_NO_ADMIN'": true} {
		var got bool
		if err := root.QueryRow("SELECT " + strings.Replace(readOnlyNow, "@@global.read_only", value,
			1)).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %v, %v", value, got, err)
		}
	}
}

// TestUnsyncedLog checks for the warning about a database that writes a binary log and does not sync it.
func TestUnsyncedLog(t *testing.T) {
	t.Parallel()
	for sync, want := range map[string]bool{"0": true, "1": false} {
		dsn := mariadb.Start(t, "--log-bin=log", "--sync-binlog="+sync).Database(t)
		var said bytes.Buffer
		r := open(t, Options{DSN: dsn, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		elect(t, r, "127.0.0.1:8899")
		closeOf(t, r)
		if got := strings.Contains(said.String(), "sync_binlog=0"); got != want {
			t.Errorf("sync_binlog=%s: %s", sync, said.String())
		}
	}
}

// TestWithoutGetLock checks that two servers begin a registry in a database that refuses named locks, as a Galera in
// strict mode.
func TestWithoutGetLock(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	begun := make(chan error)
	for range 2 {
		s, err := newStore(Options{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.close)
		inner, err := mysqldriver.NewConnector(s.config)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.db.Close()
		s.db = sqlx.NewDb(sql.OpenDB(mariadb.Refusing(connector{inner}, mariadb.Refusals{"GET_LOCK": {Number: 1105,
			Message: "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"}})), "mysql")
		go func() { begun <- s.prepare(t.Context(), position{}) }()
	}
	for range 2 {
		if err := <-begun; err != nil {
			t.Error(err)
		}
	}
	_, term := lead(t, Options{DSN: dsn})
	commit(t, term, write("/a", "0"))
}

// TestUnknownAuthority checks that the error about a database whose certificate a company's authority has signed says
// what to do.
func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	cert, key := certificates.New(t).Good().Write(t, t.TempDir())
	dsn := mariadb.Start(t, "--ssl-cert="+cert, "--ssl-key="+key).Database(t)
	dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + "tls=true"
	s, err := newStore(Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.prepare(t.Context(), position{}); err == nil || !strings.Contains(err.Error(), "--ca-file") {
		t.Error(err)
	}
}

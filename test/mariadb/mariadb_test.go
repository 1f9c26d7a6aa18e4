package mariadb_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var shared mariadb.Shared

func TestMain(m *testing.M) { goleak.VerifyTestMain(shared.Main(m)) }

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestEachDatabaseIsEmpty(t *testing.T) {
	t.Parallel()
	for range 2 {
		if _, err := open(t, shared.Server(t).Database(t)).Exec("CREATE TABLE a (b INT)"); err != nil {
			t.Error(err)
		}
	}
}

func TestServerKeepsItsDataAndPort(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	before, db := s.Address(), open(t, s.Database(t))
	if _, err := db.Exec("CREATE TABLE a (b INT) SELECT 7 AS b"); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Kill()
	if err := db.Ping(); err == nil {
		t.Error("a killed server answers")
	}
	s.Restart(t)
	var b int
	if err := db.QueryRow("SELECT b FROM a").Scan(&b); err != nil || b != 7 || s.Address() != before {
		t.Errorf("got %d and error %v at %s; want 7 at %s", b, err, s.Address(), before)
	}
}

func TestPausedServerAnswersNothing(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	db := s.Root(t)
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	s.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := db.PingContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused server answered: %v", err)
	}
	s.Resume(t)
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}

// TestReplica: the replica has the data of its server, and after StopFollowing gets nothing more.
func TestReplica(t *testing.T) {
	t.Parallel()
	server, replica := mariadb.StartWithReplica(t)
	first, second := server.Root(t), replica.Root(t)
	if _, err := first.Exec("CREATE DATABASE a; CREATE TABLE a.b (c INT); INSERT INTO a.b VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	var c int
	eventually.Works(t, "the replica has what its server has",
		func() error { return second.QueryRow("SELECT c FROM a.b").Scan(&c) })
	replica.StopFollowing(t)
	if _, err := first.Exec("UPDATE a.b SET c = 8"); err != nil {
		t.Fatal(err)
	}
	if err := second.QueryRow("SELECT c FROM a.b").Scan(&c); err != nil || c != 7 {
		t.Errorf("the replica that stopped has %d, %v, want 7", c, err)
	}
}

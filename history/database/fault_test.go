package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

func TestWhatHealsWithTimeIsNoLoss(t *testing.T) {
	t.Parallel()
	s := server.Server(t)
	root := s.Root(t)
	dsn := s.Database(t)
	migrate(t, mysqlOf(t, dsn))
	user, _, _ := strings.Cut(dsn, ":")
	if _, err := root.Exec(fmt.Sprintf(
		"CREATE USER reader_%s IDENTIFIED BY 'very-secret'; GRANT SELECT ON %s.* TO reader_%s", user, user,
		user)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dsn, says string }{
		"wrong password":         {s.DSN(user, "wrong-secret", user), "Access denied"},
		"missing database":       {s.DSN("root", "", "nowhere"), "nowhere"},
		"read-only user":         {s.DSN("reader_"+user, "very-secret", user), "command denied"},
		"no server at that port": {user + ":very-secret@tcp(127.0.0.1:1)/" + user, "refused"},
		"without tables":         {s.Database(t), "JOB_EXECUTION"},
	} {
		d := mysqlOf(t, c.dsn)
		lost, err := d.Write(t.Context(), []event.Batch{{Rows: oneOfEach()}})
		if err == nil || lost > 0 || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "-secret") {
			t.Errorf("%s: %d rows lost, %v", name, lost, err)
		}
		if _, _, err := d.Versions(t.Context()); err != nil && strings.Contains(err.Error(), "-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFileThatCantBeUsedIsNoLoss(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/none.db", []byte(strings.Repeat("no database. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder + "/missing/history.db", folder + "/none.db", folder} {
		d := sqliteOf(t, path)
		if _, _, err := d.Migrate(t.Context()); err == nil {
			t.Errorf("%s was migrated", path)
		}
		if lost, err := d.Write(t.Context(), []event.Batch{{Rows: oneOfEach()}}); err == nil || lost > 0 {
			t.Errorf("%s: %d rows lost, %v", path, lost, err)
		}
	}
}

// TestARemovedFileIsNoticed checks that the first write after the removal of the file returns an error, because a
// kernel silently continues to write to a removed file, and that later writes go to the file at the path.
func TestARemovedFileIsNoticed(t *testing.T) {
	t.Parallel()
	for says, spoil := range map[string]func(path string) error{
		"was removed": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		},
		"was replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/history.db"
			d := sqliteOf(t, path)
			migrate(t, d)
			write(t, d, oneOfEach())
			var open []*sql.Conn // so that several connections are idle afterwards
			for range 3 {
				c, err := d.db.DB.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				open = append(open, c)
			}
			for _, c := range open {
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			lost, err := d.Write(t.Context(), []event.Batch{{Rows: oneOfEach()}})
			if err == nil || lost > 0 || !strings.Contains(err.Error(), says) ||
				!strings.Contains(err.Error(), "opened again") {
				t.Errorf("%d rows lost, %v", lost, err)
			}
			migrate(t, d)
			write(t, d, oneOfEach())
			check(t, sqliteOf(t, path), stored)
			for range 3 {
				check(t, d, stored)
			}
		})
	}
}

// writeUntilStored retries the write of a batch, as the recorder does, and returns the number of retries.
func writeUntilStored(t *testing.T, d *DB, rows event.Rows) (retries int) {
	for ; t.Context().Err() == nil; retries++ {
		lost, err := d.Write(t.Context(), []event.Batch{{Rows: rows}})
		if lost > 0 {
			t.Errorf("%d rows lost", lost)
		}
		if err == nil {
			return retries
		}
	}
	return retries
}

func TestNothingIsLostOrDoubledWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	d := mysqlOf(t, s.Database(t))
	migrate(t, d)
	var progress, want atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			var rows event.Rows
			for i := range 20 {
				id := fmt.Sprint(n, " ", i)
				rows.Traces = append(rows.Traces, event.Trace{ID: id, Time: noon})
				rows.Runs = append(rows.Runs,
					event.Run{ID: id, Revision: event.Ended, Success: true, Start: noon,
						End: noon.Add(time.Duration(n) * time.Second)})
			}
			writeUntilStored(t, d, rows)
			want.Add(20)
			progress.Add(1)
		}
	}()
	further := func(by int64) {
		from := progress.Load()
		eventually.Works(t, "write on", func() error {
			if progress.Load() < from+by {
				return fmt.Errorf("%d batches more", progress.Load()-from)
			}
			return nil
		})
	}
	for range 3 {
		further(20)
		s.Kill()
		s.Restart(t)
	}
	further(5)
	close(stop)
	<-stopped
	for _, table := range []string{"JOB_STATUS_TRACE_LOG", "JOB_EXECUTION_LOG"} {
		if n := countOf(t, d, table); n != int(want.Load()) {
			t.Errorf("%s has %d rows of %d", table, n, want.Load())
		}
	}
	for done := 1; done > 0; {
		var err error
		if done, err = d.Recount(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	if n := sumOf(t, d, resultsOfDays); n != want.Load() {
		t.Errorf("%d ends were counted of %d", n, want.Load())
	}
}

func sumOf(t *testing.T, d *DB, table string) (n int64) {
	t.Helper()
	if err := d.db.Get(&n, "SELECT COALESCE(SUM(success_count), 0) FROM "+table); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestACallToAFrozenServerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	d := mysqlOf(t, s.Database(t))
	migrate(t, d)
	s.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := d.Write(ctx, []event.Batch{{Rows: oneOfEach()}}); err == nil {
		t.Error("a frozen server wrote")
	}
	s.Resume(t)
	eventually.Works(t, "write when it goes on", func() error {
		_, err := d.Write(t.Context(), []event.Batch{{Rows: oneOfEach()}})
		return err
	})
	check(t, d, stored)
}

// TestAFrozenServerIsGivenUp checks that no call waits forever for a server that no longer answers, as after a power
// failure of its host.
func TestAFrozenServerIsGivenUp(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	d := mysqlOf(t, s.Database(t))
	migrate(t, d)
	d.timeout = 200 * time.Millisecond
	s.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, do := range map[string]func() error{
		"write":   func() error { _, err := d.Write(ctx, []event.Batch{{Rows: oneOfEach()}}); return err },
		"migrate": func() error { _, _, err := d.Migrate(ctx); return err },
		"batches": func() error { _, _, err := d.Batches(ctx, 1); return err },
		"recount": func() error { _, err := d.Recount(ctx, 1); return err },
		"delete":  func() error { _, err := d.DeleteOld(ctx, noon, 1, 1); return err },
	} {
		if err := do(); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v, it waited for its context: %v", name, err, ctx.Err() != nil)
		}
	}
	s.Resume(t)
}

// TestWritersOfTheSameRowsBothComeThrough checks that two instances can write the same rows in opposite orders, while
// others count and delete.
func TestWritersOfTheSameRowsBothComeThrough(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		migrate(t, open())
		const batches, each = 30, 40
		rows := func(n int, backwards bool) (rows event.Rows) {
			for i := range each {
				if backwards {
					i = each - 1 - i
				}
				id, end := fmt.Sprint(n/2, " ", i), noon.Add(time.Duration(i)*time.Minute)
				rows.Runs = append(rows.Runs,
					event.Run{ID: id, Revision: event.Begun + 2*(n%2), Success: true, Start: noon, End: end})
				rows.Executions = append(rows.Executions,
					event.Execution{ID: id, Revision: event.Begun + 2*(n%2), Fire: noon, End: end})
				rows.Steps = append(rows.Steps, event.Step{ID: id, Time: noon})
			}
			return rows
		}
		var all, counting sync.WaitGroup
		var retries atomic.Int64
		stopped := make(chan struct{})
		for _, backwards := range []bool{false, true} {
			d := open()
			all.Go(func() {
				for n := range batches {
					retries.Add(int64(writeUntilStored(t, d, rows(n, backwards))))
				}
			})
			counting.Go(func() {
				for {
					select {
					case <-stopped:
						return
					default:
					}
					_, _ = d.Recount(t.Context(), 5)
					_, _ = d.DeleteOld(t.Context(), noon.Add(-time.Hour), 1<<40, 100)
				}
			})
		}
		all.Wait()
		close(stopped)
		counting.Wait()
		t.Logf("%d transactions of %d were tried again", retries.Load(), 2*batches)
		d := open()
		eventually.Works(t, "count", func() error {
			done, err := d.Recount(t.Context(), 1000)
			if err == nil && done > 0 {
				err = fmt.Errorf("%d minutes were left", done)
			}
			return err
		})
		const want = batches / 2 * each
		for _, table := range []string{"JOB_EXECUTION_LOG WHERE revision = 3", "JOB_EXECUTION WHERE revision = 3",
			"JOB_EXECUTION_EVENT"} {
			if n := countOf(t, d, table); n != want {
				t.Errorf("%s: %d rows of %d", table, n, want)
			}
		}
		for _, table := range []string{resultsOfMinutes, resultsOfHours, resultsOfDays} {
			if n := sumOf(t, d, table); n != want {
				t.Errorf("%s: %d ends of %d", table, n, want)
			}
		}
	})
}

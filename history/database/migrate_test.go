package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

const newest = 14

func TestMigrate(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		d := open()
		if is, want, err := d.Versions(t.Context()); is != 0 || want != newest || err != nil {
			t.Errorf("of an empty database: version %d of %d, %v", is, want, err)
		}
		for _, want := range []string{"0 14", "14 14"} {
			from, to, err := d.Migrate(t.Context())
			if got := fmt.Sprint(from, " ", to); got != want || err != nil {
				t.Errorf("migrated %s, %v; want %s", got, err, want)
			}
		}
		if is, want, err := d.Versions(t.Context()); is != newest || want != newest || err != nil {
			t.Errorf("of a migrated database: version %d of %d, %v", is, want, err)
		}
		write(t, d, oneOfEach())
	})
}

func TestOnlyOneMigratesAtATime(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		var all sync.WaitGroup
		for range 6 {
			d := open()
			all.Go(func() {
				if _, to, err := d.Migrate(t.Context()); to != newest || err != nil {
					t.Errorf("to version %d, %v", to, err)
				}
			})
		}
		all.Wait()
		d := open()
		if n := countOf(t, d, versionTable+" WHERE version_id = 14"); n != 1 {
			t.Errorf("the last step was taken %d times", n)
		}
		write(t, d, oneOfEach())
	})
}

func TestAMigrationWaitsForAnotherWithinALimit(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		d := open()
		holder, waiter := d.dialect.lock(d.db.DB), d.dialect.lock(d.db.DB)
		switch l := waiter.(type) {
		case *mysql.MigrationLock:
			l.Timeout = time.Second
		case *fileLock:
			l.timeout = 50 * time.Millisecond
		}
		first, err := d.db.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		second, err := d.db.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if err := holder.SessionLock(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if err := waiter.SessionLock(t.Context(), second); err == nil ||
			!strings.Contains(err.Error(), "another process has been migrating") {
			t.Errorf("while another one migrates: %v", err)
		}
		if err := holder.SessionUnlock(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if err := waiter.SessionLock(t.Context(), second); err != nil {
			t.Errorf("after another one has migrated: %v", err)
		} else if err := waiter.SessionUnlock(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		if _, err := d.db.Exec("INSERT INTO " + versionTable +
			" (version_id, is_applied) VALUES (57, 1)"); err != nil {
			t.Fatal(err)
		}
		_, _, err := d.Migrate(t.Context())
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "57") || !strings.Contains(err.Error(), "14") {
			t.Errorf("got %v, want both numbers", err)
		}
	})
}

// TestTheSchemaOfAnEarlierReleaseLosesNothing checks that no row is lost with the schema of an earlier release, which
// the server may not be allowed to change: rows wait until the schema is migrated, and existing rows are read with
// their meaning.
func TestTheSchemaOfAnEarlierReleaseLosesNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		d := open()
		p, err := d.provider()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.UpTo(t.Context(), 13); err != nil {
			t.Fatal(err)
		}
		if _, err := d.db.Exec(`INSERT INTO JOB_EXECUTION (id, revision, job_name, app_name, source, state, reason, fire_time, end_time, shards)
			VALUES ('old', 3, 'job', 'app', 'NORMAL_TRIGGER', 'FAILED', 'exit status 3', '2026-05-03 12:00:00.000', '2026-05-03 12:00:01.000', 1)`); err != nil {
			t.Fatal(err)
		}
		unmigrated := []*DB{d}
		if d.dialect.folder == "mysql" {
			user := mayWrite(t, d)
			unmigrated = append(unmigrated, user)
			if _, _, err := user.Migrate(t.Context()); err == nil ||
				!strings.Contains(err.Error(), "from version 13 to 14") || !strings.Contains(err.Error(), "denied") {
				t.Errorf("migrated without a right to: %v", err)
			}
		}
		for _, d := range unmigrated {
			if lost, err := d.Write(t.Context(), []event.Batch{{Rows: oneOfEach()}}); err == nil || lost > 0 {
				t.Errorf("before the migration: %d rows lost, %v", lost, err)
			}
		}
		migrate(t, d)
		for _, d := range unmigrated {
			write(t, d, oneOfEach())
			e, _, err := d.Execution(t.Context(), "old")
			if err != nil || e.ReasonCode != "text" || value(e.Reason) != "exit status 3" {
				t.Errorf("%v %+v", err, e)
			}
			life, _, err := d.Life(t.Context(), "old", 10)
			if last := life[len(life)-1]; err != nil || last.MessageCode != "text" ||
				last.Message != "FAILED: exit status 3" {
				t.Errorf("%v %+v", err, life)
			}
		}
		check(t, d, map[string][]map[string]any{"JOB_EXECUTION_LOG": stored["JOB_EXECUTION_LOG"]})
	})
}

// mayWrite opens a database as a user who may read and write rows but not change tables.
func mayWrite(t *testing.T, d *DB) *DB {
	t.Helper()
	var name string
	if err := d.db.Get(&name, "SELECT DATABASE()"); err != nil {
		t.Fatal(err)
	}
	s := server.Server(t)
	if _, err := s.Root(t).Exec(fmt.Sprintf(
		"CREATE USER rows_%s IDENTIFIED BY 'secret'; GRANT SELECT, INSERT, UPDATE, DELETE ON %s.* TO rows_%s", name,
		name, name)); err != nil {
		t.Fatal(err)
	}
	return mysqlOf(t, s.DSN("rows_"+name, "secret", name))
}

// TestEachStepCanBeTakenAgain checks that each step can be repeated: a crash may happen between a step and the record
// that it was done, because MySQL commits them separately.
func TestEachStepCanBeTakenAgain(t *testing.T) {
	t.Parallel()
	d := mysqlOf(t, server.Server(t).Database(t))
	migrate(t, d)
	write(t, d, oneOfEach())
	for version := newest; version >= 0; version-- {
		if _, err := d.db.Exec("DELETE FROM "+versionTable+" WHERE version_id >= ?", version); err != nil {
			t.Fatal(err)
		}
		if _, to, err := d.Migrate(t.Context()); to != newest || err != nil {
			t.Fatalf("from version %d again: to %d, %v", version, to, err)
		}
	}
	check(t, d, stored)
	write(t, d, oneOfEach())
	check(t, d, stored)
}

func TestAMigrationThatIsCutOffGoesOn(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		d := open()
		for after := 5 * time.Millisecond; ; after *= 2 {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			_, _, err := d.Migrate(ctx)
			cancel()
			if err == nil {
				break
			}
			if after > time.Minute {
				t.Fatal(err)
			}
		}
		write(t, d, oneOfEach())
		check(t, d, stored)
	})
}

func TestTablesOfTheOriginalAreTakenOver(t *testing.T) {
	t.Parallel()
	for file, year := range map[string]string{"original-3.0.1.sql": "2021", "original-2.1.5.sql": "2017"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			script, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			dsn := server.Server(t).Database(t)
			d := mysqlOf(t, dsn)
			_, name, _ := strings.Cut(dsn, ")/")
			if _, err := server.Server(t).Root(t).Exec("USE " + name + ";" + string(script)); err != nil {
				t.Fatal(err)
			}
			migrate(t, d)
			write(t, d, oneOfEach())

			got := rowsFrom(t, d, `SELECT id, failure_cause, is_success, start_time, complete_time, revision, state, execution_id
				FROM JOB_EXECUTION_LOG WHERE id LIKE 'b0e6%' ORDER BY failure_cause DESC`)
			want := []map[string]any{
				{"id": "b0e6a2c5-0000-4000-8000-000000000001", "failure_cause": "café", "is_success": int64(0),
					"start_time":    year + "-10-19 00:00:00.000",
					"complete_time": year + "-10-19 00:00:01.000", "revision": int64(0), "state": nil, "execution_id": nil},
				{"id": "b0e6a2c5-0000-4000-8000-000000000002", "failure_cause": nil, "is_success": int64(1),
					"start_time":    nil,
					"complete_time": nil, "revision": int64(0), "state": nil, "execution_id": nil},
			}
			if year == "2017" {
				for _, column := range []string{"start_time", "complete_time"} {
					want[0][column], want[1][column] = want[1][column], want[0][column]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			got = rowsFrom(t, d, "SELECT message, creation_time FROM JOB_STATUS_TRACE_LOG WHERE id LIKE 'b0e6%'")
			if diff := cmp.Diff([]map[string]any{{"message": "café", "creation_time": year + "-10-19 00:00:00.000"}},
				got); diff != "" {
				t.Error(diff)
			}
			// Values for which the original's columns are too narrow, and duplicate ids.
			for range 2 {
				write(t, d, event.Rows{Traces: []event.Trace{{ID: "x", State: "TASK_GONE_BY_OPERATOR_AND_MORE",
					Agent: strings.Repeat("a", 100), Message: reason.FromText("😀"), Time: noon}}})
			}
			if n := countOf(t, d, "JOB_STATUS_TRACE_LOG WHERE message = '😀'"); n != 1 {
				t.Errorf("a row written twice stands %d times", n)
			}
			if year == "2021" {
				got := rowsFrom(t, d, "SELECT success_count, statistics_time FROM TASK_RESULT_STATISTICS_MINUTE ORDER BY statistics_time")
				want := []map[string]any{
					{"success_count": int64(5), "statistics_time": "2021-10-19 00:00:00.000"}, {"success_count": int64(6), "statistics_time": "2021-10-19 00:01:00.000"},
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// numbers is a table expression of the numbers from first to last, in a column seq.
func numbers(first, last int) string {
	return fmt.Sprintf("(SELECT n + %d AS seq FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', %d), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS ordinals) AS numbers", first-1, last-first)
}

// TestManyStatisticsAreTakenOver migrates many minutes, each of which has two rows: no query may compare every row
// with every other.
func TestManyStatisticsAreTakenOver(t *testing.T) {
	t.Parallel()
	dsn := server.Server(t).Database(t)
	_, name, _ := strings.Cut(dsn, ")/")
	if _, err := server.Server(t).Root(t).Exec("USE " + name + `; CREATE TABLE TASK_RESULT_STATISTICS_MINUTE (
		id BIGINT NOT NULL AUTO_INCREMENT, success_count INT, failed_count INT, statistics_time TIMESTAMP NULL, creation_time TIMESTAMP NULL, PRIMARY KEY (id));
		INSERT INTO TASK_RESULT_STATISTICS_MINUTE SELECT seq, seq, 0, TIMESTAMP '2021-01-01 00:00:00' + INTERVAL ((seq - 1) DIV 2) MINUTE, NULL FROM ` + numbers(1, 200_000)); err != nil {
		t.Fatal(err)
	}
	d := mysqlOf(t, dsn)
	migrate(t, d)
	if n := countOf(t, d, "TASK_RESULT_STATISTICS_MINUTE WHERE success_count % 2 = 0"); n != 100_000 ||
		countOf(t, d, "TASK_RESULT_STATISTICS_MINUTE") != n {
		t.Errorf("%d of the newest rows were kept, of 100,000", n)
	}
}

// TestTracesThatStandTwiceAreTakenOverOnce migrates traces whose ids are not unique, because the original's table
// allows that: each id exists twice. In one case, an interrupted migration has left its index.
func TestTracesThatStandTwiceAreTakenOverOnce(t *testing.T) {
	t.Parallel()
	for name, index := range map[string]string{"untouched": "", "cut off": ", KEY ID_TWICE (id)"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := server.Server(t).Database(t)
			_, name, _ := strings.Cut(dsn, ")/")
			if _, err := server.Server(t).Root(t).Exec("USE " + name + `; CREATE TABLE JOB_STATUS_TRACE_LOG (
				auto_id INT NOT NULL AUTO_INCREMENT, id VARCHAR(40) NOT NULL, job_name VARCHAR(100) NOT NULL, original_task_id VARCHAR(255) NOT NULL,
				task_id VARCHAR(255) NOT NULL, slave_id VARCHAR(50) NOT NULL, source VARCHAR(50) NOT NULL, execution_type VARCHAR(20) NOT NULL,
				sharding_item VARCHAR(100) NOT NULL, state VARCHAR(20) NOT NULL, message VARCHAR(4000) NULL, creation_time TIMESTAMP NULL,
				PRIMARY KEY (auto_id), KEY TASK_ID_STATE_INDEX (task_id(128), state)` + index + `);
				INSERT INTO JOB_STATUS_TRACE_LOG SELECT seq, seq DIV 2, 'job', '', 't', 'a', 's', 'e', '[0]', 'S', seq, NULL FROM ` + numbers(2, 100_001)); err != nil {
				t.Fatal(err)
			}
			d := mysqlOf(t, dsn)
			migrate(t, d)
			if n := countOf(t, d, "JOB_STATUS_TRACE_LOG WHERE message % 2 = 1"); n != 50_000 ||
				countOf(t, d, "JOB_STATUS_TRACE_LOG") != n {
				t.Errorf("%d of the newest rows were kept, of 50,000", n)
			}
		})
	}
}

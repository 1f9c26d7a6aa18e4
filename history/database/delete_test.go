package database

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
)

// old returns n rows of each table in large, an hour apart, the last of them at noon.
func old(n int) (rows event.Rows) {
	for i := range n {
		id, at := fmt.Sprintf("%03d", i), noon.Add(time.Duration(i+1-n)*time.Hour)
		rows.Executions = append(rows.Executions, event.Execution{ID: id, Revision: event.Ended, Fire: at, End: at})
		rows.Steps = append(rows.Steps, event.Step{ID: id, Time: at})
		rows.Runs = append(rows.Runs, event.Run{ID: id, Revision: event.Ended, Start: at, End: at})
		rows.Traces = append(rows.Traces, event.Trace{ID: id, Time: at})
	}
	return rows
}

// large are the large tables except for the audit log.
var large = []string{"JOB_EXECUTION", "JOB_EXECUTION_EVENT", "JOB_EXECUTION_LOG", "JOB_STATUS_TRACE_LOG"}

func TestOldRowsAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		write(t, d, old(50))
		recountAll(t, d)
		write(t, d, event.Rows{
			Runs:    []event.Run{{ID: "never begun", Revision: event.Ended, End: noon.Add(-24 * time.Hour)}},
			Tallies: []event.Tally{{ID: "a", Time: noon.Add(-24 * time.Hour)}, {ID: "b", Time: noon}},
			Loads:   []event.Load{{Time: noon.Add(-24 * time.Hour)}, {Time: noon}},
			Samples: []event.Sample{
				{Of: event.TasksRunning, Time: noon.Add(-24 * time.Hour)}, {Of: event.JobsRunning, Time: noon.Add(-24 * time.Hour)}, {Of: event.JobsRegistered, Time: noon.Add(-2400 * time.Hour)},
			},
		})
		before := noon.Add(-9 * time.Hour) // 40 of 50 are older
		const all = 4*40 + 1 + 1 + 40 + 3  // large tables, a run, a tally, minutes, gauges
		sum := 0
		for {
			n, err := d.DeleteOld(t.Context(), before, 1000, 30)
			if err != nil || n > 30 {
				t.Fatalf("%d rows, %v", n, err)
			}
			if sum += n; n < 30 {
				break
			}
		}
		if sum != all {
			t.Errorf("%d rows were deleted of %d", sum, all)
		}
		for _, table := range append([]string{resultsOfMinutes}, large...) {
			if n := countOf(t, d, table); n != 10 {
				t.Errorf("%s has %d rows of 10", table, n)
			}
		}
		for table, want := range map[string]int{"JOB_RUN_TALLY": 1, "SCHEDULING_STATISTICS": 1,
			"TASK_RUNNING_STATISTICS": 0, "JOB_RUNNING_STATISTICS": 0, "JOB_REGISTER_STATISTICS": 1,
			resultsOfHours: 50, resultsOfDays: 3} {
			if n := countOf(t, d, table); n != want {
				t.Errorf("%s has %d rows of %d", table, n, want)
			}
		}
	})
}

// TestWhatRunsIsNotDeleted checks that the rows of unfinished executions and runs are kept, because the execution of a
// daemon lasts for months and a run may last for days. Runs whose end was lost are deleted after a year.
func TestWhatRunsIsNotDeleted(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		long := noon.AddDate(0, -3, 0)
		write(t, d, event.Rows{
			Executions: []event.Execution{
				{ID: "runs", Revision: event.Launched, Fire: long},
				{ID: "has just ended", Revision: event.Ended, Fire: long, End: noon},
				{ID: "ended", Revision: event.Ended, Fire: long, End: long},
			},
			Runs: []event.Run{
				{ID: "runs", Revision: event.Begun, Start: long},
				{ID: "has just ended", Revision: event.Ended, Start: long, End: noon},
				{ID: "ended", Revision: event.Ended, Start: long, End: long},
				{ID: "end lost", Revision: event.Begun, Start: noon.AddDate(-1, 0, -1)},
			},
		})
		left := func(rows int64, want ...string) {
			t.Helper()
			if _, err := d.DeleteOld(t.Context(), noon.AddDate(0, 0, -30), rows, 1000); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"JOB_EXECUTION", "JOB_EXECUTION_LOG"} {
				var ids []string
				if err := d.db.Select(&ids, "SELECT id FROM "+table+" ORDER BY id"); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, ids); diff != "" {
					t.Errorf("%s: %s", table, diff)
				}
			}
		}
		left(1000, "has just ended", "runs")
		left(1, "runs") // the oldest row is kept, because it is unfinished
	})
}

// TestAuditRowsAreKeptForAYear checks that audit rows are kept for at least a year, unless there are too many: then the
// oldest are deleted, as in other large tables.
func TestAuditRowsAreKeptForAYear(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		var rows event.Rows
		for _, at := range []time.Time{noon.AddDate(-3, 0, 0), noon.AddDate(-1, 0, -1), noon.AddDate(-1, 0, 1), noon} {
			rows.Audits = append(rows.Audits, event.Audit{ID: at.String(), Time: at})
		}
		write(t, d, rows)
		for _, c := range []struct {
			before time.Time
			rows   int64
			left   int
		}{{noon.AddDate(-2, 0, 0), 100, 3}, {noon.AddDate(0, 0, -30), 100, 2}, {noon, 100, 2},
			{noon.AddDate(0, 0, -30), 1, 1}} {
			if _, err := d.DeleteOld(t.Context(), c.before, c.rows, 1000); err != nil {
				t.Fatal(err)
			}
			if n := countOf(t, d, "AUDIT_LOG"); n != c.left {
				t.Errorf("%d rows are left of %d", n, c.left)
			}
		}
	})
}

func TestResultsOfHoursAreKeptForAYear(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		for _, at := range []time.Time{noon.AddDate(-3, 0, 0), noon.AddDate(-1, 0, -1), noon.AddDate(-1, 0, 1)} {
			write(t, d, ended(at.String(), at, 0, 1))
		}
		recountAll(t, d)
		for _, c := range []struct {
			before time.Time
			want   []string
		}{
			{noon.AddDate(-2, 0, 0), []string{"2025-05-03 12:00 1 0", "2025-05-05 12:00 1 0"}},
			{noon, []string{"2025-05-05 12:00 1 0"}},
		} {
			if _, err := d.DeleteOld(t.Context(), c.before, 1000, 1000); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, results(t, d, resultsOfHours)); diff != "" {
				t.Errorf("before %v: %s", c.before, diff)
			}
		}
		if got := results(t, d, resultsOfDays); len(got) != 3 {
			t.Errorf("days: %v", got)
		}
	})
}

func TestTheOldestBeyondSoManyRowsAreDeleted(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		write(t, d, old(50))
		write(t, d, old(50)) // skipped keys do not count as rows
		deleteAll := func() {
			for n := 1; n > 0; {
				var err error
				if n, err = d.DeleteOld(t.Context(), noon.AddDate(0, 0, -30), 20, 7); err != nil || n > 7 {
					t.Fatal(n, err)
				}
			}
		}
		deleteAll()
		for table, column := range map[string]string{"JOB_EXECUTION": "id", "JOB_EXECUTION_EVENT": "id",
			"JOB_EXECUTION_LOG": "id", "JOB_STATUS_TRACE_LOG": "id"} {
			rows := rowsFrom(t, d, "SELECT COUNT(*) AS n, MIN("+column+") AS first FROM "+table)
			if diff := cmp.Diff([]map[string]any{{"n": int64(20), "first": "030"}}, rows); diff != "" {
				t.Errorf("%s: %s", table, diff)
			}
		}
		// A count is reused for a while; the next one sees the rows written meanwhile.
		rows := old(70)
		write(t, d, rows)
		later := noon.Add(time.Hour)
		d.now = func() time.Time { return later }
		deleteAll()
		for _, table := range large {
			if n := countOf(t, d, table); n != 20 {
				t.Errorf("%s has %d rows of 20", table, n)
			}
		}
	})
}

func TestDeletionLocksNoWriterOut(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		const oldRows, batches, each = 400, 20, 50
		write(t, d, old(oldRows))
		var writing sync.WaitGroup
		writing.Go(func() {
			for n := range batches {
				var rows event.Rows
				for i := range each {
					id := fmt.Sprint("new ", n, " ", i)
					rows.Runs = append(rows.Runs, event.Run{ID: id, Revision: event.Begun, Start: noon.Add(time.Hour)})
					rows.Traces = append(rows.Traces, event.Trace{ID: id, Time: noon.Add(time.Hour)})
				}
				writeUntilStored(t, d, rows)
			}
		})
		deleted := 0
		for n := 10; n == 10; {
			var err error
			if n, err = d.DeleteOld(t.Context(), noon.Add(time.Minute), 1<<40, 10); err != nil {
				t.Fatal(err)
			}
			deleted += n
		}
		writing.Wait()
		if deleted < 4*oldRows {
			t.Errorf("%d rows were deleted, want %d at least", deleted, 4*oldRows)
		}
		for _, table := range []string{"JOB_EXECUTION_LOG", "JOB_STATUS_TRACE_LOG"} {
			if n := countOf(t, d, table); n != batches*each {
				t.Errorf("%s has %d rows of %d", table, n, batches*each)
			}
		}
	})
}

// TestDeletionUsesIndexes checks that deletion finds rows in the order of an index, because sorting millions of rows
// for each thousand would block all writers.
func TestDeletionUsesIndexes(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		fill(t, d, 4000)
		explained := func(a agingTable, condition string, args ...any) {
			t.Helper()
			how := map[bool]string{true: "EXPLAIN ", false: "EXPLAIN QUERY PLAN "}[d.dialect.folder == "mysql"]
			for _, step := range rowsFrom(t, d, how+a.oldest(condition), append(args, 100)...) {
				if plan := fmt.Sprint(step); strings.Contains(plan, "filesort") ||
					strings.Contains(plan, "TEMP B-TREE") || step["type"] == "ALL" {
					t.Errorf("%s: %s", a.oldest(condition), plan)
				}
			}
		}
		for _, a := range append(byAge[:len(byAge):len(byAge)], byYear...) {
			condition, args := a.olderThan(noon.Add(10 * time.Minute))
			explained(a, condition, args...)
		}
		for _, a := range bounded {
			ordered, condition := a.finished()
			explained(ordered, condition)
		}
	})
}

package database

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
)

// results returns a table of results as lines: period, successes and failures.
func results(t *testing.T, d *DB, table string) (lines []string) {
	t.Helper()
	for _, row := range rowsFrom(t, d, "SELECT statistics_time AS period, success_count, failed_count FROM "+table+
		" ORDER BY statistics_time") {
		lines = append(lines, fmt.Sprint(row["period"].(string)[:16], " ", row["success_count"], " ",
			row["failed_count"]))
	}
	return lines
}

func recountAll(t *testing.T, d *DB) {
	t.Helper()
	if _, err := d.Recount(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if n := countOf(t, d, "HISTORY_RECOUNT"); n != 0 {
		t.Errorf("%d minutes are still marked", n)
	}
}

// ended returns runs that ended at a time, of which the first ones failed.
func ended(prefix string, at time.Time, failed, succeeded int) (rows event.Rows) {
	for i := range failed + succeeded {
		rows.Runs = append(rows.Runs, event.Run{ID: fmt.Sprint(prefix, i), Revision: event.Ended, Success: i >= failed,
			Start: at.Add(-time.Hour), End: at})
	}
	return rows
}

func TestResultsAreCountedFromWhatIsStored(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 5, 5, 0, 0, 0, 0, time.UTC)
	steps := []struct {
		name                 string
		rows                 event.Rows
		minutes, hours, days []string
	}{{
		name:    "one minute",
		rows:    ended("a", noon.Add(59999*time.Millisecond), 1, 2),
		minutes: []string{"2026-05-04 12:00 2 1"}, hours: []string{"2026-05-04 12:00 2 1"},
		days: []string{"2026-05-04 00:00 2 1"},
	}, {
		name:    "the same rows again",
		rows:    ended("a", noon.Add(59999*time.Millisecond), 1, 2),
		minutes: []string{"2026-05-04 12:00 2 1"}, hours: []string{"2026-05-04 12:00 2 1"},
		days: []string{"2026-05-04 00:00 2 1"},
	}, {
		name: "late ones of the same minute, and runs that still go on",
		rows: event.Rows{Runs: append(ended("b", noon, 1, 0).Runs,
			event.Run{ID: "c", Revision: event.Begun, Start: noon})},
		minutes: []string{"2026-05-04 12:00 2 2"}, hours: []string{"2026-05-04 12:00 2 2"},
		days: []string{"2026-05-04 00:00 2 2"},
	}, {
		name:    "tallies of another minute",
		rows:    event.Rows{Tallies: []event.Tally{{ID: "t", Success: 40, Failed: 3, Time: noon.Add(time.Minute)}}},
		minutes: []string{"2026-05-04 12:00 2 2", "2026-05-04 12:01 40 3"}, hours: []string{"2026-05-04 12:00 42 5"},
		days: []string{"2026-05-04 00:00 42 5"},
	}, {
		name: "both sides of midnight",
		rows: event.Rows{Runs: append(ended("d", midnight.Add(-time.Millisecond), 0, 1).Runs,
			ended("e", midnight, 0, 1).Runs...)},
		minutes: []string{"2026-05-04 12:00 2 2", "2026-05-04 12:01 40 3", "2026-05-04 23:59 1 0",
			"2026-05-05 00:00 1 0"},
		hours: []string{"2026-05-04 12:00 42 5", "2026-05-04 23:00 1 0", "2026-05-05 00:00 1 0"},
		days:  []string{"2026-05-04 00:00 43 5", "2026-05-05 00:00 1 0"},
	}}
	eachMigrated(t, func(t *testing.T, d *DB) {
		for _, s := range steps {
			write(t, d, s.rows)
			recountAll(t, d)
			got := [][]string{results(t, d, resultsOfMinutes), results(t, d, resultsOfHours),
				results(t, d, resultsOfDays)}
			if diff := cmp.Diff([][]string{s.minutes, s.hours, s.days}, got); diff != "" {
				t.Errorf("%s: want (-), got (+):\n%s", s.name, diff)
			}
		}
	})
}

func TestARecountTakesTheOldestFirstAndSoManyAtMost(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		for i := range 5 {
			write(t, d, ended(fmt.Sprint(i), noon.Add(time.Duration(-i)*time.Minute), 0, 1))
		}
		for _, want := range []int{3, 2, 0} {
			if done, err := d.Recount(t.Context(), 3); done != want || err != nil {
				t.Errorf("%d minutes of %d, %v", done, want, err)
			}
			if got := results(t, d, resultsOfMinutes); want == 3 && cmp.Diff(got,
				[]string{"2026-05-04 11:56 1 0", "2026-05-04 11:57 1 0", "2026-05-04 11:58 1 0"}) != "" {
				t.Errorf("got %v", got)
			}
		}
	})
}

// TestNumbersDontFallWhenRowsWereDeleted checks that a late row, written when a disk returns, does not lower the
// numbers to the count of the rows that are still stored.
func TestNumbersDontFallWhenRowsWereDeleted(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		write(t, d, ended("a", noon, 2, 5))
		recountAll(t, d)
		if _, err := d.DeleteOld(t.Context(), noon.Add(time.Hour), 1000, 1000); err != nil {
			t.Fatal(err)
		}
		write(t, d, ended("late", noon, 1, 0))
		recountAll(t, d)
		got := [][]string{results(t, d, resultsOfHours), results(t, d, resultsOfDays)}
		if diff := cmp.Diff([][]string{{"2026-05-04 12:00 5 2"}, {"2026-05-04 00:00 5 2"}}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTwoMayCountAtOnce checks that two processes that count minutes of one hour at the same time each include the
// counts of the other.
func TestTwoMayCountAtOnce(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, open func() *DB) {
		both := [2]*DB{open(), open()}
		migrate(t, both[0])
		for round := range 20 {
			hour := noon.Add(time.Duration(round) * time.Hour)
			var counting sync.WaitGroup
			begin := make(chan struct{})
			for i, d := range both {
				minute := hour.Add(time.Duration(i) * time.Minute)
				write(t, d, ended(fmt.Sprint(round, " ", i, " "), minute, 1, 3))
				counting.Go(func() {
					<-begin
					for err := d.recount(t.Context(), minute); err != nil && t.Context().Err() == nil; {
						err = d.recount(t.Context(), minute)
					}
				})
			}
			close(begin)
			counting.Wait()
		}
		for _, table := range []string{resultsOfMinutes, resultsOfHours, resultsOfDays} {
			if got := sumOf(t, both[0], table); got != 20*2*3 {
				t.Errorf("%s: %d successes of %d", table, got, 20*2*3)
			}
		}
	})
}

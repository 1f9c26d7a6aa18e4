package database

import (
	"fmt"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// TestCells checks that Cells returns the last attempt of each shard of the requested executions.
func TestCells(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		run := func(execution string, item, attempt int, state string) event.Run {
			r := event.Run{ID: fmt.Sprint(execution, item, attempt), Revision: event.Ended, Job: "job",
				Task: fmt.Sprintf("%s-%d-%d", execution, item, attempt), Execution: execution, Item: item,
				Attempt: attempt,
				Source:  "NORMAL_TRIGGER", State: state, Start: noon,
				End: noon.Add(time.Duration(attempt) * time.Second)}
			if state == "RUNNING" {
				r.Revision, r.End = event.Begun, time.Time{}
			}
			return r
		}
		write(t, d, event.Rows{Runs: []event.Run{run("a", 1, 1, "FINISHED"), run("a", 0, 2, "FINISHED"),
			run("a", 0, 1, "FAILED"), run("b", 0, 1, "RUNNING"), run("other", 0, 1, "FINISHED")}})
		one, two := int64(1000), int64(2000)
		for _, c := range []struct {
			ids  []string
			want map[string][]search.Cell
		}{
			{nil, map[string][]search.Cell{}},
			{[]string{"none"}, map[string][]search.Cell{}},
			{[]string{"b", "none", "a"}, map[string][]search.Cell{
				"a": {{Item: 0, State: "FINISHED", DurationMillis: &two, Attempt: 2, TaskID: "a-0-2"}, {Item: 1, State: "FINISHED", DurationMillis: &one, Attempt: 1, TaskID: "a-1-1"}},
				"b": {{Item: 0, State: "RUNNING", Attempt: 1, TaskID: "b-0-1"}}}},
		} {
			got, err := d.Cells(t.Context(), c.ids)
			if diff := godiff.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v: %v %s", c.ids, err, diff)
			}
		}
	})
}

// TestCellsReturnsWholeExecutions checks that an execution with more runs than Cells reads is left out, and not
// returned in part.
func TestCellsReturnsWholeExecutions(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		if d.dialect.folder == "mysql" {
			return // it is slow, and the result is the same
		}
		var runs []event.Run
		for i := range maxCells {
			id := fmt.Sprintf("e-%d", min(i/100, 5))
			runs = append(runs, event.Run{ID: fmt.Sprint(i), Revision: event.Ended, Job: "job",
				Task: fmt.Sprint("t", i), Execution: id, Item: i % 100, Attempt: i, Source: "NORMAL_TRIGGER",
				State: "FAILED", Start: noon})
		}
		for len(runs) > 0 {
			write(t, d, event.Rows{Runs: runs[:min(len(runs), 5000)]})
			runs = runs[min(len(runs), 5000):]
		}
		got, err := d.Cells(t.Context(), []string{"e-0", "e-4", "e-5", "e-6"})
		if err != nil || len(got) != 3 || len(got["e-0"]) != 100 || len(got["e-5"]) != 100 {
			t.Errorf("%v: %d of 3 executions", err, len(got))
		}
		got, err = d.Cells(t.Context(), []string{"e-0", "e-1", "e-2", "e-3", "e-4", "e-5"})
		if err != nil || len(got) != 5 || got["e-5"] != nil || len(got["e-4"]) != 100 {
			t.Errorf("%v: %d of 5 executions", err, len(got))
		}
	})
}

package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// someRuns returns runs of which several begin at the same time, some have no start, some still run, and one has
// hostile names.
func someRuns() []search.Run {
	list := make([]search.Run, 200)
	for i := range list {
		r := search.Run{Row: int64(i + 1), ID: fmt.Sprintf("run-%d", i), JobName: fmt.Sprintf("job-%d", i%5),
			TaskID:   fmt.Sprintf("job-%d@-@%d@-@READY@-@S%d@-@u", i%5, i%4, i%3),
			Hostname: "host", IP: fmt.Sprintf("10.0.0.%d", i%3), ShardingItem: i % 4, Source: "NORMAL_TRIGGER",
			Success: i%7 != 0}
		execution, state := fmt.Sprintf("execution-%d", i/20), "FINISHED"
		if i == 123 {
			r.JobName = `'; DROP TABLE JOB_EXECUTION_LOG; -- \" % _ ` + "\U0001F600"
		}
		if i%41 != 0 {
			r.StartTime.Time = noon.Add(time.Duration(i*7919%200/2) * 1500 * time.Millisecond)
		}
		if i < 190 {
			r.CompleteTime.Time = noon.Add(time.Duration(i*104729%200) * 1234 * time.Millisecond)
		} else {
			r.Success, state = false, "RUNNING"
		}
		r.ExecutionID, r.State = &execution, &state
		list[i] = r
	}
	return list
}

// insertRuns writes runs, and reads their row numbers.
func insertRuns(t testing.TB, d *DB, list []search.Run) {
	t.Helper()
	var rows event.Rows
	for _, r := range list {
		rows.Runs = append(rows.Runs, event.Run{ID: r.ID, Revision: event.Begun, Job: r.JobName, Task: r.TaskID,
			Host: r.Hostname, IP: r.IP, Item: r.ShardingItem, Source: r.Source,
			Success: r.Success, Start: r.StartTime.Time, End: r.CompleteTime.Time, Execution: *r.ExecutionID,
			State: *r.State})
	}
	write(t, d, rows)
	rowNumbers := map[string]int64{}
	for _, row := range rowsFrom(t, d, "SELECT id, auto_id FROM JOB_EXECUTION_LOG") {
		rowNumbers[row["id"].(string)] = row["auto_id"].(int64)
	}
	for i := range list {
		list[i].Row = rowNumbers[list[i].ID]
	}
}

// fieldOf returns a field of a run as it is sorted and compared.
func fieldOf(r search.Run, field string) string {
	switch field {
	case "jobName":
		return r.JobName
	case "taskId":
		return r.TaskID
	case "ip":
		return r.IP
	case "isSuccess":
		return strconv.FormatBool(r.Success)
	case "executionId":
		return *r.ExecutionID
	case "completeTime":
		return sortedText(r.CompleteTime)
	}
	return sortedText(r.StartTime)
}

// sortedText sorts a missing time first.
func sortedText(t search.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(layout)
}

// expected answers a question in the simplest way: it filters and sorts all rows.
func expected(list []search.Run, q *search.Query) (ids []string) {
	list = slices.DeleteFunc(slices.Clone(list), func(r search.Run) bool {
		for _, e := range q.Equal {
			if fieldOf(r, e.Field) != fmt.Sprint(e.Value) || e.Value == false && r.CompleteTime.IsZero() {
				return true
			}
		}
		return !q.From.IsZero() && r.StartTime.Before(q.From) || !q.Until.IsZero() &&
			(r.StartTime.IsZero() || r.StartTime.After(q.Until))
	})
	slices.SortFunc(list, func(a, b search.Run) int {
		order := cmp.Or(strings.Compare(fieldOf(a, q.Sort), fieldOf(b, q.Sort)),
			strings.Compare(sortedText(a.StartTime), sortedText(b.StartTime)))
		if q.SortedByTime() {
			order = strings.Compare(fieldOf(a, q.Sort), fieldOf(b, q.Sort))
		}
		order = cmp.Or(order, cmp.Compare(a.Row, b.Row))
		if q.Descending {
			order = -order
		}
		return order
	})
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// question parses parameters.
func question(t testing.TB, of *search.Subject, query string) search.Query {
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, bad := of.Parse(values)
	if len(bad) > 0 {
		t.Fatal(query, bad)
	}
	return q
}

// TestRunsAreFound checks that both databases give the expected answer for every filter, sort order and page, alone and
// combined.
func TestRunsAreFound(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		list := someRuns()
		insertRuns(t, d, list)
		filters := []string{"", "&jobName=job-1", "&taskId=job-1@-@1@-@READY@-@S1@-@u", "&ip=10.0.0.2",
			"&isSuccess=true", "&isSuccess=false", "&executionId=execution-3",
			"&jobName=job-0&isSuccess=false", "&jobName=job-2&ip=10.0.0.1&isSuccess=1",
			"&startTime=2026-05-04+12:01:00", "&endTime=2026-05-04T12:02:00.000Z&jobName=job-4",
			"&startTime=2026-05-04+12:01:00&endTime=2026-05-04+12:03:00&isSuccess=true", "&jobName=none"}
		orders := []string{"", "&order=ASC"}
		for _, field := range []string{"startTime", "completeTime", "jobName", "taskId", "ip", "isSuccess"} {
			orders = append(orders, "&sort="+field, "&sort="+field+"&order=desc")
		}
		for _, filter := range filters {
			for _, order := range orders {
				for _, page := range []string{"&per_page=17&page=2", "&per_page=500"} {
					query := "x=" + filter + order + page
					q := question(t, search.Runs, query)
					want := expected(list, &q)
					total := len(want)
					want = want[min((q.Page-1)*q.PerPage, total):]
					want = want[:min(q.PerPage, len(want))]
					answer, err := d.Runs(t.Context(), q)
					if err != nil {
						t.Fatal(query, err)
					}
					if got := idsOf(answer.Rows); !slices.Equal(got, want) || *answer.Total != total ||
						answer.TotalIsAtLeast {
						t.Fatalf("%s: %d %v\nwant %d %v", query, *answer.Total, got, total, want)
					}
				}
			}
		}
	})
}

func idsOf(rows []search.Run) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestCursorsLeadThroughAllRows checks that the cursors lead from page to page through each row once, in order,
// including those without a time.
func TestCursorsLeadThroughAllRows(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		list := someRuns()
		insertRuns(t, d, list)
		for _, filter := range []string{"x=", "jobName=job-1", "isSuccess=false", "startTime=2026-05-04+12:01:00"} {
			for _, order := range []string{"&sort=startTime", "&sort=startTime&order=DESC", "&sort=completeTime",
				"&sort=completeTime&order=DESC"} {
				query := filter + order + "&per_page=7"
				q := question(t, search.Runs, query)
				want := expected(list, &q)
				var got []string
				for after := ""; ; {
					answer, err := d.Runs(t.Context(), question(t, search.Runs, query+after))
					if err != nil {
						t.Fatal(err)
					}
					if (answer.Total == nil) != (after != "") {
						t.Errorf("%s%s: total %v", query, after, answer.Total)
					}
					got = append(got, idsOf(answer.Rows)...)
					if answer.Next == "" || len(got) > len(list) {
						break
					}
					after = "&after=" + answer.Next
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %v\nwant %v", query, got, want)
				}
			}
		}
	})
}

// TestHostileTextIsComparedOnly checks that user input is passed as an argument, whatever it looks like: it is only
// compared, and matches itself.
func TestHostileTextIsComparedOnly(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		insertRuns(t, d, someRuns())
		for _, text := range []string{`'`, `"`, `\`, `%`, `job-_`, `job-1'--`, `' OR '1'='1`,
			`'; DROP TABLE JOB_EXECUTION_LOG; --`, "\x00", "?", "$1", ":id", "{{.}}", "/*", strings.Repeat("x", 1000),
			"\U0001F600"} {
			for of, fields := range map[*search.Subject][]string{search.Runs: {"jobName", "taskId", "ip",
				"executionId"},
				search.Traces: {"jobName", "taskId", "slaveId", "source", "executionType", "state", "executionId"}} {
				for _, field := range fields {
					q := question(t, of, url.Values{field: {text}}.Encode())
					var total int
					if of == search.Runs {
						answer, err := d.Runs(t.Context(), q)
						if err != nil {
							t.Fatalf("%s=%q: %v", field, text, err)
						}
						total = *answer.Total
					} else if answer, err := d.Traces(t.Context(), q); err != nil {
						t.Fatalf("%s=%q: %v", field, text, err)
					} else {
						total = *answer.Total
					}
					if total != 0 {
						t.Errorf("%s=%q finds %d", field, text, total)
					}
				}
			}
			if list, err := d.Executions(t.Context(),
				search.Executions{Job: text, States: []string{text}, Before: noon, BeforeID: text,
					Limit: 5}); err != nil || len(list) > 0 {
				t.Errorf("executions of %q: %v %v", text, list, err)
			}
			if _, found, err := d.Execution(t.Context(), text); err != nil || found {
				t.Errorf("execution %q: %v %v", text, found, err)
			}
			if s, err := d.JobStatistics(t.Context(), text, noon); err != nil || s.SuccessRate != nil {
				t.Errorf("statistics of %q: %v %v", text, s, err)
			}
		}
		own := someRuns()[123].JobName
		if answer, err := d.Runs(t.Context(),
			question(t, search.Runs, url.Values{"jobName": {own}}.Encode())); err != nil || len(answer.Rows) != 1 ||
			answer.Rows[0].JobName != own {
			t.Errorf("the job %q: %v %v", own, answer.Rows, err)
		}
	})
}

// TestReadsFailLoudly checks that a database that can't be queried results in an error, not in an empty list [D22].
func TestReadsFailLoudly(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.Runs(ctx, question(t, search.Runs, "")); err == nil {
			t.Error("runs are found without a database")
		}
		if _, err := d.TaskResults(ctx, search.Day, time.Time{}, time.Time{}); err == nil {
			t.Error("results are found without a database")
		}
		if _, _, err := d.Life(ctx, "e", 1); err == nil {
			t.Error("a life is found without a database")
		}
		if _, err := d.db.ExecContext(t.Context(), "ALTER TABLE JOB_EXECUTION_LOG DROP COLUMN hostname"); err != nil {
			t.Fatal(err)
		}
		if answer, err := d.Runs(t.Context(), question(t, search.Runs, "")); err == nil {
			t.Errorf("rows that can be counted and not be read are %+v", answer)
		}
	})
}

// TestSearchesLeaveRoomForWriting checks that rows can still be written, however many searches run.
func TestSearchesLeaveRoomForWriting(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		for range cap(d.readSlots) { // as long-running searches do
			d.readSlots <- struct{}{}
			conn, err := d.db.Connx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		q := question(t, search.Runs, "")
		go func() {
			_, err := d.Runs(ctx, q)
			failed <- err
		}()
		write(t, d, event.Rows{Runs: []event.Run{{ID: "r", Revision: event.Begun, Job: "job", Execution: "e",
			State: "RUNNING"}}})
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("one search more than there may be: %v", err)
		}
	})
}

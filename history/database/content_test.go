package database

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

func TestTextsAreStoredAsTheyAreOrCut(t *testing.T) {
	t.Parallel()
	mixed := strings.Repeat("aé漢😀", 250_000)
	cases := []struct{ name, given, want string }{
		{"four bytes a character", "😀 𝔘𝔫𝔦", "😀 𝔘𝔫𝔦"},
		{"quotes", `it's "quoted" \ and ; DROP TABLE JOB_EXECUTION; -- %s ?`, `it's "quoted" \ and ; DROP TABLE JOB_EXECUTION; -- %s ?`},
		{"NUL", "a\x00b", "a\uFFFDb"},
		{"broken", "a\xffb\xc3", "a\uFFFDb\uFFFD"},
		{"half a surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"lines", "a\r\nb\t\x1b[31m", "a\r\nb\t\x1b[31m"},
		{"of a megabyte", strings.Repeat("x", 1<<20), strings.Repeat("x", 4000)},
		{"of two megabytes and several widths", mixed, strings.Repeat("aé漢😀", 1000)},
		{"broken of a megabyte", strings.Repeat("\xf0\x9f\x98", 1<<19), strings.Repeat("\uFFFD", 4000)},
		{"of the width", strings.Repeat("漢", 4000), strings.Repeat("漢", 4000)},
		{"trailing spaces", "a  ", "a  "},
	}
	eachMigrated(t, func(t *testing.T, d *DB) {
		var rows event.Rows
		for _, c := range cases {
			said := reason.FromText(c.given)
			rows.Runs = append(rows.Runs,
				event.Run{ID: c.name, Revision: event.Ended, Job: c.name, Cause: said, Start: noon})
			rows.Traces = append(rows.Traces, event.Trace{ID: c.name, Message: said, Time: noon})
			rows.Executions = append(rows.Executions, event.Execution{ID: c.name, Reason: said, Fire: noon})
			rows.Steps = append(rows.Steps, event.Step{ID: c.name, Message: said, Time: noon})
		}
		write(t, d, rows)
		for _, c := range cases {
			for _, query := range []string{
				"SELECT failure_cause AS text FROM JOB_EXECUTION_LOG WHERE id = ?",
				"SELECT message AS text FROM JOB_STATUS_TRACE_LOG WHERE id = ?",
				"SELECT reason AS text FROM JOB_EXECUTION WHERE id = ?",
				"SELECT message AS text FROM JOB_EXECUTION_EVENT WHERE id = ?",
			} {
				var got string
				if err := d.db.Get(&got, query, c.name); err != nil || got != c.want {
					t.Errorf("%s: %q, %v: got %d bytes, %d characters", c.name, query, err, len(got),
						utf8.RuneCountInString(got))
				}
			}
		}
	})
}

func TestOddNamesAndTimesAreStored(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		write(t, d, event.Rows{Runs: []event.Run{
			{ID: "9999", Job: `o'brien"` + "`x`", Task: strings.Repeat("t", 300), Start: time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
			{ID: "1", Job: "Job", Start: time.Date(1, 1, 1, 0, 0, 0, 1e6, time.UTC), End: time.Date(2026, 5, 4, 2, 30, 0, 0, time.FixedZone("east", 5*3600+1800))},
			{ID: "2", Job: "job"},
		}})
		for id, want := range map[string]string{
			"9999": `o'brien"` + "`x` 9999-12-31 23:59:59.999 NULL 255",
			"1":    "Job 0001-01-01 00:00:00.001 2026-05-03 21:00:00.000 0",
			"2":    "job NULL NULL 0",
		} {
			var got struct {
				Job        string `db:"job_name"`
				Start, End search.Time
				Task       int
			}
			err := d.db.Get(&got, `SELECT job_name, start_time AS start, complete_time AS "end", LENGTH(task_id) AS task FROM JOB_EXECUTION_LOG WHERE id = ?`, id)
			null := func(at search.Time) string {
				if at.IsZero() {
					return "NULL"
				}
				return at.Format(layout)
			}
			if text := fmt.Sprint(got.Job, " ", null(got.Start), " ", null(got.End), " ", got.Task); err != nil ||
				text != want {
				t.Errorf("%s: got %q, %v; want %q", id, text, err, want)
			}
		}
		if n := countOf(t, d, "JOB_EXECUTION_LOG WHERE job_name = 'job'"); n != 1 {
			t.Errorf("job is the name of %d rows: names differ by their case", n)
		}
	})
}

func TestARefusedRowBlocksNoOtherRow(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		var said bytes.Buffer
		d.log = slog.New(slog.NewTextHandler(&said, nil))
		rows := oneOfEach()
		const many = 1000
		for i := range many {
			r := event.Run{ID: fmt.Sprint("run ", i), Revision: event.Ended, Start: noon, End: noon}
			if i == 3 || i == 700 || i == 701 {
				r.Start = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			rows.Runs = append(rows.Runs, r)
		}
		for range 2 {
			said.Reset()
			lost, err := d.Write(t.Context(), []event.Batch{{Rows: rows}})
			if lost != 3 || err != nil {
				t.Fatalf("%d rows lost, %v", lost, err)
			}
			if n := countOf(t, d, "JOB_EXECUTION_LOG"); n != many-3+1 {
				t.Errorf("%d rows of %d", n, many-3+1)
			}
			for _, want := range []string{"JOB_EXECUTION_LOG", `"run 3"`, `"run 700"`, `"run 701"`, "10000"} {
				if !strings.Contains(said.String(), want) {
					t.Errorf("the log doesn't say %s: %s", want, said.String())
				}
			}
		}
		rows.Runs = rows.Runs[:1]
		check(t, d, map[string][]map[string]any{"JOB_STATUS_TRACE_LOG": stored["JOB_STATUS_TRACE_LOG"],
			"HISTORY_TERM": stored["HISTORY_TERM"]})
	})
}

// TestARowThatMySQLRefusesBlocksNoOtherRow checks that a row that MySQL refuses is lost, and that the other rows of its
// batch are stored. An id may be too long for MySQL because keys are never cut.
func TestARowThatMySQLRefusesBlocksNoOtherRow(t *testing.T) {
	t.Parallel()
	d := mysqlOf(t, server.Server(t).Database(t))
	migrate(t, d)
	for name, e := range map[string]event.Execution{
		"too long an id":            {ID: strings.Repeat("x", 151), Fire: noon},
		"no time where one must be": {ID: "a"},
		"a number out of range":     {ID: "b", Fire: noon, Shards: 1 << 40},
		"an id that is no text":     {ID: "\xff", Fire: noon},
	} {
		lost, err := d.Write(t.Context(),
			[]event.Batch{{Rows: event.Rows{Executions: []event.Execution{{ID: "good" + name, Fire: noon}, e}}}})
		if lost != 1 || err != nil {
			t.Errorf("%s: %d lost, %v", name, lost, err)
		}
	}
	if n := countOf(t, d, "JOB_EXECUTION"); n != 4 {
		t.Errorf("%d rows of 4", n)
	}
}

func TestAContextEndsAWrite(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if lost, err := d.Write(ctx, []event.Batch{{Rows: oneOfEach()}}); err == nil || lost != 0 {
			t.Errorf("%d lost, %v", lost, err)
		}
		if n := countOf(t, d, "JOB_EXECUTION"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

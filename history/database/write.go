package database

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/history/event"
)

// Write stores batches in one transaction, and returns the number of rows that it left out because the database refuses
// them for their content. Existing rows stay unchanged, except for those with an older version. After an error it is
// unknown whether anything is stored, and the same batches may be written again.
func (d *DB) Write(ctx context.Context, batches []event.Batch) (lost int, err error) {
	w := writer{db: d}
	all := rowsOf(batches)
	err = d.checkFile()
	if err == nil {
		err = d.inTx(ctx, func(ctx context.Context, tx *sqlx.Tx) error {
			w.tx, w.lost = tx, 0
			for _, r := range all {
				if err := w.insert(ctx, r.table, r.rows); err != nil {
					return fmt.Errorf("table %s: %w", r.table.name, err)
				}
			}
			return nil
		})
	}
	if err == nil {
		err = d.checkFile() // rows committed to a file that was being removed are written again
	}
	if err != nil {
		d.reconnect()
		return 0, fmt.Errorf("write the history of %d batches: %w", len(batches), err)
	}
	return w.lost, nil
}

// tableRows are rows of one table.
type tableRows struct {
	table table
	rows  [][]any
}

// rowsOf groups the rows of batches by table. The marks of minutes to recount come last, because each mark locks its
// minute until the commit, and other writers of that minute wait.
func rowsOf(batches []event.Batch) []tableRows {
	var all []tableRows
	add := func(t table, rows [][]any) {
		if len(rows) > 0 {
			all = append(all, tableRows{t, rows})
		}
	}
	add(executions, collect(batches, func(r *event.Rows) []event.Execution { return r.Executions }, executionRow))
	add(steps, collect(batches, func(r *event.Rows) []event.Step { return r.Steps }, stepRow))
	add(runs, collect(batches, func(r *event.Rows) []event.Run { return r.Runs }, runRow))
	add(traces, collect(batches, func(r *event.Rows) []event.Trace { return r.Traces }, traceRow))
	add(tallies, collect(batches, func(r *event.Rows) []event.Tally { return r.Tallies }, tallyRow))
	for _, of := range []event.Gauge{event.TasksRunning, event.JobsRunning, event.JobsRegistered} {
		add(gauges[of], collect(batches, func(r *event.Rows) []event.Sample {
			return slices.DeleteFunc(slices.Clone(r.Samples), func(s event.Sample) bool { return s.Of != of })
		}, sampleRow))
	}
	add(loads, collect(batches, func(r *event.Rows) []event.Load { return r.Loads }, loadRow))
	add(audits, collect(batches, func(r *event.Rows) []event.Audit { return r.Audits }, auditRow))
	add(terms, collect(batches, func(r *event.Rows) []event.Term { return r.Terms }, termRow))
	add(marks, markRows(batches))
	return all
}

// collect returns the rows of all events of one kind.
func collect[E any](batches []event.Batch, eventsOf func(*event.Rows) []E, row func(*E) []any) [][]any {
	var rows [][]any
	for i := range batches {
		events := eventsOf(&batches[i].Rows)
		for j := range events {
			rows = append(rows, row(&events[j]))
		}
	}
	return rows
}

// markRows returns the minutes in which runs ended, sorted, so that two writers do not deadlock.
func markRows(batches []event.Batch) [][]any {
	var minutes []time.Time
	for i := range batches {
		for _, r := range batches[i].Runs {
			if !r.End.IsZero() {
				minutes = append(minutes, minuteOf(r.End))
			}
		}
		for _, t := range batches[i].Tallies {
			minutes = append(minutes, minuteOf(t.Time))
		}
	}
	slices.SortFunc(minutes, time.Time.Compare)
	var rows [][]any
	for _, m := range slices.CompactFunc(minutes, time.Time.Equal) {
		rows = append(rows, []any{Time{m}})
	}
	return rows
}

// minuteOf, hourOf and dayOf return the start of a period. Periods are in UTC, where every day has 24 hours.
func minuteOf(t time.Time) time.Time { return t.UTC().Truncate(time.Minute) }
func hourOf(t time.Time) time.Time   { return t.UTC().Truncate(time.Hour) }
func dayOf(t time.Time) time.Time    { return t.UTC().Truncate(24 * time.Hour) }

// The limits of one statement, in rows and in bytes of text. MySQL's max_allowed_packet may be as small as a few
// megabytes, and SQLite allows 32,766 parameters.
const (
	statementRows  = 250
	statementBytes = 512 << 10
)

// writer writes rows in one transaction.
type writer struct {
	db   *DB
	tx   *sqlx.Tx
	lost int
}

// insert writes rows, in statements of limited size. It cuts texts to the width of their columns.
func (w *writer) insert(ctx context.Context, t table, rows [][]any) error {
	bytes, from := 0, 0
	for i, row := range rows {
		size := 0
		for j, value := range row {
			if text, ok := value.(string); ok && t.columns[j].width > 0 {
				row[j] = clean(text, t.columns[j].width)
			}
			if text, ok := row[j].(string); ok {
				size += len(text)
			}
		}
		if i-from == statementRows || i > from && bytes+size > statementBytes {
			if err := w.insertBatch(ctx, t, rows[from:i]); err != nil {
				return err
			}
			bytes, from = 0, i
		}
		bytes += size
	}
	return w.insertBatch(ctx, t, rows[from:])
}

// insertBatch writes rows with one statement. If the database refuses the content of a row, which undoes only this
// statement, insertBatch tries each half of the rows, until it has found the refused row and leaves that out.
func (w *writer) insertBatch(ctx context.Context, t table, rows [][]any) error {
	err := w.exec(ctx, t, rows)
	switch {
	case err == nil:
		return nil
	case !w.db.refused(err):
		return err
	case len(rows) == 1:
		w.lost++
		w.db.log.Error("history row lost: refused by the database", "table", t.name, t.key, rows[0][t.keyAt()],
			"error", err)
		return nil
	}
	half := len(rows) / 2
	if err := w.insertBatch(ctx, t, rows[:half]); err != nil {
		return err
	}
	return w.insertBatch(ctx, t, rows[half:])
}

func (w *writer) exec(ctx context.Context, t table, rows [][]any) error {
	args := make([]any, 0, len(rows)*len(t.columns))
	for _, row := range rows {
		args = append(args, row...)
	}
	_, err := w.tx.ExecContext(ctx, w.db.insertStatement(t, len(rows)), args...)
	return err
}

// insertStatement returns the statement that inserts n rows, and handles existing ones as the table requires.
func (d *DB) insertStatement(t table, n int) string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	row := "(?" + strings.Repeat(", ?", len(names)-1) + ")"
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES " +
		row + strings.Repeat(", "+row, n-1) + d.dialect.onConflict(t)
}

// Batches returns how many batches of a term are valid. known is false until a later leader has written that number.
func (d *DB) Batches(ctx context.Context, term int64) (n int64, known bool, err error) {
	var found []int64
	if err := d.ask(ctx, &found, "SELECT batches FROM HISTORY_TERM WHERE term = ?", term); err != nil {
		return 0, false, fmt.Errorf("read how many batches of term %d are valid: %w", term, err)
	}
	if len(found) == 0 {
		return 0, false, nil
	}
	return found[0], true, nil
}

package database

import (
	"context"
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// searched is a table as it is searched: all that is ever put into the text of a statement. What people ask for is
// bound.
type searched[R any] struct {
	table   string
	columns map[string]string // of fields that are filtered or sorted by
	all     string            // that are read
	// place is where a row stands in the order of the times in a field.
	place func(r *R, field string) (search.Time, int64)
	// finish sets what is not in a column.
	finish func(r *R)
}

var searchedRuns = searched[search.Run]{
	table: "JOB_EXECUTION_LOG",
	columns: map[string]string{"jobName": "job_name", "taskId": "task_id", "ip": "ip", "isSuccess": "is_success",
		"executionId": "execution_id",
		"startTime":   "start_time", "completeTime": "complete_time"},
	all: "auto_id, id, hostname, ip, task_id, job_name, execution_source, sharding_item, start_time, complete_time, is_success, failure_cause, failure_cause_value, " +
		"execution_id, attempt, run_number, state, exit_status, agent_id, fire_time",
	place: func(r *search.Run, field string) (search.Time, int64) {
		if field == "completeTime" {
			return r.CompleteTime, r.Row
		}
		return r.StartTime, r.Row
	},
	finish: func(r *search.Run) {
		r.DurationMillis = millisBetween(r.StartTime, r.CompleteTime)
		r.FailureCode, r.FailureArgs = codeOf(r.FailureCause, r.FailureValue)
	},
}

var searchedTraces = searched[search.Trace]{
	table: "JOB_STATUS_TRACE_LOG",
	columns: map[string]string{"jobName": "job_name", "taskId": "task_id", "slaveId": "slave_id", "source": "source",
		"executionType": "execution_type",
		"state":         "state", "executionId": "execution_id", "creationTime": "creation_time"},
	all: "auto_id, id, job_name, original_task_id, task_id, slave_id, source, execution_type, sharding_item, state, message, message_value, creation_time, " +
		"execution_id, attempt, reason",
	place:  func(r *search.Trace, _ string) (search.Time, int64) { return r.CreationTime, r.Row },
	finish: func(r *search.Trace) { r.MessageCode, r.MessageArgs = codeOf(r.Message, r.MessageValue) },
}

// millisBetween is nil unless both times are there. Clocks may be set back: it is never negative.
func millisBetween(from, to search.Time) *int64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	millis := max(to.Sub(from.Time).Milliseconds(), 0)
	return &millis
}

// Runs searches the runs of shards.
func (d *DB) Runs(ctx context.Context, q search.Question) (search.Answer[search.Run], error) {
	return find(ctx, d, &searchedRuns, &q)
}

// Traces searches the changes of tasks' states.
func (d *DB) Traces(ctx context.Context, q search.Question) (search.Answer[search.Trace], error) {
	return find(ctx, d, &searchedTraces, &q)
}

// clause is a part of a statement with the values that are bound in it.
type clause struct {
	text   string
	values []any
}

// and is all of some conditions.
func and(conditions ...clause) clause {
	var texts []string
	var all clause
	for _, c := range conditions {
		if c.text != "" {
			texts = append(texts, c.text)
			all.values = append(all.values, c.values...)
		}
	}
	all.text = strings.Join(texts, " AND ")
	return all
}

// where is the condition of a statement.
func (c clause) where() string {
	if c.text == "" {
		return ""
	}
	return " WHERE " + c.text
}

// matching is the condition of the rows that a question is about.
func (t *searched[R]) matching(q *search.Question) clause {
	var all []clause
	for _, e := range q.Equal {
		c := clause{t.columns[e.Field] + " = ?", []any{e.Value}}
		if success, ok := e.Value.(bool); ok {
			c.values[0] = 0 // a number, as the column is [D23]
			if success {
				c.values[0] = 1
			} else {
				c.text += " AND complete_time IS NOT NULL" // what still runs has not failed
			}
		}
		all = append(all, c)
	}
	column := t.columns[q.Of.Time]
	if !q.From.IsZero() {
		all = append(all, clause{column + " >= ?", []any{Time{q.From}}})
	}
	if !q.Until.IsZero() {
		all = append(all, clause{column + " <= ?", []any{Time{q.Until}}})
	}
	return and(all...)
}

// page is the statement for a page. The rows are picked by an index alone, since what is skipped is not worth reading.
func (t *searched[R]) page(match clause, order string, skip, most int) clause {
	return clause{
		text: "SELECT " + t.all + " FROM " + t.table + " JOIN (SELECT auto_id AS picked FROM " + t.table +
			match.where() +
			" ORDER BY " + order + " LIMIT ? OFFSET ?) AS page ON auto_id = picked ORDER BY " + order,
		values: append(match.values[:len(match.values):len(match.values)], most, skip),
	}
}

func direction(q *search.Question) string {
	if q.Descending {
		return " DESC"
	}
	return " ASC"
}

// order is that of a question's rows: as an index has them, if what is sorted by is what is asked for.
func (t *searched[R]) order(q *search.Question) string {
	order := t.columns[q.Sort] + direction(q)
	if !q.SortedByTime() {
		order += ", " + t.columns[q.Of.Time] + direction(q)
	}
	return order + ", auto_id" + direction(q)
}

// stretch is a part of the rows behind a cursor.
type stretch struct {
	match clause
	order string
}

// stretches are what leads on after a cursor, one behind the other: databases put rows without a time before all
// times, and would not use an index for both in one statement.
func (t *searched[R]) stretches(q *search.Question) []stretch {
	column, at, row := t.columns[q.Sort], Time{q.After.Time}, q.After.Row
	timed := func(condition string, values ...any) stretch { return stretch{clause{condition, values}, t.order(q)} }
	timeless := func(condition string, values ...any) stretch {
		return stretch{clause{column + " IS NULL" + condition, values}, "auto_id" + direction(q)}
	}
	switch hasTime := !q.After.Time.IsZero(); {
	case q.Descending && hasTime:
		return []stretch{timed(column+" <= ? AND ("+column+" < ? OR auto_id < ?)", at, at, row), timeless("")}
	case q.Descending:
		return []stretch{timeless(" AND auto_id < ?", row)}
	case hasTime:
		return []stretch{timed(column+" >= ? AND ("+column+" > ? OR auto_id > ?)", at, at, row)}
	}
	return []stretch{timeless(" AND auto_id > ?", row), timed(column + " IS NOT NULL")}
}

// count is the statement that counts what matches, up to one more than the answer says.
func (t *searched[R]) count(match clause) clause {
	return clause{"SELECT COUNT(*) FROM (SELECT 1 AS one FROM " + t.table + match.where() + " LIMIT ?) AS counted",
		append(match.values[:len(match.values):len(match.values)], search.MostCounted+1)}
}

// find answers a question with one row more than the page has, which tells whether there is another page.
func find[R any](ctx context.Context, d *DB, t *searched[R], q *search.Question) (search.Answer[R], error) {
	var answer search.Answer[R]
	match := t.matching(q)
	if q.After == nil {
		counted, err := selectAll[int](ctx, d, t.count(match))
		if err != nil {
			return answer, fmt.Errorf("count rows of %s: %w", t.table, err)
		}
		total := min(counted[0], search.MostCounted)
		answer.Total, answer.TotalIsAtLeast = &total, counted[0] > total
	}
	rows, err := t.rows(ctx, d, q, match)
	if err != nil {
		return answer, fmt.Errorf("read %s: %w", t.table, err)
	}
	for i := range rows {
		t.finish(&rows[i])
	}
	answer.Rows = rows
	if len(rows) > q.PerPage {
		answer.Rows = rows[:q.PerPage]
		if q.SortedByTime() {
			at, row := t.place(&rows[q.PerPage-1], q.Sort)
			answer.Next = q.Next(at.Time, row)
		}
	}
	return answer, nil
}

// rows are those of a page, and the one behind it.
func (t *searched[R]) rows(ctx context.Context, d *DB, q *search.Question, match clause) ([]R, error) {
	if q.After == nil {
		return selectAll[R](ctx, d, t.page(match, t.order(q), (q.Page-1)*q.PerPage, q.PerPage+1))
	}
	all := []R{}
	for _, s := range t.stretches(q) {
		rows, err := selectAll[R](ctx, d, t.page(and(match, s.match), s.order, 0, q.PerPage+1-len(all)))
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); len(all) > q.PerPage {
			break
		}
	}
	return all, nil
}

// selectAll reads the rows of a statement, none as an empty list.
func selectAll[R any](ctx context.Context, d *DB, c clause) ([]R, error) {
	select {
	case d.reads <- struct{}{}:
		defer func() { <-d.reads }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	rows := []R{}
	err := d.db.SelectContext(ctx, &rows, c.text, c.values...)
	return rows, err
}

package database

import (
	"context"
	"fmt"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// searched describes a searchable table. Only its texts become part of a query's text. All input of users is passed as
// arguments.
type searched[R any] struct {
	table    string
	columns  map[string]string // the columns by the names of the fields for filters and sorting
	selected string            // the columns to read
	// position returns the position of a row in the order of a time field: the time and the row number.
	position func(r *R, field string) (search.Time, int64)
	// finish sets the fields that have no column.
	finish func(r *R)
}

var searchedRuns = searched[search.Run]{
	table: "JOB_EXECUTION_LOG",
	columns: map[string]string{"jobName": "job_name", "taskId": "task_id", "ip": "ip", "isSuccess": "is_success",
		"executionId": "execution_id",
		"startTime":   "start_time", "completeTime": "complete_time"},
	selected: "auto_id, id, hostname, ip, task_id, job_name, execution_source, sharding_item, start_time, complete_time, is_success, failure_cause, failure_cause_value, " +
		"execution_id, attempt, run_number, state, exit_status, agent_id, fire_time",
	position: func(r *search.Run, field string) (search.Time, int64) {
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
	selected: "auto_id, id, job_name, original_task_id, task_id, slave_id, source, execution_type, sharding_item, state, message, message_value, creation_time, " +
		"execution_id, attempt, reason",
	position: func(r *search.Trace, _ string) (search.Time, int64) { return r.CreationTime, r.Row },
	finish:   func(r *search.Trace) { r.MessageCode, r.MessageArgs = codeOf(r.Message, r.MessageValue) },
}

// millisBetween returns nil unless both times are set. It is never negative, even if a clock was set back.
func millisBetween(from, to search.Time) *int64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	millis := max(to.Sub(from.Time).Milliseconds(), 0)
	return &millis
}

// Runs searches the runs of shards.
func (d *DB) Runs(ctx context.Context, q search.Query) (search.Page[search.Run], error) {
	return find(ctx, d, &searchedRuns, &q)
}

// Traces searches the changes of tasks' states.
func (d *DB) Traces(ctx context.Context, q search.Query) (search.Page[search.Trace], error) {
	return find(ctx, d, &searchedTraces, &q)
}

// matching returns the condition for the rows that match a query.
func (t *searched[R]) matching(q *search.Query) clause {
	var all []clause
	for _, e := range q.Equal {
		c := clause{t.columns[e.Field] + " = ?", []any{e.Value}}
		if success, ok := e.Value.(bool); ok {
			c.values[0] = 0 // the column stores a number [D23]
			if success {
				c.values[0] = 1
			} else {
				c.text += " AND complete_time IS NOT NULL" // a run that has not ended has not failed
			}
		}
		all = append(all, c)
	}
	column := t.columns[q.Of.Time]
	return and(append(all, since(column, q.From), until(column, q.Until))...)
}

// page returns the query for a page.
func (t *searched[R]) page(match clause, order string, skip, limit int) clause {
	return pageOf(t.table, t.selected, match, order, skip, limit)
}

func direction(q *search.Query) string {
	if q.Descending {
		return " DESC"
	}
	return " ASC"
}

// order returns the ORDER BY terms of a query. An index has this order when the sort field is also the filter.
func (t *searched[R]) order(q *search.Query) string {
	order := t.columns[q.Sort] + direction(q)
	if !q.SortedByTime() {
		order += ", " + t.columns[q.Of.Time] + direction(q)
	}
	return order + ", auto_id" + direction(q)
}

// part is a part of the rows after a cursor.
type part struct {
	match clause
	order string
}

// partsAfter returns the parts of the rows after a cursor, in order. Rows without a time, which databases sort before
// all others, are a separate part: a query for both would use no index.
func (t *searched[R]) partsAfter(q *search.Query) []part {
	column, moment, row := t.columns[q.Sort], Time{q.After.Time}, q.After.Row
	timed := func(condition string, values ...any) part { return part{clause{condition, values}, t.order(q)} }
	timeless := func(condition string, values ...any) part {
		return part{clause{column + " IS NULL" + condition, values}, "auto_id" + direction(q)}
	}
	switch hasTime := !q.After.Time.IsZero(); {
	case q.Descending && hasTime:
		return []part{timed(column+" <= ? AND ("+column+" < ? OR auto_id < ?)", moment, moment, row), timeless("")}
	case q.Descending:
		return []part{timeless(" AND auto_id < ?", row)}
	case hasTime:
		return []part{timed(column+" >= ? AND ("+column+" > ? OR auto_id > ?)", moment, moment, row)}
	}
	return []part{timeless(" AND auto_id > ?", row), timed(column + " IS NOT NULL")}
}

// count returns the query that counts matching rows, up to one more than search.MaxCounted.
func (t *searched[R]) count(match clause) clause {
	return clause{"SELECT COUNT(*) FROM (SELECT 1 AS one FROM " + t.table + match.where() + " LIMIT ?) AS counted",
		append(match.values[:len(match.values):len(match.values)], search.MaxCounted+1)}
}

// find runs a query. It reads one row more than the page, to tell whether there is another page.
func find[R any](ctx context.Context, d *DB, t *searched[R], q *search.Query) (search.Page[R], error) {
	var answer search.Page[R]
	match := t.matching(q)
	if q.After == nil {
		counted, err := selectAll[int](ctx, d, t.count(match))
		if err != nil {
			return answer, fmt.Errorf("count rows of %s: %w", t.table, err)
		}
		total := min(counted[0], search.MaxCounted)
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
			moment, row := t.position(&rows[q.PerPage-1], q.Sort)
			answer.Next = q.Next(moment.Time, row)
		}
	}
	return answer, nil
}

// rows returns the rows of the page and the row after them, if there is one.
func (t *searched[R]) rows(ctx context.Context, d *DB, q *search.Query, match clause) ([]R, error) {
	if q.After == nil {
		return selectAll[R](ctx, d, t.page(match, t.order(q), (q.Page-1)*q.PerPage, q.PerPage+1))
	}
	all := []R{}
	for _, p := range t.partsAfter(q) {
		rows, err := selectAll[R](ctx, d, t.page(and(match, p.match), p.order, 0, q.PerPage+1-len(all)))
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); len(all) > q.PerPage {
			break
		}
	}
	return all, nil
}

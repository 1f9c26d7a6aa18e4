package database

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// agingTable is a table from which old rows are deleted, in the order of its column time. Rows are deleted by their
// key, so that no other rows are locked. A row whose end is NULL belongs to a run or an execution that may still run:
// the execution of a daemon lasts for months.
type agingTable struct {
	table, key, time string
	end              string // the column of the end; "" if the table has none
}

// bounded are the large tables, whose number of rows is bounded.
var bounded = []agingTable{
	{"JOB_EXECUTION_LOG", "auto_id", "complete_time", "complete_time"},
	{"JOB_STATUS_TRACE_LOG", "auto_id", "creation_time", ""},
	{"JOB_EXECUTION", "auto_id", "fire_time", "end_time"},
	{"JOB_EXECUTION_EVENT", "auto_id", "creation_time", ""},
	auditLog,
}

// auditLog has a longer retention than the other tables: a change may be needed to explain its effects months later.
var auditLog = agingTable{"AUDIT_LOG", "auto_id", "creation_time", ""}

var byAge = append(bounded[:len(bounded)-1:len(bounded)-1],
	agingTable{"JOB_RUN_TALLY", "auto_id", "complete_time", ""},
	agingTable{resultsOfMinutes, "id", "statistics_time", ""},
	agingTable{"TASK_RUNNING_STATISTICS", "id", "statistics_time", ""},
	agingTable{"JOB_RUNNING_STATISTICS", "id", "statistics_time", ""},
	agingTable{"SCHEDULING_STATISTICS", "id", "statistics_time", ""},
)

// byYear are the tables whose rows are kept for at least a year, unless there are too many. JOB_EXECUTION_LOG is
// listed by start_time for runs whose end was lost.
var byYear = []agingTable{
	{resultsOfHours, "id", "statistics_time", ""},
	{"JOB_EXECUTION_LOG", "auto_id", "start_time", ""},
	auditLog,
}

// olderThan returns the condition that a row is older than a time. If the table has an end, that is older too.
func (a agingTable) olderThan(t time.Time) (condition string, args []any) {
	if a.end == "" || a.end == a.time {
		return a.time + " < ?", []any{Time{t}}
	}
	return a.time + " < ? AND " + a.end + " < ?", []any{Time{t}, Time{t}}
}

// finished returns the condition that a row belongs to nothing that still runs. It also returns the table with the
// column by which such rows are to be ordered. If no index has them in the order of time, that column is the key:
// rows are written in about the order of their age.
func (a agingTable) finished() (ordered agingTable, condition string) {
	switch a.end {
	case "":
		return a, "1 = 1"
	case a.time:
	default:
		a.time = a.key
	}
	return a, a.end + " IS NOT NULL"
}

// DeleteOld deletes rows older than before, and the oldest rows of each large table beyond the given number of rows;
// at most limit rows in total, in one transaction per table. It returns the number of deleted rows, which is less than
// limit when no more are too old or too many. Rows of unfinished executions and runs are kept, except for runs that
// began at least a year ago. Hourly results and audit rows are kept for at least a year; daily results and daily
// counts of jobs are kept permanently.
func (d *DB) DeleteOld(ctx context.Context, before time.Time, rows int64, limit int) (deleted int, err error) {
	yearAgo := d.now().AddDate(-1, 0, 0)
	if before.Before(yearAgo) {
		yearAgo = before
	}
	remove := func(a agingTable, before time.Time) error {
		condition, args := a.olderThan(before)
		n, err := d.deleteOldest(ctx, a, limit-deleted, condition, args...)
		deleted += n
		if err != nil {
			return fmt.Errorf("delete old rows of %s: %w", a.table, err)
		}
		d.counts.subtract(a.table, int64(n))
		return nil
	}
	for _, a := range byAge {
		if err := remove(a, before); err != nil {
			return deleted, err
		}
	}
	for _, a := range byYear {
		if err := remove(a, yearAgo); err != nil {
			return deleted, err
		}
	}
	for _, a := range bounded {
		surplus, err := d.surplus(ctx, a.table, rows)
		if err != nil {
			return deleted, fmt.Errorf("count the rows of %s: %w", a.table, err)
		}
		if surplus > 0 {
			ordered, condition := a.finished()
			n, err := d.deleteOldest(ctx, ordered, int(min(surplus, int64(limit-deleted))), condition)
			deleted += n
			if err != nil {
				return deleted, fmt.Errorf("delete surplus rows of %s: %w", a.table, err)
			}
			d.counts.subtract(a.table, int64(n))
		}
	}
	return deleted, nil
}

// oldest returns the query for the oldest rows that meet a condition.
func (a agingTable) oldest(condition string) string {
	return "SELECT " + a.key + " FROM " + a.table + " WHERE " + condition + " ORDER BY " + a.time + " LIMIT ?"
}

// deleteOldest deletes the oldest rows that meet a condition. It selects their keys first and then deletes by key.
func (d *DB) deleteOldest(ctx context.Context, a agingTable, limit int, condition string, args ...any) (int, error) {
	if limit <= 0 {
		return 0, nil
	}
	var keys []int64
	if err := d.ask(ctx, &keys, a.oldest(condition), append(args, limit)...); err != nil || len(keys) == 0 {
		return 0, err
	}
	query, args, err := sqlx.In("DELETE FROM "+a.table+" WHERE "+a.key+" IN (?)", keys)
	if err != nil {
		return 0, err
	}
	err = d.inTx(ctx, func(ctx context.Context, tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(keys), nil
}

// surplus returns the number of rows of a table beyond the given number, or 0.
func (d *DB) surplus(ctx context.Context, table string, rows int64) (int64, error) {
	// The key grows by at least one with each row, so its span bounds the number of rows and most tables need no
	// count.
	var span int64
	if err := d.db.GetContext(ctx, &span,
		"SELECT COALESCE(MAX(auto_id) - MIN(auto_id) + 1, 0) FROM "+table); err != nil || span <= rows {
		return 0, err
	}
	n, ok := d.counts.get(table, d.now())
	if !ok {
		if err := d.db.GetContext(ctx, &n, "SELECT COUNT(*) FROM "+table); err != nil {
			return 0, err
		}
		d.counts.set(table, n, d.now())
	}
	return max(n-rows, 0), nil
}

// countInterval is how long a count of a table is reused. Counting ten million rows takes seconds.
const countInterval = 10 * time.Minute

// counts caches the numbers of rows of large tables.
type counts struct {
	mu      sync.Mutex
	byTable map[string]count
}

type count struct {
	rows  int64
	taken time.Time
}

// get returns the cached number of rows, and whether it may still be used.
func (c *counts) get(table string, now time.Time) (rows int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.byTable[table]
	return cached.rows, ok && now.Sub(cached.taken) < countInterval
}

func (c *counts) set(table string, rows int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byTable == nil {
		c.byTable = map[string]count{}
	}
	c.byTable[table] = count{rows, now}
}

// subtract subtracts deleted rows from the cached number.
func (c *counts) subtract(table string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.byTable[table]; ok {
		cached.rows -= n
		c.byTable[table] = cached
	}
}

package database

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// The tables that count ends by minute, hour and day.
const (
	resultsOfMinutes = "TASK_RESULT_STATISTICS_MINUTE"
	resultsOfHours   = "TASK_RESULT_STATISTICS_HOUR"
	resultsOfDays    = "TASK_RESULT_STATISTICS_DAY"
)

// Recount counts the ends of runs in the oldest marked minutes, at most limit of them, and updates their hours and
// days. It returns the number of counted minutes, which is less than limit when no more are marked.
//
// Each minute is one transaction that first removes the mark and then counts. A concurrent writer also sets the mark.
// If the writer comes first, the removal waits for the writer's commit, and the count includes its rows. Otherwise the
// writer waits for the transaction, and its mark causes another count. The row of the day is locked first, so that two
// processes that count minutes of one day include each other's counts in their sums.
//
// Numbers never decrease: ends are final, so a smaller count only means that old rows were deleted.
func (d *DB) Recount(ctx context.Context, limit int) (done int, err error) {
	var minutes []search.Time
	if err := d.ask(ctx, &minutes, "SELECT minute_time FROM HISTORY_RECOUNT ORDER BY minute_time LIMIT ?",
		limit); err != nil {
		return 0, fmt.Errorf("read which minutes to count: %w", err)
	}
	for _, m := range minutes {
		if err := d.recount(ctx, m.Time); err != nil {
			return done, fmt.Errorf("count the results of the minute %s: %w", m.Format(time.RFC3339), err)
		}
		done++
	}
	return done, nil
}

func (d *DB) recount(ctx context.Context, minute time.Time) error {
	hour, day := hourOf(minute), dayOf(minute)
	return d.inTx(ctx, func(ctx context.Context, tx *sqlx.Tx) error {
		c := counter{d, ctx, tx}
		if err := c.raise(resultsOfDays, day, result{}); err != nil { // locks the row of the day
			return err
		}
		removed, err := tx.ExecContext(ctx, "DELETE FROM HISTORY_RECOUNT WHERE minute_time = ?", Time{minute})
		if err != nil {
			return err
		}
		if n, err := removed.RowsAffected(); err != nil || n == 0 {
			return err // another process has counted it
		}
		ends, err := c.ends(minute)
		if err != nil {
			return err
		}
		if err := c.raise(resultsOfMinutes, minute, ends); err != nil {
			return err
		}
		if err := c.sum(resultsOfHours, hour, resultsOfMinutes, hour.Add(time.Hour)); err != nil {
			return err
		}
		return c.sum(resultsOfDays, day, resultsOfHours, day.Add(24*time.Hour))
	})
}

// result is a number of ends.
type result struct {
	Success int64 `db:"success"`
	Failed  int64 `db:"failed"`
}

// counter counts within one transaction. db supplies only the texts of statements and the time.
type counter struct {
	db  *DB
	ctx context.Context
	tx  *sqlx.Tx
}

// ends counts the runs that ended in a minute, including those that were only tallied.
func (c counter) ends(minute time.Time) (result, error) {
	var logged, tallied result
	next := Time{minute.Add(time.Minute)}
	err := c.tx.GetContext(c.ctx, &logged,
		`SELECT COALESCE(SUM(is_success), 0) AS success, COUNT(*) - COALESCE(SUM(is_success), 0) AS failed
		FROM JOB_EXECUTION_LOG WHERE complete_time >= ? AND complete_time < ?`, Time{minute}, next)
	if err == nil {
		err = c.tx.GetContext(c.ctx, &tallied,
			`SELECT COALESCE(SUM(success_count), 0) AS success, COALESCE(SUM(failed_count), 0) AS failed
			FROM JOB_RUN_TALLY WHERE complete_time >= ? AND complete_time < ?`, Time{minute}, next)
	}
	return result{logged.Success + tallied.Success, logged.Failed + tallied.Failed}, err
}

// sum adds up the periods from from to to in the table shorter, and stores the sum as one period of table.
func (c counter) sum(table string, from time.Time, shorter string, to time.Time) error {
	var total result
	if err := c.tx.GetContext(c.ctx, &total,
		`SELECT COALESCE(SUM(success_count), 0) AS success, COALESCE(SUM(failed_count), 0) AS failed
		FROM `+shorter+` WHERE statistics_time >= ? AND statistics_time < ?`, Time{from}, Time{to}); err != nil {
		return err
	}
	return c.raise(table, from, total)
}

// raise sets the numbers of a period, unless the stored numbers are higher.
func (c counter) raise(name string, period time.Time, counted result) error {
	now := Time{c.db.now()}
	_, err := c.tx.ExecContext(c.ctx, c.db.insertStatement(table{name: name, key: "statistics_time", columns: []column{
		{"success_count", 0}, {"failed_count", 0}, {"statistics_time", 0}, {"creation_time", 0},
	}}, 1), counted.Success, counted.Failed, Time{period}, now)
	if err != nil {
		return err
	}
	_, err = c.tx.ExecContext(c.ctx, "UPDATE "+name+` SET creation_time = ?,
		success_count = CASE WHEN COALESCE(success_count, 0) < ? THEN ? ELSE success_count END,
		failed_count = CASE WHEN COALESCE(failed_count, 0) < ? THEN ? ELSE failed_count END
		WHERE statistics_time = ?`, now, counted.Success, counted.Success, counted.Failed, counted.Failed, Time{period})
	return err
}

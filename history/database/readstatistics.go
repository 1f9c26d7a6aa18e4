package database

import (
	"context"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// outcomeRow is an execution or a run of a daemon's shard, with the columns that statistics need.
type outcomeRow struct {
	State    *string     `db:"state"`
	Success  *bool       `db:"is_success"` // nil for an execution
	Time     search.Time `db:"time"`
	Complete search.Time `db:"complete_time"`
	Millis   *int64      `db:"duration_ms"`
}

func (r *outcomeRow) outcome() search.Outcome {
	o := search.Outcome{Time: r.Time.Time, DurationMillis: r.Millis}
	if r.Success != nil {
		o.DurationMillis = millisBetween(r.Time, r.Complete)
	}
	switch state := value(r.State); {
	case state == "KILLED":
		o.Result = search.Kill
	case state == "FINISHED" || value(r.Success):
		o.Result = search.Success
	case state == "FAILED" || r.Success != nil && !r.Complete.IsZero():
		o.Result = search.Failure
	}
	return o
}

func executionOutcomes(job string, from time.Time) clause {
	match := and(clause{"job_name = ?", []any{job}}, since("fire_time", from))
	return clause{"SELECT state, NULL AS is_success, fire_time AS time, end_time AS complete_time, duration_ms FROM JOB_EXECUTION" + match.where() +
		" ORDER BY fire_time DESC LIMIT ?", append(match.values, search.MaxSummed)}
}

func runOutcomes(job string, from time.Time) clause {
	match := and(clause{"job_name = ?", []any{job}}, since("start_time", from))
	return clause{"SELECT state, is_success, start_time AS time, complete_time, NULL AS duration_ms FROM JOB_EXECUTION_LOG" + match.where() +
		" ORDER BY start_time DESC LIMIT ?", append(match.values, search.MaxSummed)}
}

// tallySum counts the runs of a daemon that sampling left out of the log, with the time of the first report.
type tallySum struct {
	Success int64       `db:"success"`
	Failed  int64       `db:"failed"`
	First   search.Time `db:"first_time"`
}

func tallied(job string, from time.Time) clause {
	match := and(clause{"job_name = ?", []any{job}}, since("complete_time", from))
	return clause{"SELECT COALESCE(SUM(success_count), 0) AS success, COALESCE(SUM(failed_count), 0) AS failed, MIN(complete_time) AS first_time FROM JOB_RUN_TALLY" +
		match.where(), match.values}
}

func lastFailedExecution(job string, from time.Time) clause {
	match := and(clause{"job_name = ? AND state = 'FAILED'", []any{job}}, since("fire_time", from))
	return clause{"SELECT id AS execution_id, fire_time, end_time AS complete_time, COALESCE(reason, '') AS reason, reason_value FROM JOB_EXECUTION" + match.where() +
		" ORDER BY fire_time DESC LIMIT 1", match.values}
}

func lastFailedRun(job string, from time.Time) clause {
	match := and(clause{"job_name = ? AND is_success = 0 AND complete_time IS NOT NULL AND (state IS NULL OR state <> 'KILLED')", []any{job}}, since("start_time", from))
	return clause{"SELECT COALESCE(execution_id, '') AS execution_id, fire_time, complete_time, COALESCE(failure_cause, '') AS reason, failure_cause_value AS reason_value FROM JOB_EXECUTION_LOG" + match.where() +
		" ORDER BY start_time DESC LIMIT 1", match.values}
}

// resultTables are the tables of results by the length of their periods.
var resultTables = map[search.Interval]string{
	search.Minute: resultsOfMinutes, search.Hour: resultsOfHours, search.Day: resultsOfDays,
}

// TaskResults returns the results of the periods that began at from or later and before until, oldest first. A zero
// time is no bound.
func (d *DB) TaskResults(
	ctx context.Context, interval search.Interval, from, until time.Time,
) ([]search.TaskResults, error) {
	table := resultTables[interval]
	match := since("statistics_time", from)
	if !until.IsZero() {
		match = and(match, clause{"statistics_time < ?", []any{Time{until}}})
	}
	rows, err := selectAll[search.TaskResults](ctx, d,
		clause{"SELECT id, COALESCE(success_count, 0) AS success_count, COALESCE(failed_count, 0) AS failed_count, " +
			"statistics_time, creation_time FROM " + table + match.where() + " ORDER BY statistics_time",
			match.values})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	for i := range rows {
		rows[i].Interval = interval
	}
	return rows, nil
}

// TasksRunning returns the samples of the number of running tasks since a time, oldest first.
func (d *DB) TasksRunning(ctx context.Context, from time.Time) ([]search.Running, error) {
	return samples[search.Running](ctx, d, "running_count", "TASK_RUNNING_STATISTICS", from)
}

// JobsRunning returns the samples of the number of jobs with a running task since a time, oldest first.
func (d *DB) JobsRunning(ctx context.Context, from time.Time) ([]search.Running, error) {
	return samples[search.Running](ctx, d, "running_count", "JOB_RUNNING_STATISTICS", from)
}

// JobsRegistered returns the number of registered jobs on each day.
func (d *DB) JobsRegistered(ctx context.Context) ([]search.Registered, error) {
	return samples[search.Registered](ctx, d, "registered_count", "JOB_REGISTER_STATISTICS", time.Time{})
}

func samples[R any](ctx context.Context, d *DB, column, table string, from time.Time) ([]R, error) {
	match := since("statistics_time", from)
	rows, err := selectAll[R](ctx, d, clause{"SELECT id, COALESCE(" + column +
		", 0) AS count, statistics_time, creation_time FROM " + table + match.where() +
		" ORDER BY statistics_time", match.values})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	return rows, nil
}

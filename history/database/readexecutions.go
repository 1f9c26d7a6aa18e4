package database

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// storedExecution is a row of JOB_EXECUTION.
type storedExecution struct {
	search.Execution
	ShardStates *string `db:"shard_states"`
	ReasonValue *string `db:"reason_value"`
}

const executionColumns = "id, job_name, source, state, reason, fire_time, launch_time, begin_time, end_time, duration_ms, shard_states, reason_value"

func (r *storedExecution) execution() (search.Execution, error) {
	e := r.Execution
	e.ReasonCode, e.ReasonArgs = codeOf(e.Reason, r.ReasonValue)
	if r.ShardStates != nil {
		if err := json.Unmarshal([]byte(*r.ShardStates), &e.States); err != nil {
			return e, fmt.Errorf("read shard_states of execution %q: %w", e.ID, err)
		}
	}
	return e, nil
}

// Executions lists executions, newest fire first.
func (d *DB) Executions(ctx context.Context, q search.Executions) ([]search.Execution, error) {
	states := q.States
	if len(states) == 0 {
		states = []string{""}
	}
	// One query per state, so that an index answers each one in order.
	var list []search.Execution
	for _, state := range states {
		c := listExecutions(q, state)
		rows, err := selectAll[storedExecution](ctx, d, c)
		if err != nil {
			return nil, fmt.Errorf("read JOB_EXECUTION: %w", err)
		}
		for i := range rows {
			e, err := rows[i].execution()
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b search.Execution) int {
		return cmp.Or(b.Fire.Compare(a.Fire.Time), strings.Compare(b.ID, a.ID))
	})
	return list[:min(len(list), q.Limit)], nil
}

// listExecutions returns the query for the executions in one state, or in any state if it is "".
func listExecutions(q search.Executions, state string) clause {
	match := and(equal("job_name", q.Job), equal("state", state), since("fire_time", q.Since),
		following("fire_time", q.Before, q.BeforeID))
	return pageOf("JOB_EXECUTION", executionColumns, match, "fire_time DESC, id DESC", 0, q.Limit)
}

const storedExecutionByID = "SELECT " + executionColumns + " FROM JOB_EXECUTION WHERE id = ?"

// maxRuns bounds the number of runs from which the shards of an execution are collected, because the execution of a
// daemon may have millions.
const maxRuns = 20_000

// Execution returns an execution with the last run of each of its shards, or false if the execution is not stored. It
// reads only the newest maxRuns runs.
func (d *DB) Execution(ctx context.Context, id string) (search.Execution, bool, error) {
	rows, err := selectAll[storedExecution](ctx, d, clause{storedExecutionByID, []any{id}})
	if err != nil {
		return search.Execution{}, false, fmt.Errorf("read JOB_EXECUTION: %w", err)
	}
	if len(rows) == 0 {
		return search.Execution{}, false, nil
	}
	e, err := rows[0].execution()
	if err != nil {
		return e, false, err
	}
	all, err := selectAll[search.Run](ctx, d, runsOf(id))
	if err != nil {
		return e, false, fmt.Errorf("read %s: %w", searchedRuns.table, err)
	}
	compare := func(a, b search.Run) int { // the later run is greater
		if a.RunNumber != nil && b.RunNumber != nil { // each task of a daemon counts its runs from 1
			return cmp.Or(a.StartTime.Compare(b.StartTime.Time), cmp.Compare(*a.RunNumber, *b.RunNumber))
		}
		return cmp.Compare(value(a.Attempt), value(b.Attempt))
	}
	last := map[int]search.Run{}
	for _, r := range all {
		searchedRuns.finish(&r)
		if other, ok := last[r.ShardingItem]; !ok || compare(r, other) > 0 {
			last[r.ShardingItem] = r
		}
	}
	for _, r := range last {
		e.Shards = append(e.Shards, r)
	}
	slices.SortFunc(e.Shards, func(a, b search.Run) int { return cmp.Compare(a.ShardingItem, b.ShardingItem) })
	return e, true, nil
}

// runsOf returns the query for the newest runs of an execution.
func runsOf(execution string) clause {
	return clause{"SELECT " + searchedRuns.selected + " FROM " + searchedRuns.table +
		" WHERE execution_id = ? ORDER BY start_time DESC LIMIT ?", []any{execution, maxRuns}}
}

// value returns what a pointer points to, or the zero value for nil.
func value[N any](pointer *N) (n N) {
	if pointer != nil {
		n = *pointer
	}
	return n
}

// momentRow is a row of JOB_EXECUTION_EVENT or JOB_STATUS_TRACE_LOG.
type momentRow struct {
	Kind    string      `db:"kind"`
	Item    *int        `db:"item"`
	TaskID  *string     `db:"task_id"`
	Agent   *string     `db:"agent"`
	Reason  *string     `db:"reason"`
	Message *string     `db:"message"`
	Value   *string     `db:"message_value"`
	Time    search.Time `db:"creation_time"`
}

// landmarks are the columns of an execution's row from which its first and last moments are made.
type landmarks struct {
	Source string       `db:"source"`
	State  string       `db:"state"`
	Reason *string      `db:"reason"`
	Value  *string      `db:"reason_value"`
	Fire   search.Time  `db:"fire_time"`
	Launch *search.Time `db:"launch_time"`
	End    *search.Time `db:"end_time"`
}

const landmarksByID = "SELECT source, state, reason, reason_value, fire_time, launch_time, end_time FROM JOB_EXECUTION WHERE id = ?"

// begin returns the moments before those of the tasks.
func (r *landmarks) begin() []search.Moment {
	all := []search.Moment{{Time: r.Fire, Kind: "FIRED", Message: r.Source}}
	if r.Launch != nil {
		all = append(all, search.Moment{Time: *r.Launch, Kind: "LAUNCHED"})
	}
	return all
}

// end returns the last moment, or nothing if the execution has not ended. The clocks of agents may differ. If one of
// the other moments is later than the end of the execution, the last moment gets the time of the latest one.
func (r *landmarks) end(others []search.Moment) []search.Moment {
	if r.End == nil {
		return nil
	}
	ended := search.Moment{Time: *r.End, Kind: "ENDED", Message: r.State}
	if reason := value(r.Reason); reason != "" {
		ended.Message += ": " + reason
		ended.MessageCode, ended.MessageArgs = codeOf(r.Reason, r.Value)
	}
	for _, m := range others {
		if m.Time.After(ended.Time.Time) {
			ended.Time = m.Time
		}
	}
	return []search.Moment{ended}
}

// Life returns the first stored moments of an execution, at most limit, in the order of time. more reports whether
// there are later moments.
func (d *DB) Life(ctx context.Context, execution string, limit int) (life []search.Moment, more bool, err error) {
	fail := func(err error) ([]search.Moment, bool, error) {
		return nil, false, fmt.Errorf("read the life of execution %q: %w", execution, err)
	}
	rows, err := selectAll[landmarks](ctx, d, clause{landmarksByID, []any{execution}})
	if err != nil {
		return fail(err)
	}
	var all []search.Moment
	for _, r := range rows {
		all = append(all, r.begin()...)
	}
	for _, c := range momentsOf(execution, limit+1) {
		rows, err := selectAll[momentRow](ctx, d, c)
		if err != nil {
			return fail(err)
		}
		for _, r := range rows {
			m := search.Moment{Time: r.Time, Kind: r.Kind, Item: r.Item, TaskID: value(r.TaskID),
				Agent: value(r.Agent), Reason: value(r.Reason), Message: value(r.Message)}
			m.MessageCode, m.MessageArgs = codeOf(r.Message, r.Value)
			if value(m.Item) < 0 {
				m.Item = nil
			}
			all = append(all, m)
		}
	}
	for _, r := range rows {
		all = append(all, r.end(all)...)
	}
	life, more = search.Life(all, limit)
	return life, more, nil
}

// momentsOf returns the queries for the steps of an execution and for the states of its tasks, each in order. The item
// is a number in one table and a text like [0] in the other.
func momentsOf(execution string, limit int) []clause {
	const ofExecution = " WHERE execution_id = ? ORDER BY creation_time, auto_id LIMIT ?"
	values := []any{execution, limit}
	return []clause{
		{"SELECT kind, sharding_item AS item, task_id, NULL AS agent, NULL AS reason, message, message_value, creation_time FROM JOB_EXECUTION_EVENT" + ofExecution, values},
		{"SELECT state AS kind, REPLACE(REPLACE(sharding_item, '[', ''), ']', '') AS item, task_id, slave_id AS agent, reason, message, message_value, creation_time" +
			" FROM JOB_STATUS_TRACE_LOG" + ofExecution, values},
	}
}

// JobStatistics computes the statistics of a job from the newest executions that fired since a time, at most
// search.MaxSummed. If the newest execution belongs to a daemon, it uses the runs instead, including the runs that
// sampling left out of the log. It does not count unfinished executions and runs.
func (d *DB) JobStatistics(ctx context.Context, job string, since time.Time) (search.JobStatistics, error) {
	fail := func(err error) (search.JobStatistics, error) {
		return search.JobStatistics{}, fmt.Errorf("read the statistics of job %q: %w", job, err)
	}
	newest, err := d.Executions(ctx, search.Executions{Job: job, Limit: 1})
	if err != nil {
		return fail(err)
	}
	of, outcomes, failure := "EXECUTIONS", executionOutcomes(job, since), lastFailedExecution(job, since)
	if len(newest) > 0 && newest[0].Source == daemonSource {
		of, outcomes, failure = daemonRuns, runOutcomes(job, since), lastFailedRun(job, since)
	}
	rows, err := selectAll[outcomeRow](ctx, d, outcomes)
	if err != nil {
		return fail(err)
	}
	list := make([]search.Outcome, len(rows))
	for i, r := range rows {
		list[i] = r.outcome()
	}
	s := search.Sum(job, of, list)
	if of == daemonRuns {
		from := since
		if len(rows) == search.MaxSummed {
			from = s.Since.Time // older runs do not count
		}
		sums, err := selectAll[tallySum](ctx, d, tallied(job, from))
		if err != nil {
			return fail(err)
		}
		for _, t := range sums {
			s.AddTallied(int(t.Success), int(t.Failed), t.First.Time)
		}
	}
	failures, err := selectAll[search.LastFailure](ctx, d, failure)
	if err != nil {
		return fail(err)
	}
	if len(failures) > 0 {
		last := &failures[0]
		last.ReasonCode, last.ReasonArgs = codeOf(&last.Reason, last.ReasonValue)
		s.LastFailure = last
	}
	return s, nil
}

const (
	// daemonSource is the source of the standing execution of a daemon job.
	daemonSource = "DAEMON"
	// daemonRuns is the value of JobStatistics.Of for a daemon job.
	daemonRuns = "RUNS"
)

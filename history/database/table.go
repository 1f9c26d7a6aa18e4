package database

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
)

// table is a table for events. The columns are in the order of the values of a row.
type table struct {
	name string
	// key is the column with a unique index.
	key string
	// version is the column that shows which of two rows with the same key is newer and so replaces the other; "" if
	// rows with the same key never differ.
	version string
	columns []column
}

// column is one column. Text is cut to width characters, or not at all if width is 0.
type column struct {
	name  string
	width int
}

var executions = table{"JOB_EXECUTION", "id", "revision", []column{
	{"id", 0}, {"revision", 0}, {"job_name", 100}, {"app_name", 100}, {"source", 20}, {"state", 32}, {"reason", 4000},
	{"fire_time", 0}, {"made_time", 0}, {"launch_time", 0}, {"begin_time", 0}, {"end_time", 0}, {"duration_ms", 0}, {"shards", 0}, {"shard_states", 1000},
	{"reason_value", 0},
}}

func executionRow(e *event.Execution) []any {
	var duration any
	if !e.Begin.IsZero() && !e.End.IsZero() {
		duration = max(e.End.Sub(e.Begin).Milliseconds(), 0)
	}
	return []any{
		e.ID, e.Revision, e.Job, e.App, e.Source, e.State, orNull(e.Reason.String()),
		Time{e.Fire}, Time{e.Made}, Time{e.Launch}, Time{e.Begin}, Time{e.End}, duration, e.Shards, states(e.States),
		valueOf(e.Reason),
	}
}

var steps = table{"JOB_EXECUTION_EVENT", "id", "", []column{
	{"id", 0}, {"execution_id", 150}, {"job_name", 100}, {"kind", 32}, {"sharding_item", 0}, {"task_id", 255}, {"message", 4000}, {"creation_time", 0},
	{"message_value", 0},
}}

func stepRow(s *event.Step) []any {
	var item any
	if s.Item != event.NoItem {
		item = s.Item
	}
	return []any{s.ID, s.Execution, s.Job, string(s.Kind), item, orNull(s.Task), orNull(s.Message.String()),
		Time{s.Time}, valueOf(s.Message)}
}

var runs = table{"JOB_EXECUTION_LOG", "id", "revision", []column{
	{"id", 0}, {"revision", 0}, {"job_name", 100}, {"task_id", 255}, {"hostname", 255}, {"ip", 50}, {"sharding_item", 0}, {"execution_source", 20},
	{"failure_cause", 4000}, {"is_success", 0}, {"start_time", 0}, {"complete_time", 0}, {"execution_id", 150}, {"attempt", 0}, {"run_number", 0},
	{"state", 32}, {"exit_status", 0}, {"agent_id", 100}, {"fire_time", 0}, {"failure_cause_value", 0},
}}

func runRow(r *event.Run) []any {
	var number, exit any
	if r.Number > 0 {
		number = r.Number
	}
	if r.Exit != nil {
		exit = *r.Exit
	}
	success := 0
	if r.Success {
		success = 1
	}
	return []any{
		r.ID, r.Revision, r.Job, r.Task, r.Host, r.IP, r.Item, r.Source,
		orNull(r.Cause.String()), success, Time{r.Start}, Time{r.End}, r.Execution, r.Attempt, number,
		r.State, exit, r.Agent, Time{r.Fire}, valueOf(r.Cause),
	}
}

var traces = table{"JOB_STATUS_TRACE_LOG", "id", "", []column{
	{"id", 0}, {"job_name", 100}, {"original_task_id", 255}, {"task_id", 255}, {"slave_id", 100}, {"source", 50}, {"execution_type", 20},
	{"sharding_item", 100}, {"state", 32}, {"message", 4000}, {"creation_time", 0}, {"execution_id", 150}, {"attempt", 0}, {"reason", 100}, {"message_value", 0},
}}

func traceRow(t *event.Trace) []any {
	return []any{
		t.ID, t.Job, t.OriginalTask, t.Task, t.Agent, t.Source, t.Type,
		"[" + strconv.Itoa(t.Item) + "]", t.State, orNull(t.Message.String()), Time{t.Time}, t.Execution, t.Attempt,
		orNull(t.Reason), valueOf(t.Message),
	}
}

var tallies = table{"JOB_RUN_TALLY", "id", "", []column{
	{"id", 0}, {"job_name", 100}, {"task_id", 255}, {"success_count", 0}, {"failed_count", 0}, {"complete_time", 0},
}}

func tallyRow(t *event.Tally) []any {
	return []any{t.ID, t.Job, t.Task, t.Success, t.Failed, Time{t.Time}}
}

var audits = table{"AUDIT_LOG", "id", "", []column{
	{"id", 0}, {"actor_name", 150}, {"actor_kind", 20}, {"actor_address", 100}, {"action", 50}, {"target", 20}, {"target_name", 255}, {"app_name", 100},
	{"before_value", 16000}, {"after_value", 16000}, {"creation_time", 0},
}}

func auditRow(a *event.Audit) []any {
	return []any{a.ID, a.Name, a.Kind, a.From, a.Action, a.Target, a.TargetName, a.App, orNull(a.Before),
		orNull(a.After), Time{a.Time}}
}

var terms = table{"HISTORY_TERM", "term", "", []column{{"term", 0}, {"batches", 0}}}

func termRow(t *event.Term) []any { return []any{t.Number, t.Batches} }

var marks = table{"HISTORY_RECOUNT", "minute_time", "", []column{{"minute_time", 0}}}

// gauges are the tables of samples. The newest sample of a period, a minute or a day, counts.
var gauges = map[event.Gauge]table{
	event.TasksRunning:   gauge("TASK_RUNNING_STATISTICS", "running_count"),
	event.JobsRunning:    gauge("JOB_RUNNING_STATISTICS", "running_count"),
	event.JobsRegistered: gauge("JOB_REGISTER_STATISTICS", "registered_count"),
}

func gauge(name, count string) table {
	return table{name, "statistics_time", "creation_time",
		[]column{{"statistics_time", 0}, {count, 0}, {"creation_time", 0}}}
}

func sampleRow(s *event.Sample) []any {
	period := minuteOf(s.Time)
	if s.Of == event.JobsRegistered {
		period = dayOf(s.Time)
	}
	return []any{Time{period}, s.Value, Time{s.Time}}
}

// loads keeps the newest row of each minute: two leaders whose clocks differ may both write one.
var loads = table{"SCHEDULING_STATISTICS", "statistics_time", "creation_time", []column{
	{"statistics_time", 0}, {"launched_count", 0}, {"waiting_count", 0}, {"fire_count", 0}, {"fire_delay_p50_ms", 0}, {"fire_delay_p95_ms", 0}, {"creation_time", 0},
}}

func loadRow(l *event.Load) []any {
	return []any{Time{minuteOf(l.Time)}, l.Launched, l.Waiting, l.Fires, l.DelayP50, l.DelayP95,
		Time{minuteOf(l.Time).Add(time.Minute)}}
}

// keyAt returns the index of the key among the columns.
func (t table) keyAt() int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.name == t.key })
}

// states returns the number of shards by state as JSON, or NULL.
func states(counts map[string]int) any {
	if len(counts) == 0 {
		return nil
	}
	text, _ := json.Marshal(counts) // never fails for a map of numbers
	return string(text)
}

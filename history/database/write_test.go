package database

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// oneOfEach returns a row of each table.
func oneOfEach() event.Rows {
	exit := 3
	return event.Rows{
		Executions: []event.Execution{{
			ID: "e1", Revision: event.Ended, Job: "job", App: "app", Source: "NORMAL_TRIGGER", State: "FAILED",
			Reason: reason.OfItem(0, reason.FromText("boom")),
			Fire:   noon, Made: noon.Add(time.Millisecond), Launch: noon.Add(time.Second),
			Begin: noon.Add(2 * time.Second), End: noon.Add(5 * time.Second),
			Shards: 2, States: map[string]int{"FINISHED": 1, "FAILED": 1},
		}},
		Steps: []event.Step{
			{ID: "s1", Execution: "e1", Job: "job", Kind: event.Waited, Item: event.NoItem, Message: reason.FromText("CPU"), Time: noon},
			{ID: "s2", Execution: "e1", Job: "job", Kind: event.Requeued, Item: 1, Task: "t1", Time: noon},
			{ID: "s3", Execution: "e1", Job: "job", Kind: event.Killing, Item: event.NoItem, Message: reason.Of(reason.ServerStopped), Time: noon},
		},
		Runs: []event.Run{{
			ID: "r1", Revision: event.Ended, Job: "job", Task: "t1", Execution: "e1", Item: 1, Attempt: 2, Number: 7,
			Source: "NORMAL_TRIGGER", State: "FAILED",
			Cause: reason.OverMemoryLimit("2 GB"), Exit: &exit, Agent: "a1", Host: "h1", IP: "10.0.0.1", Fire: noon,
			Start: noon.Add(2 * time.Second), End: noon.Add(5 * time.Second),
		}},
		Traces: []event.Trace{{
			ID: "t1", Job: "job", OriginalTask: "t0", Task: "t1", Agent: "a1", Source: event.FromExecutor,
			Type: "FAILOVER", Item: 1, State: "TASK_GONE_BY_OPERATOR",
			Reason: "REASON", Message: reason.EndUnexplained("LOST"), Execution: "e1", Attempt: 2,
			Time: noon.Add(123456 * time.Microsecond),
		}},
		Tallies: []event.Tally{{ID: "y1", Job: "job", Task: "t1", Success: 5, Failed: 2, Time: noon.Add(time.Minute)}},
		Loads:   []event.Load{{Time: noon, Launched: 4, Waiting: 5, Fires: 6, DelayP50: 1.5, DelayP95: 20.25}},
		Samples: []event.Sample{
			{Of: event.TasksRunning, Value: 3, Time: noon}, {Of: event.JobsRunning, Value: 2, Time: noon}, {Of: event.JobsRegistered, Value: 9, Time: noon},
		},
		Audits: []event.Audit{
			{ID: "u1", Time: noon, Actor: event.Actor{Name: "alice", Kind: "user", From: "10.0.0.7"},
				Action: "job.update", Target: "job", TargetName: "job", App: "app",
				Before: `{"cron":""}`, After: `{"cron":"0 0 3 * * ?"}`},
			{ID: "u2", Time: noon.Add(time.Second), Actor: event.Actor{Kind: "registry"}, Action: "app.delete", Target: "app", TargetName: "app", App: "app", Before: "{}"},
		},
		Terms: []event.Term{{Number: 4, Batches: 17}},
	}
}

// stored contains the rows of oneOfEach as the tables hold them. Users query the tables, so their content is an
// interface.
var stored = map[string][]map[string]any{
	"JOB_EXECUTION": {{
		"id": "e1", "revision": int64(3), "job_name": "job", "app_name": "app", "source": "NORMAL_TRIGGER",
		"state": "FAILED", "reason": "item 0: boom",
		"reason_value": `{"code":"of_item","args":{"item":"0","cause":{"code":"text","args":{"text":"boom"}}}}`,
		"fire_time":    "2026-05-04 12:00:00.000", "made_time": "2026-05-04 12:00:00.001",
		"launch_time": "2026-05-04 12:00:01.000",
		"begin_time":  "2026-05-04 12:00:02.000", "end_time": "2026-05-04 12:00:05.000", "duration_ms": int64(3000),
		"shards":       int64(2),
		"shard_states": `{"FAILED":1,"FINISHED":1}`,
	}},
	"JOB_EXECUTION_EVENT": {
		{"id": "s1", "execution_id": "e1", "job_name": "job", "kind": "WAITED", "sharding_item": nil, "task_id": nil, "message": "CPU", "message_value": nil, "creation_time": "2026-05-04 12:00:00.000"},
		{"id": "s2", "execution_id": "e1", "job_name": "job", "kind": "REQUEUED", "sharding_item": int64(1), "task_id": "t1", "message": nil, "message_value": nil, "creation_time": "2026-05-04 12:00:00.000"},
		{"id": "s3", "execution_id": "e1", "job_name": "job", "kind": "KILLING", "sharding_item": nil, "task_id": nil,
			"message":       "lost by shutdown of the scheduler",
			"message_value": `{"code":"server_stopped"}`, "creation_time": "2026-05-04 12:00:00.000"},
	},
	"JOB_EXECUTION_LOG": {{
		"id": "r1", "revision": int64(3), "job_name": "job", "task_id": "t1", "hostname": "h1", "ip": "10.0.0.1",
		"sharding_item":       int64(1),
		"execution_source":    "NORMAL_TRIGGER",
		"failure_cause":       "over the memory limit of its container, which executor and tasks share: 2 GB",
		"failure_cause_value": `{"code":"over_memory_limit","args":{"message":"2 GB"}}`, "is_success": int64(0),
		"start_time":    "2026-05-04 12:00:02.000",
		"complete_time": "2026-05-04 12:00:05.000", "execution_id": "e1", "attempt": int64(2), "run_number": int64(7),
		"state":       "FAILED",
		"exit_status": int64(3), "agent_id": "a1", "fire_time": "2026-05-04 12:00:00.000",
	}},
	"JOB_STATUS_TRACE_LOG": {{
		"id": "t1", "job_name": "job", "original_task_id": "t0", "task_id": "t1", "slave_id": "a1",
		"source": "CLOUD_EXECUTOR", "execution_type": "FAILOVER",
		"sharding_item": "[1]", "state": "TASK_GONE_BY_OPERATOR",
		"message":       "the cluster reported LOST, and the agent gave no reason",
		"message_value": `{"code":"end_unexplained","args":{"state":"LOST"}}`,
		"creation_time": "2026-05-04 12:00:00.123", "execution_id": "e1",
		"attempt": int64(2), "reason": "REASON",
	}},
	"JOB_RUN_TALLY": {{
		"id": "y1", "job_name": "job", "task_id": "t1", "success_count": int64(5), "failed_count": int64(2),
		"complete_time": "2026-05-04 12:01:00.000",
	}},
	"TASK_RUNNING_STATISTICS": {{"running_count": int64(3), "statistics_time": "2026-05-04 12:00:00.000", "creation_time": "2026-05-04 12:00:00.000"}},
	"JOB_RUNNING_STATISTICS":  {{"running_count": int64(2), "statistics_time": "2026-05-04 12:00:00.000", "creation_time": "2026-05-04 12:00:00.000"}},
	"JOB_REGISTER_STATISTICS": {{"registered_count": int64(9), "statistics_time": "2026-05-04 00:00:00.000", "creation_time": "2026-05-04 12:00:00.000"}},
	"SCHEDULING_STATISTICS": {{"launched_count": int64(4), "waiting_count": int64(5), "fire_count": int64(6),
		"fire_delay_p50_ms": 1.5, "fire_delay_p95_ms": 20.25,
		"statistics_time": "2026-05-04 12:00:00.000", "creation_time": "2026-05-04 12:01:00.000"}},
	"AUDIT_LOG": {
		{"id": "u1", "actor_name": "alice", "actor_kind": "user", "actor_address": "10.0.0.7", "action": "job.update",
			"target": "job", "target_name": "job", "app_name": "app",
			"before_value": `{"cron":""}`, "after_value": `{"cron":"0 0 3 * * ?"}`, "creation_time": "2026-05-04 12:00:00.000"},
		{"id": "u2", "actor_name": "", "actor_kind": "registry", "actor_address": "", "action": "app.delete",
			"target": "app", "target_name": "app", "app_name": "app",
			"before_value": "{}", "after_value": nil, "creation_time": "2026-05-04 12:00:01.000"},
	},
	"HISTORY_TERM":    {{"term": int64(4), "batches": int64(17)}},
	"HISTORY_RECOUNT": {{"minute_time": "2026-05-04 12:00:00.000"}, {"minute_time": "2026-05-04 12:01:00.000"}},
}

// check compares all tables with their expected content, without numbers that the database assigns.
func check(t testing.TB, d *DB, want map[string][]map[string]any) {
	t.Helper()
	for name, rows := range want {
		order := "1"
		if name == "JOB_EXECUTION_EVENT" || name == "AUDIT_LOG" {
			order = "id"
		}
		got := rowsFrom(t, d, "SELECT * FROM "+name+" ORDER BY "+order)
		for _, row := range got {
			delete(row, "auto_id")
			if _, ok := row["statistics_time"]; ok {
				delete(row, "id")
			}
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestEachKindOfRowIsStoredOnce(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		for range 2 {
			write(t, d, oneOfEach())
			check(t, d, stored)
		}
	})
}

func TestTheHighestRevisionStands(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		orders := [][]int{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}, {3, 3, 1}, {1, 3, 3}}
		for i, order := range orders {
			var together event.Rows
			for _, revision := range order {
				state := fmt.Sprint("state ", revision)
				e := event.Execution{ID: fmt.Sprint("apart", i), Revision: revision, State: state, Fire: noon}
				r := event.Run{ID: fmt.Sprint("apart", i), Revision: revision, State: state, Start: noon}
				if revision == event.Ended {
					e.End, r.End = noon.Add(time.Hour), noon.Add(time.Hour)
				}
				write(t, d, event.Rows{Executions: []event.Execution{e}, Runs: []event.Run{r}})
				e.ID, r.ID = fmt.Sprint("together", i), fmt.Sprint("together", i)
				together.Executions, together.Runs = append(together.Executions, e), append(together.Runs, r)
			}
			write(t, d, together)
			// A leader that finds the execution again may record it with another state: the first one is kept.
			write(t, d, event.Rows{Runs: []event.Run{{ID: fmt.Sprint("apart", i), Revision: 3, State: "again"}},
				Executions: []event.Execution{{ID: fmt.Sprint("apart", i), Revision: 3, State: "again", Fire: noon}}})
		}
		for _, query := range []string{
			"SELECT id, state, revision, end_time AS ended FROM JOB_EXECUTION ORDER BY id",
			"SELECT id, state, revision, complete_time AS ended FROM JOB_EXECUTION_LOG ORDER BY id",
		} {
			found := rowsFrom(t, d, query)
			if len(found) != 2*len(orders) {
				t.Errorf("%d rows of %d", len(found), 2*len(orders))
			}
			for _, row := range found {
				if row["state"] != "state 3" || row["revision"] != int64(3) ||
					row["ended"] != "2026-05-04 13:00:00.000" {
					t.Errorf("%v", row)
				}
			}
		}
	})
}

func TestTheNewestSampleOfADayStands(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		sample := func(value int64, at time.Time) event.Sample {
			return event.Sample{Of: event.JobsRegistered, Value: value, Time: at}
		}
		write(t, d, event.Rows{Samples: []event.Sample{sample(1, noon), sample(2, noon.Add(time.Hour)),
			sample(3, noon.Add(time.Minute)), sample(4, noon.Add(12*time.Hour))}})
		write(t, d, event.Rows{Samples: []event.Sample{sample(5, noon.Add(-time.Hour))}})
		got := rowsFrom(t, d, "SELECT registered_count, statistics_time FROM JOB_REGISTER_STATISTICS ORDER BY statistics_time")
		want := []map[string]any{
			{"registered_count": int64(2), "statistics_time": "2026-05-04 00:00:00.000"}, {"registered_count": int64(4), "statistics_time": "2026-05-05 00:00:00.000"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBatchesOfATermAreKnownOnceTheyAreWritten(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		write(t, d, event.Rows{Terms: []event.Term{{Number: 1, Batches: 0}, {Number: 2, Batches: 5}}})
		for term, want := range map[int64]string{1: "0 true", 2: "5 true", 3: "0 false"} {
			n, known, err := d.Batches(t.Context(), term)
			if got := fmt.Sprint(n, " ", known); got != want || err != nil {
				t.Errorf("term %d: %s, %v; want %s", term, got, err, want)
			}
		}
	})
}

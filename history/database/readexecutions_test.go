package database

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// TestExecutionsAreListed checks that lists contain the requested executions, newest fire first, and can be continued
// after each of them.
func TestExecutionsAreListed(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		var all []event.Execution
		for i := range 300 {
			state := []string{"FINISHED", "FAILED", "KILLED", "RUNNING"}[i%4]
			all = append(all, event.Execution{ID: fmt.Sprintf("e-%d", i*7919%300), Revision: event.Ended,
				Job: fmt.Sprintf("job-%d", i%3), App: "app", Source: "TRIGGER", State: state,
				Fire: noon.Add(time.Duration(i/3) * time.Second), Made: noon, Shards: 3,
				States: map[string]int{state: 3}})
		}
		write(t, d, event.Rows{Executions: all})
		for _, q := range []search.Executions{
			{Limit: 1000}, {Limit: 10}, {Job: "job-1", Limit: 1000}, {Job: "job-1", States: []string{"FAILED"}, Limit: 7}, {States: []string{"KILLED", "FAILED"}, Limit: 20},
			{Since: noon.Add(90 * time.Second), Limit: 1000}, {Since: noon.Add(time.Minute), Before: noon.Add(80 * time.Second), Limit: 1000},
			{Job: "job-2", States: []string{"RUNNING", "FINISHED"}, Before: noon.Add(50 * time.Second), BeforeID: "e-2", Limit: 15}, {Job: "none", Limit: 5}, {States: []string{"none"}, Limit: 5},
		} {
			var want []string
			slices.SortFunc(all, func(a,
				b event.Execution) int {
				return cmp.Or(b.Fire.Compare(a.Fire), strings.Compare(b.ID, a.ID))
			})
			for _, e := range all {
				before := q.Before.IsZero() || e.Fire.Before(q.Before) || e.Fire.Equal(q.Before) && e.ID < q.BeforeID
				if (q.Job == "" || e.Job == q.Job) && (q.States == nil || slices.Contains(q.States, e.State)) &&
					!e.Fire.Before(q.Since) && before && len(want) < q.Limit {
					want = append(want, e.ID)
				}
			}
			list, err := d.Executions(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				got = append(got, e.ID)
				if e.States[e.State] != 3 || !e.Begin.IsZero() || e.DurationMillis != nil {
					t.Errorf("%+v", e)
				}
			}
			if diff := godiff.Diff(want, got); diff != "" {
				t.Errorf("%+v: %s", q, diff)
			}
		}
		var got []string
		for q := (search.Executions{Job: "job-1", Limit: 9}); ; {
			list, err := d.Executions(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			for _, e := range list {
				got = append(got, e.ID)
			}
			q.Before, q.BeforeID = list[len(list)-1].Fire.Time, list[len(list)-1].ID
		}
		if slices.Sort(got); len(got) != 100 || len(slices.Compact(got)) != 100 {
			t.Errorf("page by page there are %d", len(got))
		}
	})
}

// TestAnExecutionIsRead checks that an execution is returned with the last run of each shard, and its life in the
// order of time.
func TestAnExecutionIsRead(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		at := func(millis int) time.Time { return noon.Add(time.Duration(millis) * time.Millisecond) }
		exit := 3
		run := func(item, attempt int, state string) event.Run {
			return event.Run{ID: fmt.Sprintf("run-%d-%d", item, attempt), Revision: event.Ended, Job: "job",
				Task: fmt.Sprintf("task-%d-%d", item, attempt), Execution: "e", Item: item, Attempt: attempt,
				Source: "NORMAL_TRIGGER", State: state, Success: state == "FINISHED", Agent: "S0",
				Start: at(attempt * 1000), End: at(attempt*1000 + 250), Fire: noon}
		}
		lost := run(0, 1, "LOST")
		lost.Cause = reason.Of(reason.ServerStopped)
		failed := run(1, 1, "FAILED")
		failed.Exit, failed.Cause = &exit, reason.FromText("boom \U0001F4A5")
		never := run(2, 3, "FAILED") // it has not begun
		never.Start = time.Time{}
		never.Cause = reason.OverMemoryLimit("")
		write(t, d, event.Rows{
			Executions: []event.Execution{{ID: "e", Revision: event.Ended, Job: "job", Source: "NORMAL_TRIGGER",
				State: "FAILED", Reason: reason.OfItem(1, failed.Cause), Fire: noon, Launch: at(2), Begin: at(1000),
				End: at(2250), Shards: 3,
				States: map[string]int{"FAILED": 2, "FINISHED": 1}}, {ID: "other", Revision: event.Begun, Job: "job",
				Source: "TRIGGER", State: "WAITING", Fire: noon}},
			Runs: []event.Run{run(0, 2, "FINISHED"), lost, failed, never, run(2, 2, "LOST")},
			Steps: []event.Step{{ID: "2", Execution: "e", Job: "job", Kind: event.Requeued, Item: 0, Task: "task-0-1",
				Message: lost.Cause, Time: at(1300)},
				{ID: "4", Execution: "other", Job: "job", Kind: event.Waited, Item: event.NoItem, Time: noon}},
			Traces: []event.Trace{{ID: "1", Job: "job", Task: "task-0-1", Agent: "S0", Source: event.FromScheduler,
				Type: "READY", Item: 0, State: "TASK_STAGING", Execution: "e", Attempt: 1, Time: at(4)},
				{ID: "2", Job: "job", Task: "task-0-1", Agent: "S0", Source: event.FromScheduler, Type: "READY", Item: 0, State: "TASK_LOST", Reason: "REASON_AGENT_REMOVED", Message: reason.FromText("agent removed"), Execution: "e", Attempt: 1, Time: at(1250)}},
		})
		e, found, err := d.Execution(t.Context(), "e")
		if err != nil || !found || e.State != "FAILED" || *e.Reason != "item 1: boom \U0001F4A5" ||
			e.ReasonCode != "of_item" || e.ReasonArgs["item"] != "1" || *e.DurationMillis != 1250 ||
			e.States["FAILED"] != 2 || !e.Begin.Equal(at(1000)) {
			t.Errorf("%v %v %+v", err, found, e)
		}
		var shards []string
		for _, s := range e.Shards {
			shards = append(shards, fmt.Sprintf("%d %d %s %s %d %d %s %s", s.ShardingItem, *s.Attempt, *s.State,
				s.TaskID, value(s.ExitStatus), value(s.DurationMillis), s.FailureCode, value(s.FailureCause)))
		}
		if diff := godiff.Diff([]string{"0 2 FINISHED task-0-2 0 250  ",
			"1 1 FAILED task-1-1 3 250 text boom \U0001F4A5",
			"2 3 FAILED task-2-3 0 0 over_memory_limit over the memory limit of its container, which executor and tasks share: the cluster gave no message"}, shards); diff != "" {
			t.Error(diff)
		}
		life, more, err := d.Life(t.Context(), "e", 10)
		text, _ := json.Marshal(life)
		want := `[{"time":"2026-05-04T12:00:00Z","afterMillis":null,"kind":"FIRED","item":null,"taskId":"","agent":"","reason":"","message":"NORMAL_TRIGGER"},` +
			`{"time":"2026-05-04T12:00:00.002Z","afterMillis":2,"kind":"LAUNCHED","item":null,"taskId":"","agent":"","reason":"","message":""},` +
			`{"time":"2026-05-04T12:00:00.004Z","afterMillis":2,"kind":"TASK_STAGING","item":0,"taskId":"task-0-1","agent":"S0","reason":"","message":""},` +
			`{"time":"2026-05-04T12:00:01.25Z","afterMillis":1246,"kind":"TASK_LOST","item":0,"taskId":"task-0-1","agent":"S0","reason":"REASON_AGENT_REMOVED","message":"agent removed","messageCode":"text"},` +
			`{"time":"2026-05-04T12:00:01.3Z","afterMillis":50,"kind":"REQUEUED","item":0,"taskId":"task-0-1","agent":"","reason":"","message":"lost by shutdown of the scheduler","messageCode":"server_stopped"},` +
			`{"time":"2026-05-04T12:00:02.25Z","afterMillis":950,"kind":"ENDED","item":null,"taskId":"","agent":"","reason":"","message":"FAILED: item 1: boom 💥",` +
			`"messageCode":"of_item","messageArgs":{"cause":{"args":{"text":"boom 💥"},"code":"text"},"item":"1"}}]`
		if err != nil || more || string(text) != want {
			t.Errorf("%v %v %s\nwant %s", err, more, text, want)
		}
		if life, more, err := d.Life(t.Context(), "e", 3); err != nil || !more || len(life) != 3 ||
			life[2].Kind != "TASK_STAGING" {
			t.Errorf("%v %v %v", life, more, err)
		}
		daemons := event.Rows{Executions: []event.Execution{{ID: "d", Revision: event.Launched, Job: "daemon",
			Source: "DAEMON", State: "RUNNING", Fire: noon, Shards: 1}}}
		for i, r := range []struct {
			task            string
			number, attempt int
		}{{"first", 1, 2}, {"first", 2, 1}, {"first", 3, 2}, {"second", 1, 1}, {"second", 2, 1}} {
			daemons.Runs = append(daemons.Runs,
				event.Run{ID: fmt.Sprintf("daemon-%d", i), Revision: event.Ended, Job: "daemon", Task: r.task,
					Execution: "d", Attempt: r.attempt, Number: int64(r.number),
					State: "FINISHED", Success: true, Start: at(i * 1000), End: at(i*1000 + 5), Fire: at(i * 1000)})
		}
		write(t, d, daemons)
		if e, _, err := d.Execution(t.Context(), "d"); err != nil || len(e.Shards) != 1 ||
			e.Shards[0].TaskID != "second" || *e.Shards[0].RunNumber != 2 {
			t.Errorf("the last run of a daemon's second task is not the shard's: %v %+v", err, e.Shards)
		}
		if _, found, err := d.Execution(t.Context(), "E"); err != nil || found {
			t.Errorf("an execution is found by another name: %v", err)
		}
	})
}

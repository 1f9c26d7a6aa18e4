package database

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// busy generates the events of a cluster with many short jobs, 1,000 rows per batch: the start of each shard in one
// batch and its end in the next, with four traces, and for every ten shards an execution with its steps.
type busy struct {
	random *rand.Rand
	number int64
	at     time.Time
	begun  []event.Run
}

func newBusy() *busy { return &busy{random: rand.New(rand.NewPCG(1, 2)), at: noon} }

func (b *busy) batch() event.Batch {
	b.number++
	b.at = b.at.Add(100 * time.Millisecond)
	batch := event.Batch{Term: 1, Number: b.number}
	for _, r := range b.begun {
		r.Revision, r.State, r.Success, r.End = event.Ended, "FINISHED", true, b.at
		if b.random.IntN(20) == 0 {
			r.State, r.Success, r.Cause = "FAILED", false,
				reason.FromText("exit status 1: could not connect to the database at 10.0.0.7:5432: connection refused")
		}
		batch.Runs = append(batch.Runs, r)
		batch.Traces = append(batch.Traces, b.trace(r, "TASK_RUNNING", event.FromExecutor),
			b.trace(r, "TASK_FINISHED", event.FromExecutor))
	}
	b.begun = b.begun[:0]
	for i := 0; batch.Len() < 990; i++ {
		job, shard := fmt.Sprintf("job-of-some-team-%03d", b.random.IntN(500)), i%10
		execution := fmt.Sprintf("%s@-@%s@-@%d", job, b.at.Format("20060102T150405.000"), i/10)
		if shard == 0 {
			for revision, kind := range []event.Kind{event.Waited, event.Waited, event.Killing} {
				batch.Executions = append(batch.Executions, event.Execution{
					ID: execution, Revision: revision + 1, Job: job, App: "app", Source: "NORMAL_TRIGGER",
					State: "FINISHED", Fire: b.at, Made: b.at,
					Launch: b.at, Begin: b.at, End: b.at, Shards: 10, States: map[string]int{"FINISHED": 10},
				})
				batch.Steps = append(batch.Steps,
					event.Step{ID: event.ID(execution, string(kind)), Execution: execution, Job: job, Kind: kind,
						Item: event.NoItem, Time: b.at})
			}
		}
		task := fmt.Sprintf("%s@-@%d@-@READY@-@agent-%03d@-@%s", job, shard, b.random.IntN(100),
			event.ID(execution, fmt.Sprint(i)))
		run := event.Run{
			ID: event.ID(task), Revision: event.Begun, Job: job, Task: task, Execution: execution, Item: shard,
			Attempt: 1, Source: "NORMAL_TRIGGER", State: "RUNNING",
			Agent: "agent-" + fmt.Sprint(b.random.IntN(100)), Host: "host.example.com", IP: "10.1.2.3", Fire: b.at,
			Start: b.at,
		}
		b.begun = append(b.begun, run)
		batch.Runs = append(batch.Runs, run)
		batch.Traces = append(batch.Traces, b.trace(run, "TASK_STAGING", event.FromScheduler),
			b.trace(run, "TASK_STARTING", event.FromExecutor))
	}
	return batch
}

func (b *busy) trace(r event.Run, state, source string) event.Trace {
	return event.Trace{
		ID: event.ID(r.Task, state), Job: r.Job, Task: r.Task, Agent: r.Agent, Source: source, Type: "READY",
		Item: r.Item, State: state,
		Execution: r.Execution, Attempt: 1, Time: b.at,
	}
}

func BenchmarkWrite(b *testing.B) {
	for name, open := range map[string]func(*testing.B) *DB{
		"MariaDB": func(b *testing.B) *DB { return mysqlOf(b, server.Server(b).Database(b)) },
		"SQLite":  func(b *testing.B) *DB { return sqliteOf(b, filepath.Join(b.TempDir(), "history.db")) },
	} {
		b.Run(name, func(b *testing.B) {
			d := open(b)
			migrate(b, d)
			source, rows := newBusy(), 0
			for b.Loop() {
				batch := source.batch()
				rows += batch.Len()
				if lost, err := d.Write(b.Context(), []event.Batch{batch}); err != nil || lost > 0 {
					b.Fatal(lost, err)
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

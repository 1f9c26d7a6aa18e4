package database

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// TestJobsHaveStatistics checks that the statistics of a job are those of its executions, and for a daemon those of
// the runs of its shards.
func TestJobsHaveStatistics(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		var rows event.Rows
		for i := range 1200 { // the newest 1,000 count: 100 failed, 100 were killed, one is running
			at := noon.Add(time.Duration(i) * time.Minute)
			e := event.Execution{ID: fmt.Sprintf("e-%d", i), Revision: event.Ended, Job: "job",
				Source: "NORMAL_TRIGGER", State: "FINISHED", Fire: at, Begin: at,
				End: at.Add(time.Duration(i) * time.Millisecond)}
			switch {
			case i == 1199:
				e.State, e.End = "RUNNING", time.Time{}
			case i%10 == 0:
				e.State, e.Reason = "FAILED", reason.OfItem(i, reason.Of(reason.ServerStopped))
			case i%10 == 1:
				e.State = "KILLED"
			}
			rows.Executions = append(rows.Executions, e)
		}
		rows.Executions = append(rows.Executions,
			event.Execution{ID: "d", Revision: event.Launched, Job: "daemon", Source: "DAEMON", State: "RUNNING",
				Fire: noon})
		for i := range 20 {
			at := noon.Add(time.Duration(i) * time.Second)
			r := event.Run{ID: fmt.Sprintf("r-%d", i), Revision: event.Ended, Job: "daemon", Task: "t", Execution: "d",
				Number: int64(i + 1), Attempt: 1, Source: "NORMAL_TRIGGER", State: "FINISHED", Success: true,
				Start: at, End: at.Add(time.Duration(i+1) * time.Millisecond), Fire: at}
			switch i {
			case 19:
				r.State, r.Success, r.End = "RUNNING", false, time.Time{}
			case 18:
				r.State, r.Success = "KILLED", false
			case 5, 6:
				r.State, r.Success, r.Cause = "TIMED_OUT", false, reason.TimedOut(5*time.Second, 3, reason.Reason{})
			}
			rows.Runs = append(rows.Runs, r)
		}
		sampled := event.Run{ID: "s-1", Revision: event.Ended, Job: "sampled", Task: "t", Execution: "s", Number: 1,
			Attempt: 1, Source: "NORMAL_TRIGGER", State: "FAILED",
			Cause: reason.FromText("boom"), Start: noon, End: noon.Add(time.Second), Fire: noon}
		rows.Runs = append(rows.Runs, sampled)
		for _, job := range []string{"sampled", "tallied"} {
			rows.Executions = append(rows.Executions,
				event.Execution{ID: job, Revision: event.Launched, Job: job, Source: "DAEMON", State: "RUNNING",
					Fire: noon})
			for i := range 2 {
				rows.Tallies = append(rows.Tallies,
					event.Tally{ID: fmt.Sprint(job, i), Job: job, Task: "t", Success: 4, Failed: 1,
						Time: noon.Add(time.Duration(i+5) * time.Second)})
			}
		}
		write(t, d, rows)
		for _, c := range []struct {
			job   string
			since time.Time
			want  string
		}{
			{"job", time.Time{}, `{"jobName":"job","of":"EXECUTIONS","since":"2026-05-04T15:20:00Z","finished":799,"failed":100,"killed":100,"successRate":0.8887652947719689,"durationMillis":{"p50":699,"p95":1149},"lastFailure":{"executionId":"e-1190","fireTime":"2026-05-05T07:50:00Z","completeTime":"2026-05-05T07:50:01.19Z","reason":"item 1190: lost by shutdown of the scheduler","reasonCode":"of_item","reasonArgs":{"cause":{"code":"server_stopped"},"item":"1190"}}}`},
			{"job", noon.Add(1195 * time.Minute), `{"jobName":"job","of":"EXECUTIONS","since":"2026-05-05T07:55:00Z","finished":4,"failed":0,"killed":0,"successRate":1,"durationMillis":{"p50":1196,"p95":1198},"lastFailure":null}`},
			{"daemon", time.Time{}, `{"jobName":"daemon","of":"RUNS","since":"2026-05-04T12:00:00Z","finished":16,"failed":2,"killed":1,"successRate":0.8888888888888888,"durationMillis":{"p50":10,"p95":18},"lastFailure":{"executionId":"d","fireTime":"2026-05-04T12:00:06Z","completeTime":"2026-05-04T12:00:06.007Z","reason":"timed out: it ran for 5s, the job's timeoutSeconds is 3","reasonCode":"timed_out","reasonArgs":{"limitSeconds":"3","ran":"5s"}}}`},
			{"daemon", noon.Add(10 * time.Second), `{"jobName":"daemon","of":"RUNS","since":"2026-05-04T12:00:10Z","finished":8,"failed":0,"killed":1,"successRate":1,"durationMillis":{"p50":14,"p95":18},"lastFailure":null}`},
			{"sampled", time.Time{}, `{"jobName":"sampled","of":"RUNS","since":"2026-05-04T12:00:00Z","finished":8,"failed":3,"killed":0,"successRate":0.7272727272727273,"durationMillis":null,"lastFailure":{"executionId":"s","fireTime":"2026-05-04T12:00:00Z","completeTime":"2026-05-04T12:00:01Z","reason":"boom","reasonCode":"text"}}`},
			{"tallied", noon.Add(6 * time.Second), `{"jobName":"tallied","of":"RUNS","since":"2026-05-04T12:00:06Z","finished":4,"failed":1,"killed":0,"successRate":0.8,"durationMillis":null,"lastFailure":null}`},
			{"none", time.Time{}, `{"jobName":"none","of":"EXECUTIONS","since":null,"finished":0,"failed":0,"killed":0,"successRate":null,"durationMillis":null,"lastFailure":null}`},
		} {
			s, err := d.JobStatistics(t.Context(), c.job, c.since)
			if text, _ := json.Marshal(s); err != nil || string(text) != c.want {
				t.Errorf("%s since %v: %v %s\nwant %s", c.job, c.since, err, text, c.want)
			}
		}
	})
}

// TestStatisticsAreRead checks that the original's tables of statistics are returned unchanged, by period, and that
// missing rows stay missing [D97].
func TestStatisticsAreRead(t *testing.T) {
	t.Parallel()
	eachMigrated(t, func(t *testing.T, d *DB) {
		for _, s := range []string{
			"INSERT INTO TASK_RESULT_STATISTICS_MINUTE (success_count, failed_count, statistics_time, creation_time) VALUES (1, 2, '2026-05-04 12:00:00.000', '2026-05-04 12:01:05.250'), (3, NULL, '2026-05-04 12:02:00.000', NULL)",
			"INSERT INTO TASK_RESULT_STATISTICS_HOUR (success_count, failed_count, statistics_time, creation_time) VALUES (4, 5, '2026-05-04 12:00:00.000', '2026-05-04 12:01:05.250')",
			"INSERT INTO TASK_RESULT_STATISTICS_DAY (success_count, failed_count, statistics_time, creation_time) VALUES (4000000000, 5, '2026-05-04 00:00:00.000', '2026-05-04 12:01:05.250')",
		} {
			if _, err := d.db.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		write(t, d, event.Rows{Samples: []event.Sample{{Of: event.TasksRunning, Value: 7, Time: noon},
			{Of: event.TasksRunning, Value: 8, Time: noon.Add(time.Minute)},
			{Of: event.JobsRunning, Value: 2, Time: noon}, {Of: event.JobsRegistered, Value: 5, Time: noon},
			{Of: event.JobsRegistered, Value: 6, Time: noon.Add(time.Hour)}}})
		ctx := t.Context()
		results := func(i search.Interval, from, until time.Time) func() (any, error) {
			return func() (any, error) { return d.TaskResults(ctx, i, from, until) }
		}
		const first = `{"id":1,"successCount":1,"failedCount":2,"statisticInterval":"MINUTE","statisticsTime":"2026-05-04T12:00:00Z","creationTime":"2026-05-04T12:01:05.25Z"}`
		const second = `{"id":2,"successCount":3,"failedCount":0,"statisticInterval":"MINUTE","statisticsTime":"2026-05-04T12:02:00Z","creationTime":null}`
		for name, c := range map[string]struct {
			read func() (any, error)
			want string
		}{
			"minutes":      {results(search.Minute, time.Time{}, time.Time{}), "[" + first + "," + second + "]"},
			"from":         {results(search.Minute, noon.Add(time.Millisecond), time.Time{}), "[" + second + "]"},
			"one minute":   {results(search.Minute, noon, noon.Add(2*time.Minute)), "[" + first + "]"},
			"no minute":    {results(search.Minute, noon.Add(time.Minute), noon.Add(2*time.Minute)), "[]"},
			"hours":        {results(search.Hour, time.Time{}, time.Time{}), `[{"id":1,"successCount":4,"failedCount":5,"statisticInterval":"HOUR","statisticsTime":"2026-05-04T12:00:00Z","creationTime":"2026-05-04T12:01:05.25Z"}]`},
			"days":         {results(search.Day, time.Time{}, time.Time{}), `[{"id":1,"successCount":4000000000,"failedCount":5,"statisticInterval":"DAY","statisticsTime":"2026-05-04T00:00:00Z","creationTime":"2026-05-04T12:01:05.25Z"}]`},
			"tasks":        {func() (any, error) { return d.TasksRunning(ctx, noon.Add(time.Second)) }, `[{"id":2,"runningCount":8,"statisticsTime":"2026-05-04T12:01:00Z","creationTime":"2026-05-04T12:01:00Z"}]`},
			"jobs":         {func() (any, error) { return d.JobsRunning(ctx, noon) }, `[{"id":1,"runningCount":2,"statisticsTime":"2026-05-04T12:00:00Z","creationTime":"2026-05-04T12:00:00Z"}]`},
			"no jobs":      {func() (any, error) { return d.JobsRunning(ctx, noon.Add(time.Second)) }, `[]`},
			"jobs in days": {func() (any, error) { return d.JobsRegistered(ctx) }, `[{"id":1,"registeredCount":6,"statisticsTime":"2026-05-04T00:00:00Z","creationTime":"2026-05-04T13:00:00Z"}]`},
		} {
			answer, err := c.read()
			if text, _ := json.Marshal(answer); err != nil || string(text) != c.want {
				t.Errorf("%s: %v %s\nwant %s", name, err, text, c.want)
			}
		}
	})
}

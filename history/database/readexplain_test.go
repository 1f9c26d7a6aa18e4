package database

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// fill writes a history of many jobs.
func fill(t testing.TB, d *DB, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		var rows event.Rows
		for i := from; i < min(from+1000, n); i++ {
			at := noon.Add(time.Duration(i) * time.Second)
			id, job, execution := fmt.Sprintf("%d", i), fmt.Sprintf("job-%d", i%50), fmt.Sprintf("execution-%d", i/3)
			task := fmt.Sprintf("%s@-@%d@-@READY@-@S%d@-@%d", job, i%3, i%20, i)
			state := "FINISHED"
			if i%30 == 0 {
				state = "FAILED"
			}
			rows.Runs = append(rows.Runs,
				event.Run{ID: id, Revision: event.Ended, Job: job, Task: task, Execution: execution, Item: i % 3,
					Attempt: 1, Source: "NORMAL_TRIGGER",
					State: state, Success: state == "FINISHED", Agent: fmt.Sprintf("S%d", i%20), Host: "h",
					IP: fmt.Sprintf("10.0.0.%d", i%20), Fire: at, Start: at, End: at.Add(time.Second)})
			rows.Traces = append(rows.Traces,
				event.Trace{ID: id, Job: job, Task: task, Agent: fmt.Sprintf("S%d", i%20),
					Source: []string{event.FromScheduler, event.FromExecutor}[i%2],
					Type:   []string{"READY", "FAILOVER"}[i/7%2], State: []string{"TASK_STAGING", "TASK_RUNNING",
						"TASK_FINISHED"}[i%3], Execution: execution, Time: at})
			rows.Executions = append(rows.Executions,
				event.Execution{ID: "execution-" + id, Revision: event.Ended, Job: job, Source: "NORMAL_TRIGGER",
					State: state, Fire: at, End: at})
			rows.Steps = append(rows.Steps,
				event.Step{ID: id, Execution: execution, Job: job, Kind: event.Waited, Item: event.NoItem, Time: at})
			rows.Audits = append(rows.Audits,
				event.Audit{ID: id, Time: at, Actor: event.Actor{Name: fmt.Sprintf("user-%d", i%20)},
					Action: fmt.Sprintf("job.%d", i%20),
					Target: fmt.Sprintf("target-%d", i%20), TargetName: job, App: fmt.Sprintf("app-%d", i%20)})
			rows.Tallies = append(rows.Tallies, event.Tally{ID: id, Job: job, Task: task, Success: 4, Time: at})
			rows.Samples = append(rows.Samples,
				event.Sample{Of: event.TasksRunning, Value: 1, Time: noon.Add(time.Duration(i) * time.Minute)})
		}
		write(t, d, rows)
	}
}

// TestSearchesUseIndexes checks with EXPLAIN that no documented search reads a whole table or sorts its rows.
func TestSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	values := map[string]string{"jobName": "job-7", "taskId": "job-7@-@1@-@READY@-@S7@-@7", "ip": "10.0.0.7",
		"isSuccess": "false", "executionId": "execution-9", "slaveId": "S7",
		"source": event.FromExecutor, "executionType": "FAILOVER", "state": "TASK_FINISHED"}
	const between = "&startTime=2026-05-04T12:30:00Z&endTime=2026-05-04T12:40:00Z"
	eachMigrated(t, func(t *testing.T, d *DB) {
		if d.dialect.folder == "mysql" {
			fill(t, d, 4000) // MariaDB reads small tables as a whole, which is faster
			rowsFrom(t, d, "ANALYZE TABLE JOB_EXECUTION_LOG, JOB_STATUS_TRACE_LOG, JOB_EXECUTION, JOB_EXECUTION_EVENT, JOB_RUN_TALLY, TASK_RUNNING_STATISTICS, AUDIT_LOG")
		} else {
			fill(t, d, 100) // SQLite decides by the existing indexes
		}
		explainSearches(t, d, &searchedRuns, search.Runs, values, between, "startTime", "completeTime", "jobName",
			"taskId", "ip", "isSuccess")
		explainSearches(t, d, &searchedTraces, search.Traces, values, between, "creationTime", "jobName", "taskId",
			"slaveId", "source", "executionType", "state")

		day := noon.Add(24 * time.Hour)
		for _, c := range []clause{
			runsOf("execution-9"), cellsOf([]string{"execution-9"}),
			cellsOf([]string{"execution-9", "execution-7", "execution-8"}), executionOutcomes("job-7", time.Time{}),
			executionOutcomes("job-7", noon), runOutcomes("job-7", time.Time{}),
			tallied("job-7", time.Time{}), tallied("job-7", noon),
			lastFailedExecution("job-7", time.Time{}), lastFailedRun("job-7", time.Time{}),
			lastFailedRun("job-7", noon),
			momentsOf("execution-9", 1000)[0], momentsOf("execution-9", 1000)[1],
			{storedExecutionByID, []any{"execution-9"}},
			{"SELECT id FROM TASK_RUNNING_STATISTICS WHERE statistics_time >= ? ORDER BY statistics_time", []any{Time{day}}},
		} {
			explain(t, d, c)
		}
		for _, asked := range []search.Audits{{}, {Who: "user-7"}, {Action: "job.7"},
			{Target: "target-7", TargetName: "job-7"}, {Action: "job.7", Target: "target-7", TargetName: "job-7"},
			{Target: "target-7"}, {TargetName: "job-7"}, {App: "app-7"}} {
			for _, before := range []time.Time{{}, noon.Add(time.Hour)} {
				asked.Before, asked.BeforeID, asked.Limit = before, "7", 100
				explain(t, d, listAudits(asked))
				asked.From = noon.Add(30 * time.Minute)
				explain(t, d, listAudits(asked))
			}
		}
		for _, job := range []string{"", "job-7"} {
			for _, state := range []string{"", "FAILED"} {
				for _, since := range []time.Time{{}, noon.Add(time.Hour)} {
					for _, before := range []time.Time{{}, noon.Add(time.Hour)} {
						explain(t, d, listExecutions(search.Executions{Job: job, Since: since, Before: before,
							BeforeID: "execution-9", Limit: 100}, state))
					}
				}
			}
		}
	})
}

// explainSearches explains a search with each filter alone, within a time range, after a cursor, and in each order.
func explainSearches[R any](t *testing.T, d *DB, table *searched[R], of *search.Subject, values map[string]string,
	between string, sorts ...string) {
	t.Helper()
	var queries []string
	for _, p := range of.Parameters() {
		if v, ok := values[p]; ok {
			filter := p + "=" + url.QueryEscape(v)
			queries = append(queries, filter, filter+between, filter+"&order=ASC&page=3", filter+"&jobName=job-7",
				filter+"&jobName=job-7"+between)
		}
	}
	for _, sort := range sorts {
		queries = append(queries, "sort="+sort, "sort="+sort+"&order=DESC", "sort="+sort+"&page=100")
	}
	queries = append(queries, "", between)
	for _, query := range queries {
		asked := question(t, of, query)
		match := table.matching(&asked)
		explain(t, d, table.count(match))
		explain(t, d, table.page(match, table.order(&asked), (asked.Page-1)*asked.PerPage, asked.PerPage+1))
		if asked.SortedByTime() && len(asked.Equal) < 2 {
			asked.After = &search.Cursor{Time: noon.Add(35 * time.Minute), Row: 2100}
			for _, s := range table.partsAfter(&asked) {
				explain(t, d, table.page(and(match, s.match), s.order, 0, 11))
			}
		}
	}
}

// explain checks that the database neither reads a whole table nor sorts rows for a query.
func explain(t *testing.T, d *DB, c clause) {
	t.Helper()
	if d.dialect.folder != "mysql" {
		for _, step := range rowsFrom(t, d, "EXPLAIN QUERY PLAN "+c.text, c.values...) {
			detail := step["detail"].(string)
			byIndex := strings.Contains(detail, "INDEX") || strings.Contains(detail, "PRIMARY KEY")
			reads := strings.HasPrefix(detail, "SCAN ") && !byIndex && !strings.HasPrefix(detail, "SCAN page") &&
				!strings.HasPrefix(detail, "SCAN counted")
			// The page itself may be sorted, which is the sort of the outermost statement.
			sorts := strings.HasPrefix(detail, "USE TEMP B-TREE FOR ORDER BY") &&
				(step["parent"] != int64(0) || !strings.Contains(c.text, " AS page "))
			if reads || sorts {
				t.Errorf("%s %v: %s", c.text, c.values, detail)
			}
		}
		return
	}
	for _, step := range rowsFrom(t, d, "EXPLAIN "+c.text, c.values...) {
		if table, _ := step["table"].(string); table == "" || strings.HasPrefix(table, "<") {
			continue // the sort of a page, or no matching rows
		}
		extra, _ := step["Extra"].(string)
		if step["type"] == "ALL" || strings.Contains(extra, "filesort") || strings.Contains(extra, "temporary") ||
			step["type"] == "index" && strings.Contains(c.text, " WHERE ") {
			t.Errorf("%s %v: %v", c.text, c.values, step)
		}
	}
}

package database

import (
	"encoding/json"
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var benchRows = flag.Int("history.rows", 20_000,
	"how many rows BenchmarkReads has in JOB_EXECUTION_LOG; make bench has 10,000,000")

// bulk are statements that insert n rows over 30 days from noon on, as fast as MariaDB can: of a thousand jobs, one of
// which has a third of all runs; each hundredth run fails.
var bulk = []struct {
	share int // the statement inserts n/share rows; 0: a fixed number
	text  string
}{
	{1, `INSERT INTO JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, execution_source, failure_cause, is_success, start_time, complete_time,
		revision, execution_id, attempt, state, exit_status, agent_id, fire_time)
	SELECT CONCAT('00000000-0000-8000-8000-', seq), job, CONCAT(job, '@-@', seq % 3, '@-@READY@-@agent-', seq % 100, '@-@', seq), CONCAT('node-', seq % 100), CONCAT('10.0.0.', seq % 100), seq % 3,
		'NORMAL_TRIGGER', IF(seq % 100 = 0, 'exit status 3', NULL), seq % 100 <> 0, at, at + INTERVAL 1500000 MICROSECOND, 3, CONCAT(job, '@', seq DIV 3), 1, IF(seq % 100 = 0, 'FAILED', 'FINISHED'),
		IF(seq % 100 = 0, 3, 0), CONCAT('agent-', seq % 100), at
	FROM (SELECT seq, IF(seq % 3 = 0, 'hot', CONCAT('job-', seq % 1000)) AS job, TIMESTAMP('2026-05-04 12:00:00') + INTERVAL (seq * (2592000000000 DIV {rows})) MICROSECOND AS at FROM seq_1_to_{rows}) AS made`},
	{3, `INSERT INTO JOB_EXECUTION (id, revision, job_name, app_name, source, state, reason, fire_time, made_time, launch_time, begin_time, end_time, duration_ms, shards, shard_states)
	SELECT CONCAT(job, '@', seq), 3, job, 'app', 'NORMAL_TRIGGER', IF(seq % 50 = 0, 'FAILED', 'FINISHED'), IF(seq % 50 = 0, 'shard 0 failed', NULL), at, at, at, at, at + INTERVAL 2 SECOND, 2000 + seq % 1000, 3, '{"FINISHED":3}'
	FROM (SELECT seq, IF(seq % 3 = 0, 'hot', CONCAT('job-', seq % 1000)) AS job, TIMESTAMP('2026-05-04 12:00:00') + INTERVAL (seq * (2592000000000 DIV {rows})) MICROSECOND AS at FROM seq_1_to_{rows}) AS made`},
	{10, `INSERT INTO JOB_STATUS_TRACE_LOG (id, job_name, original_task_id, task_id, slave_id, source, execution_type, sharding_item, state, creation_time, execution_id, attempt)
	SELECT CONCAT('00000000-0000-8000-8000-', seq), job, '', CONCAT(job, '@-@', seq % 3, '@-@READY@-@agent-', seq % 100, '@-@', seq DIV 3), CONCAT('agent-', seq % 100), 'CLOUD_EXECUTOR', 'READY', '[0]',
		ELT(1 + seq % 3, 'TASK_STAGING', 'TASK_RUNNING', 'TASK_FINISHED'), at, CONCAT(job, '@', seq DIV 9), 1
	FROM (SELECT seq, IF(seq % 3 = 0, 'hot', CONCAT('job-', seq % 1000)) AS job, TIMESTAMP('2026-05-04 12:00:00') + INTERVAL (seq * (2592000000000 DIV {rows})) MICROSECOND AS at FROM seq_1_to_{rows}) AS made`},
	{0, `INSERT INTO TASK_RESULT_STATISTICS_MINUTE (success_count, failed_count, statistics_time, creation_time)
	SELECT 200, 2, at, at FROM (SELECT TIMESTAMP('2026-05-04 12:00:00') + INTERVAL seq MINUTE AS at FROM seq_0_to_43199) AS made`},
	{0, `INSERT INTO TASK_RESULT_STATISTICS_HOUR (success_count, failed_count, statistics_time, creation_time)
	SELECT 12000, 120, at, at FROM (SELECT TIMESTAMP('2026-05-04 12:00:00') + INTERVAL seq HOUR AS at FROM seq_0_to_719) AS made`},
	{0, `INSERT INTO TASK_RESULT_STATISTICS_DAY (success_count, failed_count, statistics_time, creation_time)
	SELECT 288000, 2880, at, at FROM (SELECT TIMESTAMP('2026-05-04') + INTERVAL seq DAY AS at FROM seq_0_to_30) AS made`},
	{0, `INSERT INTO TASK_RUNNING_STATISTICS (running_count, statistics_time, creation_time) SELECT 100, at, at FROM (SELECT TIMESTAMP('2026-05-04 12:00:00') + INTERVAL seq MINUTE AS at FROM seq_0_to_43199) AS made`},
	{0, `INSERT INTO JOB_RUNNING_STATISTICS (running_count, statistics_time, creation_time) SELECT 50, at, at FROM (SELECT TIMESTAMP('2026-05-04 12:00:00') + INTERVAL seq MINUTE AS at FROM seq_0_to_43199) AS made`},
	{0, `INSERT INTO JOB_REGISTER_STATISTICS (registered_count, statistics_time, creation_time) SELECT 1001, at, at FROM (SELECT TIMESTAMP('2026-05-04') + INTERVAL seq DAY AS at FROM seq_0_to_30) AS made`},
}

// bulkFill fills a database with 30 days of history. It takes minutes for ten million rows.
func bulkFill(b *testing.B, n int) *DB {
	d := mysqlOf(b, mariadb.Start(b, "--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G").Database(b))
	migrate(b, d)
	conn, err := d.db.Connx(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	// MariaDB builds the indexes of an empty table from sorted rows then.
	texts := []string{"SET unique_checks = 0, foreign_key_checks = 0"}
	for _, s := range bulk {
		texts = append(texts, strings.ReplaceAll(s.text, "{rows}", strconv.Itoa(max(n/max(s.share, 1), 1))))
	}
	texts = append(texts, "ANALYZE TABLE JOB_EXECUTION_LOG, JOB_EXECUTION, JOB_STATUS_TRACE_LOG, TASK_RUNNING_STATISTICS, JOB_RUNNING_STATISTICS, TASK_RESULT_STATISTICS_MINUTE")
	for _, text := range texts {
		began := time.Now()
		if _, err := conn.ExecContext(b.Context(), text); err != nil {
			b.Fatalf("%.80s: %v", text, err)
		}
		b.Logf("%8.1f s  %.60s", time.Since(began).Seconds(), text)
	}
	return d
}

// BenchmarkReads measures searches and the queries of a dashboard, with many rows in MariaDB, including the JSON. It
// reports medians.
func BenchmarkReads(b *testing.B) {
	d := bulkFill(b, *benchRows)
	end := noon.Add(30 * 24 * time.Hour)
	lastDay := "startTime=" + end.Add(-24*time.Hour).Format(time.RFC3339)
	runs := func(query string) func() (any, error) {
		q := question(b, search.Runs, query)
		return func() (any, error) { return d.Runs(b.Context(), q) }
	}
	firstPage, err := d.Runs(b.Context(), question(b, search.Runs, "page=10000"))
	if err != nil {
		b.Fatal(err)
	}
	deep := runs("")
	if firstPage.Next != "" { // only with many rows
		deep = runs("after=" + firstPage.Next)
	}
	dashboard := []func() (any, error){
		func() (any, error) {
			return d.TaskResults(b.Context(), search.Minute, end.Add(-24*time.Hour), time.Time{})
		},
		func() (any, error) { return d.TaskResults(b.Context(), search.Day, time.Time{}, time.Time{}) },
		func() (any, error) {
			return d.TaskResults(b.Context(), search.Day, end.Add(-8*24*time.Hour), time.Time{})
		},
		func() (any, error) {
			return d.TaskResults(b.Context(), search.Hour, end.Add(-2*time.Hour), end.Add(-time.Hour))
		},
		func() (any, error) {
			return d.TaskResults(b.Context(), search.Minute, end.Add(-2*time.Minute), end.Add(-time.Minute))
		},
		func() (any, error) { return d.TasksRunning(b.Context(), end.Add(-7*24*time.Hour)) },
		func() (any, error) { return d.JobsRunning(b.Context(), end.Add(-7*24*time.Hour)) },
		func() (any, error) { return d.JobsRegistered(b.Context()) },
		runs(""),
	}
	for _, c := range []struct {
		name  string
		reads []func() (any, error)
	}{
		{"first_page", []func() (any, error){runs("")}},
		{"of_a_job", []func() (any, error){runs("jobName=job-77")}},
		{"of_a_job_with_a_third_of_all", []func() (any, error){runs("jobName=hot")}},
		{"failed", []func() (any, error){runs("isSuccess=false")}},
		{"succeeded", []func() (any, error){runs("isSuccess=true")}},
		{"failed_of_a_job", []func() (any, error){runs("jobName=hot&isSuccess=false")}},
		{"of_a_job_and_a_host_in_a_day", []func() (any, error){runs("jobName=hot&ip=10.0.0.9&" + lastDay)}},
		{"of_a_task", []func() (any, error){runs("taskId=hot@-@0@-@READY@-@agent-99@-@999")}},
		{"page_of_500", []func() (any, error){runs("jobName=hot&per_page=500&page=200")}},
		{"behind_100000_rows", []func() (any, error){deep}},
		{"traces_of_a_state", []func() (any, error){func() (any, error) {
			return d.Traces(b.Context(), question(b, search.Traces, "state=TASK_RUNNING&jobName=hot"))
		}}},
		{"executions", []func() (any, error){func() (any, error) { return d.Executions(b.Context(), search.Executions{Job: "hot", Limit: 100}) }}},
		{"failed_executions", []func() (any, error){func() (any, error) {
			return d.Executions(b.Context(), search.Executions{States: []string{"FAILED", "KILLED"}, Limit: 100})
		}}},
		{"grid_of_200", []func() (any, error){func() (any, error) {
			list, err := d.Executions(b.Context(), search.Executions{Job: "hot", Limit: 200})
			var ids []string
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			if err != nil {
				return nil, err
			}
			return d.Cells(b.Context(), ids)
		}}},
		{"statistics_of_a_job", []func() (any, error){func() (any, error) { return d.JobStatistics(b.Context(), "hot", time.Time{}) }}},
		{"dashboard", dashboard},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				for _, read := range c.reads {
					answer, err := read()
					if err == nil {
						_, err = json.Marshal(answer)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms-median")
		})
	}
}

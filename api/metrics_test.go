package api_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/metrics"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// someStats returns statistics with a value of each kind.
func someStats() stats.Stats {
	st := stats.New()
	st.Leading, st.Term, st.Jobs, st.Fires, st.TasksLost, st.ExecutionsKilled, st.JobsWithoutMetrics = true, 7, 3, 12,
		2, 6, 4
	st.Ready, st.ExecutionsBlocked, st.Daemon.Depth = stats.Queue{Depth: 3, Oldest: time.Minute}, 8, 5
	st.OfJobs = []stats.JobStats{{Job: "a.job", LastSuccess: noon, LastDuration: 1500 * time.Millisecond, Finished: 3,
		Failed: 2}, {Job: "new", Killed: 1}}
	st.MachinesSilent, st.MachinesCordoned, st.JobsBlocked = 2, 1, 4
	for _, seconds := range []float64{0.001, 1.5, 400} {
		st.FireDelay.Observe(seconds)
	}
	return st
}

func someHistory() metrics.HistoryStats {
	return metrics.HistoryStats{RowsWaiting: 11, OldestAge: 90 * time.Second, BytesWaiting: 2000, MaxBytes: 1 << 32,
		RowsWritten: 40,
		RowsLost:    metrics.LostRows{OutboxFull: 1, OutboxFailed: 2, Refused: 3}}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.stats = someStats()
	b.place("t1", false)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: f, Version: "v1", HistoryStats: someHistory})
	call(t, server, "GET", "/api/job/jobs/any", "")
	call(t, server, "GET", "/api/job/jobs/other", "")
	call(t, server, "BREW", "/coffee", "")
	call(t, server, "GET", "/api/task/t1/logs?follow=true", "")
	_, text := call(t, server, "GET", "/metrics", "")
	for _, want := range []string{
		"elasticjob_leading 1", "elasticjob_subscribed 0", "elasticjob_term 7", "elasticjob_jobs 3",
		"elasticjob_fires_total 12",
		`elasticjob_tasks_ended_total{result="LOST"} 2`, `elasticjob_tasks_ended_total{result="TIMED_OUT"} 0`,
		`elasticjob_executions_ended_total{result="KILLED"} 6`,
		"elasticjob_machines_silent 2", "elasticjob_machines_cordoned 1", "elasticjob_jobs_blocked 4",
		`elasticjob_executions_waiting{queue="ready"} 3`, `elasticjob_executions_waiting{queue="blocked"} 8`,
		`elasticjob_shards_waiting{queue="daemon"} 5`,
		`elasticjob_oldest_wait_seconds{queue="ready"} 60`, `elasticjob_oldest_wait_seconds{queue="retry"} 0`,
		`elasticjob_build_info{version="v1"} 1`,
		"elasticjob_history_database_up 0", "elasticjob_history_backlog_rows 11",
		"elasticjob_history_backlog_oldest_seconds 90", "elasticjob_history_rows_written_total 40",
		`elasticjob_history_rows_lost_total{cause="refused"} 3`,
		`elasticjob_history_rows_lost_total{cause="outbox_full"} 1`,
		"# TYPE elasticjob_fires_total counter", "# TYPE elasticjob_jobs gauge",
		"# TYPE elasticjob_fire_delay_seconds histogram",
		`elasticjob_fire_delay_seconds_bucket{le="0.0025"} 1`, `elasticjob_fire_delay_seconds_bucket{le="0.01"} 1`,
		`elasticjob_fire_delay_seconds_bucket{le="300"} 2`,
		`elasticjob_fire_delay_seconds_bucket{le="+Inf"} 3`, "elasticjob_fire_delay_seconds_sum 401.501",
		"elasticjob_fire_delay_seconds_count 3",
		`elasticjob_http_request_duration_seconds_count{method="GET",route="/api/job/jobs/{jobName}",status="404"} 2`,
		`elasticjob_http_request_duration_seconds_count{method="other",route="none",status="404"} 1`,
		"elasticjob_jobs_without_metrics 4",
		`elasticjob_job_last_success_timestamp_seconds{job_name="a.job"} 1.7776368e+09`,
		`elasticjob_job_last_duration_seconds{job_name="a.job"} 1.5`,
		`elasticjob_job_runs_total{job_name="a.job",result="FINISHED"} 3`,
		`elasticjob_job_runs_total{job_name="a.job",result="FAILED"} 2`,
		`elasticjob_job_runs_total{job_name="new",result="KILLED"} 1`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, `timestamp_seconds{job_name="new"}`) ||
		strings.Contains(text, `duration_seconds{job_name="new"}`) {
		t.Error("a job without a run has numbers of one")
	}
	if strings.Contains(text, `route="/api/task/{taskId}/logs"`) {
		t.Error("following is measured")
	}
	for _, family := range regexp.MustCompile(`(?m)^# TYPE (elasticjob_\S+)`).FindAllStringSubmatch(text, -1) {
		if help := regexp.MustCompile(`(?m)^# HELP ` + family[1] + ` .{10,}`); !help.MatchString(text) {
			t.Errorf("%s has no help", family[1])
		}
	}
}

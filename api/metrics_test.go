package api_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.stats = core.Stats{Leading: true, Term: 7, Jobs: 3, Fires: 12, TasksLost: 2, JobsWithoutMetrics: 4,
		OfJobs:         []core.JobStats{{Job: "a.job", LastSuccess: noon, LastDuration: 1500 * time.Millisecond, Finished: 3, Failed: 2}, {Job: "new", Killed: 1}},
		FireDelayCount: 5, FireDelaySum: 1.5,
		FireDelayBuckets: []int64{1, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5}}
	b.place("t1", false)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	call(t, server, "GET", "/api/job/jobs/any", "")
	call(t, server, "GET", "/api/job/jobs/other", "")
	call(t, server, "BREW", "/coffee", "")
	call(t, server, "GET", "/api/task/t1/logs?follow=true", "")
	_, text := call(t, server, "GET", "/metrics", "")
	for _, want := range []string{
		"elasticjob_leading 1", "elasticjob_subscribed 0", "elasticjob_term 7", "elasticjob_jobs 3", "elasticjob_fires_total 12", "elasticjob_tasks_lost_total 2",
		"# TYPE elasticjob_fires_total counter", "# TYPE elasticjob_jobs gauge", "# TYPE elasticjob_fire_delay_seconds histogram",
		`elasticjob_fire_delay_seconds_bucket{le="0.0025"} 1`, `elasticjob_fire_delay_seconds_bucket{le="0.01"} 3`, `elasticjob_fire_delay_seconds_bucket{le="120"} 5`,
		`elasticjob_fire_delay_seconds_bucket{le="+Inf"} 5`, "elasticjob_fire_delay_seconds_sum 1.5", "elasticjob_fire_delay_seconds_count 5",
		`elasticjob_http_request_duration_seconds_count{method="GET",route="/api/job/jobs/{jobName}",status="404"} 2`,
		`elasticjob_http_request_duration_seconds_count{method="other",route="none",status="404"} 1`,
		"elasticjob_jobs_without_metrics 4", `elasticjob_job_last_success_timestamp_seconds{job="a.job"} 1.7776368e+09`, `elasticjob_job_last_duration_seconds{job="a.job"} 1.5`,
		`elasticjob_job_runs_total{job="a.job",result="FINISHED"} 3`, `elasticjob_job_runs_total{job="a.job",result="FAILED"} 2`, `elasticjob_job_runs_total{job="new",result="KILLED"} 1`,
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, `timestamp_seconds{job="new"}`) || strings.Contains(text, `duration_seconds{job="new"}`) {
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

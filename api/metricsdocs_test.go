package api_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

// metricSections are the sections of docs/metrics.md, each with the names of its metrics without elasticjob_.
var metricSections = []struct{ title, metrics string }{
	{"Leader and cluster", "leading subscribed term subscriptions_total kubernetes_requests_throttled_total build_info"},
	{"Jobs and fires", `apps jobs documents_bytes documents_limit_bytes documents_largest_app_bytes documents_per_app_limit_bytes
		fires_total fires_dropped_total fires_missed_total triggers_total fire_delay_seconds fire_begin_delay_seconds`},
	{"Queues", "executions_waiting shards_waiting oldest_wait_seconds execution_wait_seconds"},
	{"Executions, tasks, runs", `executions_running executions_ended_total execution_run_seconds tasks_running tasks_launched_total tasks_ended_total
		tasks_requeued_total task_run_seconds daemon_runs_total daemon_runs_failed_total daemon_run_seconds status_updates_total executors_running`},
	{"Machines", "machines_silent machines_cordoned jobs_blocked"},
	{"Offers", "offers_held offers_received_total offers_declined_total"},
	{"Registry", "commit_duration_seconds commit_writes commit_events commits_failed_total"},
	{"History", `history_database_up history_backlog_rows history_backlog_bytes history_backlog_limit_bytes history_backlog_oldest_seconds
		history_rows_written_total history_rows_lost_total`},
	{"Notifications and API", `notifications_pending notifications_sent_total notifications_failed_total http_request_duration_seconds event_streams
		tls_certificate_expiry_timestamp_seconds`},
	{"Single jobs", "job_last_success_timestamp_seconds job_last_duration_seconds job_runs_total jobs_without_metrics"},
}

// TestReferenceOfMetrics: docs/metrics.md has exactly the metrics that a server with a value for everything serves.
func TestReferenceOfMetrics(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.stats = someStats()
	server := start(t, api.Options{Scheduler: b, HistoryStats: someHistory, Throttled: func() int64 { return 7 },
		TLS: keep(t, certificates.New(t))})
	call(t, server, "GET", "/api/job/jobs/any", "")
	_, scrape := call(t, server, "GET", "/metrics", "")
	rows := map[string]string{}
	family := regexp.MustCompile(`(?m)^# HELP (elasticjob_\S+) (.+)\n# TYPE \S+ (\S+)$`)
	for _, f := range family.FindAllStringSubmatch(scrape, -1) {
		name, help, kind := f[1], f[2], f[3]
		sample := regexp.MustCompile(`(?m)^` + name + `(?:_bucket)?(?:\{(.*)\})? \S+$`).FindStringSubmatch(scrape)
		if sample == nil {
			t.Errorf("%s has no series", name)
			continue
		}
		var labels []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(sample[1], -1) {
			if l[1] != "le" {
				labels = append(labels, "`"+l[1]+"`")
			}
		}
		slices.Sort(labels)
		cells := []string{"`" + name + "`", kind, strings.Join(labels, ", "), reference.Cell(help)}
		rows[name] = strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |\n", "|  |", "| |")
	}
	const file = "../docs/metrics.md"
	served := map[string]bool{}
	for _, section := range metricSections {
		table := "| name | type | labels | what it is |\n|---|---|---|---|\n"
		for _, name := range strings.Fields(section.metrics) {
			name = "elasticjob_" + name
			if rows[name] == "" {
				t.Errorf("%s is in a section, and is not served", name)
			}
			table += rows[name]
			served[name] = true
		}
		reference.Check(t, file, section.title, table)
	}
	for name := range rows {
		if !served[name] {
			t.Errorf("%s is served, and in no section", name)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("elasticjob_[a-z_]+[a-z]").FindAllString(string(text), -1) {
		if !served[strings.TrimSuffix(name, "_bucket")] {
			t.Errorf("docs/metrics.md has %s, which is not served", name)
		}
	}
}

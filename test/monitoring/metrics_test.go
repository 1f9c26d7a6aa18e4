package monitoring_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestSeriesAreBounded: with many jobs, tasks and requests for unknown objects, a server has the same series as with
// few, plus those that --job-metrics and the table of routes permit. No series contains an id.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin, "--job-metrics", "3")
	m.Start()
	work(m, 1)
	few := m.OK("GET", "/metrics", "")
	const many = 40
	var ids []string
	for i := range many {
		name := fmt.Sprintf("later_%d", i)
		m.Job(name, "a", system.Doc{"shardingTotalCount": 2})
		ids = append(ids, m.Trigger(name))
	}
	for i, id := range ids {
		for _, s := range m.Await(id, "FINISHED").Shards {
			ids = append(ids, s.TaskID)
		}
		m.Call("GET", fmt.Sprintf("/api/job/jobs/none_%d", i), "")
		m.Call("POST", fmt.Sprintf("/api/none_%d/%d", i, i), "")
		m.Call(fmt.Sprintf("METHOD%d", i), "/api/job/jobs", "")
		m.Call("GET", "/api/execution/"+id, "")
	}
	m.Until("the last run has been counted", func() string {
		if n := m.Metric(`elasticjob_executions_ended_total{result="FINISHED"}`); n != fmt.Sprint(1+many) {
			return n + " runs"
		}
		return ""
	})
	after := m.OK("GET", "/metrics", "")
	promtool(t, after, "check", "metrics")

	series := func(scrape string, ofJobsAndRoutes bool) (all []string) {
		for line := range strings.Lines(scrape) {
			name := line[:strings.LastIndex(line, " ")]
			if strings.HasPrefix(name, "elasticjob_") &&
				ofJobsAndRoutes == (strings.HasPrefix(name, "elasticjob_job_") ||
					strings.HasPrefix(name, "elasticjob_http_")) {
				all = append(all, name)
			}
		}
		return all
	}
	if diff := cmp.Diff(series(few, false), series(after, false)); diff != "" {
		t.Errorf("series have come or gone: %s", diff)
	}
	labels := map[string][]string{}
	for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(strings.Join(series(after, true),
		"\n"), -1) {
		if !slices.Contains(labels[l[1]], l[2]) {
			labels[l[1]] = append(labels[l[1]], l[2])
		}
	}
	if n := len(labels["job_name"]); n != 3 {
		t.Errorf("there are series of %d jobs, want 3: %q", n, labels["job_name"])
	}
	documented := read(t, "docs/api.md")
	for _, route := range labels["route"] {
		if route != "none" && !strings.Contains(documented, " "+route) {
			t.Errorf("a series for %s, which is no route", route)
		}
	}
	for _, method := range labels["method"] {
		if !slices.Contains([]string{"GET", "POST", "other"}, method) {
			t.Errorf("a series for the method %s", method)
		}
	}
	for _, id := range ids {
		if strings.Contains(after, id) {
			t.Errorf("%s is in the metrics", id)
		}
	}
}

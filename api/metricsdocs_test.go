package api_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/test/certificates"
)

// TestDocsNameEveryMetric of a server that has something of everything, and no other, with its type and its labels.
func TestDocsNameEveryMetric(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.stats = someStats()
	server := start(t, api.Options{Scheduler: b, HistoryStats: someHistory, TLS: keep(t, certificates.New(t))})
	call(t, server, "GET", "/api/job/jobs/any", "")
	_, scrape := call(t, server, "GET", "/metrics", "")
	served := map[string]string{}
	for _, f := range regexp.MustCompile(`(?m)^# TYPE (elasticjob_\S+) (\S+)$`).FindAllStringSubmatch(scrape, -1) {
		name, kind := f[1], f[2]
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
		served[name] = kind + " " + strings.Join(labels, ", ")
	}
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(elasticjob_[a-z_]+)` \\| (\\w+) \\| (.*?) ?\\| .+ \\|$").FindAllStringSubmatch(string(text), -1) {
		if documented[row[1]] != "" {
			t.Errorf("docs/metrics.md has %s twice", row[1])
		}
		documented[row[1]] = row[2] + " " + row[3]
	}
	for name, want := range served {
		if got := documented[name]; got != want {
			t.Errorf("docs/metrics.md says of %s %q, the server %q", name, got, want)
		}
	}
	for _, name := range regexp.MustCompile("elasticjob_[a-z_]+[a-z]").FindAllString(string(text), -1) {
		name = strings.TrimSuffix(name, "_bucket")
		if served[name] == "" {
			t.Errorf("docs/metrics.md has %s, the server has only %v", name, slices.Sorted(maps.Keys(served)))
		}
	}
}

package api_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestDocsNameEveryRoute: the documents name exactly the existing routes, and all reserved names.
func TestDocsNameEveryRoute(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:GET|POST|PUT|DELETE) /[^`?]*)`").FindAllStringSubmatch(string(text), -1)
	var documented []string
	for _, n := range named {
		documented = append(documented, n[1])
		if !slices.Contains(api.RouteNames(), n[1]) {
			t.Errorf("docs/api.md has %s, the router has not", n[1])
		}
	}
	for _, route := range api.RouteNames() {
		if !slices.Contains(documented, route) {
			t.Errorf("docs/api.md lacks %s", route)
		}
	}
	for _, name := range slices.Concat(api.ReservedAppNames(), api.ReservedJobNames()) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/api.md lacks the reserved name %s", name)
		}
	}
}

// TestDocsNameEverySetting: the documents name every field of an app's and a job's document.
func TestDocsNameEverySetting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range slices.Concat(app.Schema.Fields(), jobs.Schema.Fields()) {
		if !strings.Contains(string(text), "`"+field+"`") {
			t.Errorf("docs/api.md lacks the setting %s", field)
		}
	}
}

// TestDocsNameNoOtherRoute checks the routes in the sentences of all documents.
func TestDocsNameNoOtherRoute(t *testing.T) {
	t.Parallel()
	route, named := regexp.MustCompile("`((?:GET|POST|PUT|DELETE) /[^`?]*)"), 0
	for _, path := range reference.Documents(t, "..") {
		text, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range route.FindAllStringSubmatch(string(text), -1) {
			if named++; !slices.Contains(api.RouteNames(), n[1]) {
				t.Errorf("%s has %s, the router has not", path, n[1])
			}
		}
	}
	if named < 200 {
		t.Errorf("only %d were found", named)
	}
}

// TestDocsShowWhatIsAnswered compares the examples in docs/api.md with the types of answers.
func TestDocsShowWhatIsAnswered(t *testing.T) {
	t.Parallel()
	// A string or a time that the example leaves out may have any value.
	short := strings.NewReplacer(",…", "", "{…}", "{}", `"…"`, `"2026-05-01T12:00:00Z"`)
	for holds, as := range map[string]any{
		`"droppedFires":{`:         &views.Explanation{},
		`"daemon":{"nextFireTime"`: &struct{ Daemon views.DaemonView }{},
		`[{"hostname":"…"`:         &[]views.SandboxView{},
	} {
		text := short.Replace(reference.Block(t, "../docs/api.md", holds))
		if strings.HasPrefix(text, `"`) {
			text = "{" + text + "}"
		}
		shown := json.NewDecoder(strings.NewReader(text))
		shown.DisallowUnknownFields()
		if err := shown.Decode(as); err != nil {
			t.Errorf("%v in %s", err, text)
		}
	}
}

// TestInstallRunsTheExample checks the app and the job that docs/install.md lets its readers try on a cluster. The
// script must be in the package that servers have, and each run must end before the next fire, because dropped fires
// raise an alert.
func TestInstallRunsTheExample(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	var example struct {
		App  struct{ AppURL, BootstrapScript string }
		Jobs []struct{ Cron string }
	}
	_, text := call(t, server, "GET", "/api/example", "")
	if err := json.Unmarshal([]byte(text), &example); err != nil || len(example.Jobs) == 0 {
		t.Fatal(err, text)
	}
	block := reference.Block(t, "../docs/install.md", "docker compose up")
	bodies := regexp.MustCompile(`-d '(\{.*?\})'`).FindAllStringSubmatch(block, -1)
	if len(bodies) != 2 {
		t.Fatalf("%q, want an app and a job", bodies)
	}
	var app struct{ AppURL, BootstrapScript string }
	if err := json.Unmarshal([]byte(bodies[0][1]), &app); err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(example.App.AppURL, "/artifacts/")
	if !strings.HasSuffix(app.AppURL, "/artifacts/"+path) || app.BootstrapScript != example.App.BootstrapScript {
		t.Errorf("the app is %+v, want the script %s of the package %s", app, example.App.BootstrapScript, path)
	}
	job, _, err := jobs.Schema.Decode([]byte(bodies[1][1]), jobs.Default())
	if err != nil {
		t.Fatal(err)
	}
	if job.Cron != example.Jobs[0].Cron {
		t.Errorf("the cron is %q, want %q of the example, whose runs take ten seconds", job.Cron, example.Jobs[0].Cron)
	}
	if bad, _ := job.Check(jobs.CheckOptions{}); len(bad) > 0 {
		t.Error(bad)
	}
}

package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

func TestD15FaultyDocumentsAreListed(t *testing.T) {
	t.Parallel()
	found := []views.FaultyView{{Path: "/config/job/a", Kind: "job", Name: "a",
		Why: views.Why{Reason: "its jobName is \"b\""}, Since: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		LastGood: true}}
	for _, test := range []struct {
		found []views.FaultyView
		root  string
		want  string
	}{
		{nil, "/ej", "[]"},
		{found, "/ej", `[{"path":"/ej/config/job/a","kind":"job","name":"a","reason":"its jobName is \"b\"","since":"2026-05-01T12:00:00Z","lastGood":true}]`},
		{found, "", `[{"path":"/config/job/a","kind":"job","name":"a","reason":"its jobName is \"b\"","since":"2026-05-01T12:00:00Z","lastGood":true}]`},
	} {
		b := newFakeScheduler()
		b.faulty = test.found
		server := start(t, api.Options{Scheduler: b, Logs: &files{}, RegistryRoot: test.root})
		if _, body := call(t, server, "GET", "/api/operate/faulty", ""); strings.TrimSpace(body) != test.want {
			t.Errorf("got %s\nwant %s", body, test.want)
		}
	}
}

// The answer to a request for an app or a job whose document cannot be used has the status 404 as for a missing one,
// but its message gives the reason.
func TestD15FaultyDocumentsAreExplained(t *testing.T) {
	t.Parallel()
	found := []views.FaultyView{{Path: "/config/job/bj", Kind: "job", Name: "bj", Why: views.Why{Reason: "no YAML"}},
		{Path: "/config/app/ba", Kind: "app", Name: "ba", Why: views.Why{Reason: "no JSON"}}}
	b := newFakeScheduler()
	b.faulty = found
	server := start(t, api.Options{Scheduler: b, Logs: &files{}, RegistryRoot: "/ej"})
	const job, app = `the job \"bj\" is in the registry and can't be used: /ej/config/job/bj: no YAML; GET /api/operate/faulty`, `the app \"ba\" is in the registry and can't be used: /ej/config/app/ba: no JSON; GET /api/operate/faulty`
	for _, test := range []struct{ method, path, body, code, want string }{
		{"GET", "/api/job/jobs/bj", "", "job_not_found", job},
		{"GET", "/api/job/bj/disable", "", "job_not_found", job},
		{"POST", "/api/job/bj/trigger", "", "job_not_found", job},
		{"POST", "/api/job/trigger", "bj", "job_not_found", job},
		{"PUT", "/api/job/update", `{"jobName":"bj"}`, "job_not_found", job},
		{"GET", "/api/app/ba", "", "app_not_found", app},
		{"PUT", "/api/app", `{"appName":"ba"}`, "app_not_found", app},
		{"GET", "/api/job/jobs/ba", "", "job_not_found", "there is no job"},
		{"GET", "/api/app/bj", "", "app_not_found", "there is no app"},
	} {
		answer, text := call(t, server, test.method, test.path, test.body)
		if e := readError(t, answer, text); answer.StatusCode != 404 || e.Error.Code != test.code ||
			!strings.Contains(text, test.want) {
			t.Errorf("%s %s: %d %s\nwant %s", test.method, test.path, answer.StatusCode, text, test.want)
		}
	}
}

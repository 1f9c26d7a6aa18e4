package api_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

// For a path without a route the answer suggests the route that was meant, and none rather than an absurd one.
func TestNearestRoute(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	for given, want := range map[string]string{
		"POST /api/job/regster":            "POST /api/job/register",
		"GET /api/apps/list":               "GET /api/app/list",
		"GET /job/jobs":                    "GET /api/job/jobs",
		"GET /api/job/my_job":              "GET /api/job/jobs/{jobName}",
		"POST /api/my_job/trigger":         "POST /api/job/{jobName}/trigger",
		"POST /api/job/my_job/triger":      "POST /api/job/{jobName}/trigger",
		"DELETE /api/job/my_job":           "",
		"GET /api/execution":               "GET /api/executions",
		"POST /api/job/trigger/my_job/now": "",
		"GET /api/tasks/x/logs":            "GET /api/task/{taskId}/logs",
		"GET /metric":                      "GET /metrics",
		"GET /api":                         "",
		"GET /coffee":                      "",
		"GET /favicon.ico":                 "",
		"GET /api/v1/scheduler":            "",
		"PUT /api/job/my_job":              "",
		"POST /api/jobs/my_job/executions": "",
		"POST /api/job/my_job":             "",
		"GET /api/users":                   "",
		"GET /api/job/x/y/z/list":          "",
		"DELETE /api/execution/x":          "",
	} {
		method, path, _ := strings.Cut(given, " ")
		_, text := call(t, server, method, path, "")
		_, got, _ := strings.Cut(text, "did you mean ")
		got, _, _ = strings.Cut(got, "?\"")
		if got = strings.TrimSuffix(got, "?"); got != want {
			t.Errorf("%s: %q, want %q: %s", given, got, want, text)
		}
	}
}

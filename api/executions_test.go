package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// The parameters of a list become the filter of the executions, and one answer reports all wrong parameters.
func TestListsOfExecutions(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b, Now: func() time.Time { return noon }})
	call(t, server, "POST", "/api/app", appDocument)
	call(t, server, "POST", "/api/job/register", jobDocument)
	for path, want := range map[string]views.ExecutionFilter{
		"/api/executions":                                                      {Limit: 100},
		"/api/executions?job=a.job&limit=1000":                                 {Job: "a.job", Limit: 1000},
		"/api/executions?state=FAILED":                                         {States: []executions.State{executions.Failed}, Limit: 100},
		"/api/executions?state=waiting,%20Running":                             {States: []executions.State{executions.Waiting, executions.Running}, Limit: 100},
		"/api/executions?since=2026-04-30T12:00:00%2B02:00":                    {Since: noon.Add(-26 * time.Hour), Limit: 100},
		"/api/job/my_job/executions":                                           {Job: "my_job", MustExist: true, Limit: 100},
		"/api/job/my_job/executions?since=90m&state=KILLED&limit=1":            {Job: "my_job", MustExist: true, States: []executions.State{executions.Killed}, Since: noon.Add(-90 * time.Minute), Limit: 1},
		"/api/job/my_job/executions?state=FINISHED&since=2026-04-30T00:00:00Z": {Job: "my_job", MustExist: true, States: []executions.State{executions.Finished}, Since: noon.Add(-36 * time.Hour), Limit: 100},
	} {
		answer, text := call(t, server, "GET", path, "")
		b.mu.Lock()
		got := b.filters
		b.filters = nil
		b.mu.Unlock()
		if answer.StatusCode != http.StatusOK || len(got) != 1 {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
			continue
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	for path, fields := range map[string][]string{
		"/api/executions?job=a%20b&state=LOST&since=yesterday&limit=0&page=2": {"page", "job", "state", "since", "limit"},
		"/api/executions?limit=1001":                                          {"limit"},
		"/api/executions?limit=ten&since=-5m":                                 {"since", "limit"},
		"/api/executions?job=&since=":                                         {"job", "since"},
		"/api/job/my_job/executions?state=FAILED,&state=x&job=my_job":         {"job", "state", "state"},
	} {
		answer, text := call(t, server, "GET", path, "")
		var got []string
		for _, f := range readError(t, answer, text).Error.Fields {
			got = append(got, f.Field)
		}
		if diff := cmp.Diff(fields, got); diff != "" || answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s %s", path, answer.StatusCode, text, diff)
		}
	}
	if answer, text := call(t, server, "GET", "/api/job/none/executions", ""); readError(t, answer,
		text).Error.Code != "job_not_found" {
		t.Error(text)
	}
}

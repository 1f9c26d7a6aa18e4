package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// TestGrid: the grid has the executions that the scheduler keeps and, beyond those, the stored ones, the oldest first.
func TestGrid(t *testing.T) {
	t.Parallel()
	b, took := newFakeScheduler(), int64(880)
	b.add("my_app", "my_job")
	later := func(millis int) *time.Time {
		at := noon.Add(time.Duration(millis) * time.Millisecond)
		return &at
	}
	b.lists = []views.ExecutionSummary{
		{ExecutionID: "e4", JobName: "my_job", FireTime: noon.Add(2 * time.Second), Source: executions.Triggered, State: executions.Waiting, Shards: map[executions.State]int{}},
		{ExecutionID: "e3", JobName: "my_job", FireTime: noon.Add(time.Second), Source: executions.NormalTrigger, State: executions.Running, Shards: map[executions.State]int{executions.Running: 201}, LaunchTime: later(1000)},
		{ExecutionID: "e2", JobName: "my_job", FireTime: noon, Source: executions.NormalTrigger, State: executions.Finished, Shards: map[executions.State]int{executions.Finished: 1},
			LaunchTime: later(4), StartTime: later(100), CompleteTime: later(1000)},
	}
	b.cells = map[string][]search.Cell{"e4": {},
		"e2": {{Item: 0, State: "FINISHED", DurationMillis: &took, Attempt: 1, TaskID: "t2"}}}
	h := &fakeHistory{executions: []search.Execution{
		{ID: "e2", Job: "my_job", Source: "NORMAL_TRIGGER", State: "RUNNING", Fire: at(noon)},
		{ID: "e1", Job: "my_job", Source: "NORMAL_TRIGGER", State: "FAILED", Fire: at(noon.Add(-time.Second)), Launch: at(noon), States: map[string]int{"FAILED": 1, "FINISHED": 1}},
		{ID: "e0", Job: "my_job", Source: "DAEMON", State: "KILLED", Fire: at(noon.Add(-time.Minute)), States: map[string]int{"KILLED": 1}},
	}, cells: map[string][]search.Cell{"e1": {{Item: 0, State: "FAILED", Attempt: 2, TaskID: "t0"},
		{Item: 1, State: "FINISHED", Attempt: 1, TaskID: "t1"}}}}
	server := start(t, api.Options{Scheduler: b, History: h})
	e0 := `{"executionId":"e0","fireTime":"2026-05-01T11:59:00Z","source":"DAEMON","state":"KILLED","durationMillis":null,"waitMillis":null,"shards":null,"counts":{"KILLED":1}}`
	e1 := `{"executionId":"e1","fireTime":"2026-05-01T11:59:59Z","source":"NORMAL_TRIGGER","state":"FAILED","durationMillis":null,"waitMillis":1000,` +
		`"shards":[{"item":0,"state":"FAILED","durationMillis":null,"attempt":2,"taskId":"t0"},{"item":1,"state":"FINISHED","durationMillis":null,"attempt":1,"taskId":"t1"}],"counts":{"FAILED":1,"FINISHED":1}}`
	e2 := `{"executionId":"e2","fireTime":"2026-05-01T12:00:00Z","source":"NORMAL_TRIGGER","state":"FINISHED","durationMillis":900,"waitMillis":4,` +
		`"shards":[{"item":0,"state":"FINISHED","durationMillis":880,"attempt":1,"taskId":"t2"}],"counts":{"FINISHED":1}}`
	e3 := `{"executionId":"e3","fireTime":"2026-05-01T12:00:01Z","source":"NORMAL_TRIGGER","state":"RUNNING","durationMillis":null,"waitMillis":0,"shards":null,"counts":{"RUNNING":201}}`
	e4 := `{"executionId":"e4","fireTime":"2026-05-01T12:00:02Z","source":"TRIGGER","state":"WAITING","durationMillis":null,"waitMillis":null,"shards":[],"counts":{}}`
	for path, want := range map[string]string{
		"/api/job/my_job/grid": `{"jobName":"my_job","medianMillis":900,"executions":[` +
			strings.Join([]string{e0, e1, e2, e3, e4}, ",") + "]}",
		"/api/job/my_job/grid?limit=2": `{"jobName":"my_job","medianMillis":null,"executions":[` + e3 + "," + e4 +
			"]}",
		"/api/job/gone/grid": `{"jobName":"gone","medianMillis":null,"executions":[` + strings.Join([]string{e0, e1},
			",") + "]}",
	} {
		if answer, got := call(t, server, "GET", path, ""); answer.StatusCode != http.StatusOK || got != want+"\n" {
			t.Errorf("%s: %d %s", path, answer.StatusCode, cmp.Diff(want+"\n", got))
		}
	}
	asked := 0
	for _, q := range h.asked {
		if ids, ok := q.([]string); ok && len(ids) > 0 {
			asked++
			if !slices.Equal(ids, []string{"e1"}) && !slices.Equal(ids, []string{"e0", "e1"}) {
				t.Errorf("asked for the shards of %v", ids)
			}
		}
	}
	if asked == 0 {
		t.Error("the history was not asked")
	}
	for path, status := range map[string]int{"/api/job/my_job/grid?limit=0": 400,
		"/api/job/my_job/grid?limit=201": 400, "/api/job/my_job/grid?state=FAILED": 400} {
		if answer, text := call(t, server, "GET", path, ""); answer.StatusCode != status {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	h.fails = errDown
	answer, got := call(t, server, "GET", "/api/job/my_job/grid", "")
	if answer.StatusCode != http.StatusOK || !strings.Contains(got, e2) || strings.Contains(got, "e1") ||
		!strings.Contains(answer.Header.Get("Warning"), "connection refused") {
		t.Errorf("without its database: %d %s %v", answer.StatusCode, got, answer.Header)
	}
	alone := start(t, api.Options{Scheduler: b})
	if answer, text := call(t, alone, "GET", "/api/job/none/grid", ""); readError(t, answer,
		text).Error.Code != "job_not_found" {
		t.Error(text)
	}
}

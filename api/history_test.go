package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// The original's event routes answer in its form, with new fields at the end. They pass on the query after checking
// it.
func TestEvents(t *testing.T) {
	t.Parallel()
	h := &fakeHistory{}
	server := start(t, api.Options{Scheduler: newFakeScheduler(), History: h})
	for path, want := range map[string]string{
		"/api/job/events/executions?jobName=my_job&isSuccess=false&startTime=2026-05-01+12:00:00&endTime=2026-05-01+12:00:01&per_page=20&page=2&sort=&order=&taskId=&after=": `{"total":1,"rows":[{"id":"u","hostname":"h","ip":"10.0.0.1","taskId":"my_job@-@0@-@READY@-@S0@-@u","jobName":"my_job","source":"NORMAL_TRIGGER","shardingItem":0,"startTime":"2026-05-01T12:00:00Z","completeTime":"2026-05-01T12:00:01.5Z","success":false,"failureCause":"boom","executionId":"exec-0","attempt":2,"runNumber":null,"state":"FAILED","exitStatus":3,"agent":"S0","fireTime":"2026-05-01T12:00:00Z","durationMillis":1500}],"next":"next"}`,
		"/api/job/events/statusTraces?state=TASK_RUNNING&sort=jobName&order=desc":                                                                                            `{"total":100000,"totalIsAtLeast":true,"rows":[{"id":"u","jobName":"my_job","originalTaskId":"","taskId":"t","slaveId":"S0","source":"CLOUD_EXECUTOR","executionType":"READY","shardingItems":"[0]","state":"TASK_RUNNING","message":null,"creationTime":"2026-05-01T12:00:00Z","executionId":null,"attempt":null,"reason":null}]}`,
	} {
		if answer, got := call(t, server, "GET", path, ""); answer.StatusCode != http.StatusOK || got != want+"\n" {
			t.Errorf("%s\n got %d %s\nwant %s", path, answer.StatusCode, got, want)
		}
	}
	want := search.Query{Of: search.Runs,
		Equal: []search.Equal{{Field: "jobName", Value: "my_job"}, {Field: "isSuccess", Value: false}}, From: noon,
		Until: noon.Add(1999 * time.Millisecond), Sort: "startTime", Descending: true, PerPage: 20, Page: 2}
	for _, asked := range h.asked {
		if q := asked.(search.Query); q.Of == search.Runs {
			if diff := cmp.Diff(want, q, cmp.Comparer(func(a, b *search.Subject) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// One answer reports everything that is wrong with a search [D22]. If the database does not answer, the answer is a
// 503; if there is none, the answer says how to configure one.
func TestSearchesAreRefused(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	down := &fakeHistory{fails: fmt.Errorf("count rows of JOB_EXECUTION_LOG: %w", errDown)}
	slow := &fakeHistory{fails: fmt.Errorf("count rows of JOB_EXECUTION_LOG: %w", context.DeadlineExceeded)}
	with, without, timid := start(t, api.Options{Scheduler: b, History: down}), start(t, api.Options{Scheduler: b}),
		start(t, api.Options{Scheduler: b, History: slow})
	bad := url.Values{"isSuccess": {"yes"}, "startTime": {"yesterday"}, "endTime": {"1969-12-31 23:59:59"},
		"sort": {"id; DROP TABLE x"}, "order": {"up"}, "per_page": {"501"},
		"page": {"0"}, "jobName": {"\xff"}, "taskId": {strings.Repeat("x", 1001)}, "after": {"?"}, "pages": {"1"}}
	answer, text := call(t, with, "GET", "/api/job/events/executions?"+bad.Encode(), "")
	fields := map[string]bool{}
	for _, f := range readError(t, answer, text).Error.Fields {
		fields[f.Field] = true
	}
	for field := range bad {
		if !fields[field] {
			t.Errorf("%s=%q is not refused: %s", field, bad[field], text)
		}
	}
	if answer.StatusCode != http.StatusBadRequest || len(down.asked) > 0 {
		t.Errorf("%d %s, asked %v", answer.StatusCode, text, down.asked)
	}
	for query, hint := range map[string]string{
		"page=201&per_page=500":                                       "after",
		"page=10001&sort=jobName":                                     "startTime",
		"startTime=2026-05-02&endTime=x":                              "2026-05-01 12:00:00",
		"startTime=2026-05-02T00:00:00Z&endTime=2026-05-01T00:00:00Z": "must not be before",
		"jobName=a&jobName=b":                                         "2 times",
		"per_page=1e3":                                                "from 1 to 500",
	} {
		answer, text := call(t, with, "GET", "/api/job/events/executions?"+query, "")
		if e := readError(t, answer, text).Error; answer.StatusCode != http.StatusBadRequest ||
			e.Code != "bad_query" || !strings.Contains(text, hint) {
			t.Errorf("%s: %d %s", query, answer.StatusCode, text)
		}
	}
	for _, route := range api.RouteNames() {
		path, isGet := strings.CutPrefix(route, "GET ")
		if !isGet || !strings.HasPrefix(path, "/api/job/events/") && !strings.Contains(path, "/statistics") ||
			strings.HasSuffix(path, "executionType") {
			continue
		}
		path = strings.NewReplacer("{jobName}", "my_job", "{period}", "online").Replace(path)
		answer, text := call(t, with, "GET", path, "")
		if e := readError(t, answer, text).Error; answer.StatusCode != http.StatusServiceUnavailable ||
			e.Code != "history_unavailable" || !strings.Contains(e.Message, "refused") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
		answer, text = call(t, without, "GET", path, "")
		if e := readError(t, answer, text).Error; answer.StatusCode != http.StatusServiceUnavailable ||
			e.Code != "no_history" || !strings.Contains(e.Message, "--db") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
		answer, text = call(t, timid, "GET", path, "")
		if e := readError(t, answer, text).Error; answer.StatusCode != http.StatusServiceUnavailable ||
			!strings.Contains(e.Message, "in time") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// storedExecutions are executions as the database has them: an old state of exec-1, one that seems to be still
// running, and one that the scheduler has forgotten.
func storedExecutions() []search.Execution {
	took, reason, attempt, state, agent, cause := int64(2500), "shard 1 failed", 2, "FAILED", "S0", "boom"
	shard := search.Run{ShardingItem: 1, TaskID: "t", State: &state, Attempt: &attempt, Agent: &agent,
		StartTime: at(noon.Add(-time.Hour)), FailureCause: &cause, FailureCode: "text"}
	return []search.Execution{
		{ID: "exec-2", Job: "my_job", Source: "TRIGGER", State: "RUNNING", Fire: at(noon.Add(time.Second))},
		{ID: "exec-1", Job: "my_job", Source: "NORMAL_TRIGGER", State: "WAITING", Fire: at(noon)},
		{ID: "exec-0", Job: "my_job", Source: "NORMAL_TRIGGER", State: "FAILED", Reason: &reason,
			ReasonCode: "of_item", ReasonArgs: map[string]any{"item": "1"}, Fire: at(noon.Add(-time.Hour)),
			Begin: at(noon.Add(-time.Hour)),
			End:   at(noon.Add(-time.Hour + 2500*time.Millisecond)), DurationMillis: &took,
			States: map[string]int{"FAILED": 1, "FINISHED": 2}, Shards: []search.Run{shard}},
	}
}

const forgotten = `{"executionId":"exec-0","jobName":"my_job","fireTime":"2026-05-01T11:00:00Z","source":"NORMAL_TRIGGER","state":"FAILED","reason":"shard 1 failed","reasonCode":"of_item","reasonArgs":{"item":"1"},`

// Lists have the executions that the scheduler remembers and the stored ones. The header Link leads to the next page.
func TestListsReachIntoTheHistory(t *testing.T) {
	t.Parallel()
	b, h := newFakeScheduler(), &fakeHistory{executions: storedExecutions()}
	server := start(t, api.Options{Scheduler: b, History: h, Now: func() time.Time { return noon }})
	own := strings.Trim(executionsList, "[]")
	older := forgotten + `"startTime":"2026-05-01T11:00:00Z","completeTime":"2026-05-01T11:00:02.5Z","shards":{"FAILED":1,"FINISHED":2},"durationMillis":2500}`
	for path, want := range map[string][2]string{
		"/api/executions":                      {"[" + own + "," + older + "]", ""},
		"/api/executions?limit=2&state=FAILED": {"[" + own + "," + older + "]", `</api/executions?before=2026-05-01T11%3A00%3A00Z%2Cexec-0&limit=2&state=FAILED>; rel="next"`},
		"/api/executions?limit=1":              {"[" + own + "]", `</api/executions?before=2026-05-01T12%3A00%3A00Z%2Cexec-1&limit=1>; rel="next"`},
		"/api/job/gone/executions?before=2026-05-01T13:00:00%2B01:00,e&since=2h": {"[" + older + "]", ""},
	} {
		answer, got := call(t, server, "GET", path, "")
		if answer.StatusCode != http.StatusOK || got != want[0]+"\n" || answer.Header.Get("Link") != want[1] {
			t.Errorf("%s\n got %d %s%s\nwant %s\n%s", path, answer.StatusCode, got, answer.Header.Get("Link"), want[0],
				want[1])
		}
	}
	// Executions stored as running take no place in a page, because the scheduler remembers all running ones.
	n := len(h.asked)
	for path, states := range map[string][]string{"/api/executions?state=RUNNING,FINISHED": {"FINISHED"},
		"/api/executions?state=WAITING,RUNNING": nil} {
		call(t, server, "GET", path, "")
		var got []string
		if len(h.asked) > n {
			got = h.asked[n].(search.Executions).States
			n = len(h.asked)
		}
		if !slices.Equal(got, states) {
			t.Errorf("%s asked for %v, want %v", path, got, states)
		}
	}
	asked := search.Executions{Job: "gone", Since: noon.Add(-2 * time.Hour), Before: noon, BeforeID: "e", Limit: 100}
	found := false
	for _, q := range h.asked {
		found = found || cmp.Equal(q, any(asked))
	}
	if !found {
		t.Errorf("not asked: %v of %v", asked, h.asked)
	}

	h.fails = errDown
	answer, got := call(t, server, "GET", "/api/executions", "")
	if answer.StatusCode != http.StatusOK || got != executionsList+"\n" ||
		!strings.Contains(answer.Header.Get("Warning"), "connection refused") {
		t.Errorf("without its database: %d %s %v", answer.StatusCode, got, answer.Header)
	}
	if answer, text := call(t, server, "GET", "/api/job/gone/executions", ""); readError(t, answer,
		text).Error.Code != "history_unavailable" {
		t.Error(text)
	}
	h.fails, h.executions = nil, nil
	if answer, text := call(t, server, "GET", "/api/job/gone/executions", ""); readError(t, answer,
		text).Error.Code != "job_not_found" {
		t.Error(text)
	}
	answer, text := call(t, server, "GET", "/api/executions?before=noon", "")
	if e := readError(t, answer, text); answer.StatusCode != http.StatusBadRequest ||
		e.Error.Fields[0].Field != "before" {
		t.Error(text)
	}
}

// One execution comes with its life, even if the scheduler has forgotten it. What it waits for now comes last.
func TestAnExecutionHasALife(t *testing.T) {
	t.Parallel()
	item := 1
	b, h := newFakeScheduler(), &fakeHistory{executions: storedExecutions(), life: []search.Moment{
		{Time: at(noon.Add(-time.Minute)), Kind: "TASK_RUNNING", Item: &item, TaskID: "t", Agent: "S0"},
		{Time: at(noon.Add(-time.Hour)), Kind: "FIRED", Message: "cron"}}}
	short := views.Why{Reason: "CPU", ReasonCode: "no_room", ReasonArgs: map[string]any{"short": "CPU"}}
	b.explain = func(_ context.Context, job string) (views.Explanation, error) {
		return views.Explanation{Waiting: []views.WaitingView{{ExecutionID: "other", Why: views.Why{Reason: "no"}},
			{ExecutionID: "live", Item: 0, Why: short},
			{ExecutionID: "live", Item: 1, Why: short}, {ExecutionID: "live", Item: 2,
				Why: views.Why{Reason: "backoff"}}}}, nil
	}
	server := start(t, api.Options{Scheduler: b, History: h})
	const life = `"life":[{"time":"2026-05-01T11:00:00Z","afterMillis":null,"kind":"FIRED","item":null,"taskId":"","agent":"","reason":"","message":"cron"},` +
		`{"time":"2026-05-01T11:59:00Z","afterMillis":3540000,"kind":"TASK_RUNNING","item":1,"taskId":"t","agent":"S0","reason":"","message":""}`
	answer, got := call(t, server, "GET", "/api/execution/exec-0", "")
	want := forgotten + `"shards":[{"item":1,"state":"FAILED","attempt":2,"agent":"S0","taskId":"t","startTime":"2026-05-01T11:00:00Z","completeTime":null,"exitStatus":null,"failureCause":"boom","failureCode":"text","packageSHA256":""}],` + life + "]}\n"
	if answer.StatusCode != http.StatusOK || got != want {
		t.Errorf("%d %s\nwant %s", answer.StatusCode, got, want)
	}
	if _, got := call(t, server, "GET", "/api/execution/exec-1", ""); !strings.HasSuffix(got, life+"]}\n") {
		t.Error(got)
	}
	if _, got := call(t, server, "GET", "/api/execution/live", ""); !strings.HasSuffix(got, life+
		`,{"time":"2026-05-01T12:00:00Z","afterMillis":60000,"kind":"WAITING","item":null,"taskId":"","agent":"","reason":"","message":"2 shards: CPU","messageCode":"no_room","messageArgs":{"short":"CPU"}},`+
		`{"time":"2026-05-01T12:00:00Z","afterMillis":60000,"kind":"WAITING","item":2,"taskId":"","agent":"","reason":"","message":"backoff"}]}`+"\n") {
		t.Error(got)
	}
	state, finished := "FINISHED", storedExecutions()
	finished[2].Shards[0].State, finished[2].Shards[0].Success = &state, true
	h.executions, h.life = finished,
		[]search.Moment{{Time: at(noon), Kind: "TASK_FINISHED", TaskID: "t", Message: "much memory",
			MessageCode: "text"}}
	if _, got := call(t, server, "GET", "/api/execution/exec-0", ""); !strings.Contains(got,
		`"note":"much memory","noteCode":"text"`) {
		t.Error(got)
	}
	h.executions, h.life = storedExecutions(),
		[]search.Moment{{Time: at(noon), Kind: "DROPPED", Message: "the job is busy"}}
	if answer, text := call(t, server, "GET", "/api/execution/none", ""); readError(t, answer,
		text).Error.Code != "execution_not_found" ||
		!strings.Contains(text, "does not exist, because its fire was dropped: the job is busy") {
		t.Error(text)
	}
	h.life = nil
	if answer, text := call(t, server, "GET", "/api/execution/none", ""); readError(t, answer,
		text).Error.Code != "execution_not_found" || strings.Contains(text, "fire was") {
		t.Error(text)
	}
	h.life = make([]search.Moment, 1001)
	if _, got := call(t, server, "GET", "/api/execution/exec-1", ""); !strings.Contains(got,
		`"lifeNote":"these are its first 1000 events`) {
		t.Error(got)
	}
	h.fails = errDown
	if answer, got := call(t, server, "GET", "/api/execution/exec-1", ""); answer.StatusCode != http.StatusOK ||
		!strings.Contains(got, `"lifeNote":"the history cannot be read`) {
		t.Error(got)
	}
	if answer, text := call(t, server, "GET", "/api/execution/exec-0", ""); readError(t, answer,
		text).Error.Code != "history_unavailable" {
		t.Error(text)
	}
}

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

type answeredError struct {
	Error struct {
		Code, Message string
		Fields        document.Violations
	}
}

// readError checks that an error has the common form.
func readError(t *testing.T, answer *http.Response, text string) answeredError {
	t.Helper()
	var e answeredError
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || e.Error.Code == "" || e.Error.Message == "" || e.Error.Fields == nil {
		t.Errorf("not the form of an error (%v): %s", err, text)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
		t.Errorf("content type %q", kind)
	}
	return e
}

// TestBadInputChangesNothing checks promise 5.
func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	call(t, server, "POST", "/api/app", appDocument)
	call(t, server, "POST", "/api/app", swap(appDocument, "my_app", "off"))
	call(t, server, "POST", "/api/app/off/disable", "")
	call(t, server, "POST", "/api/job/register", jobDocument)
	call(t, server, "POST", "/api/job/register", swap(jobDocument, "my_job", "idle"))
	call(t, server, "POST", "/api/job/idle/disable", "")
	before := b.changed()

	doc := func(old, now string) string { return swap(appDocument, old, now) }
	job := func(old, now string) string { return swap(swap(jobDocument, "my_job", "other"), old, now) }
	two := strings.Repeat(" ", 2<<20)
	for name, c := range map[string]struct {
		method, path, body string
		header             string
		status             int
		code               string
		want               []string // in the answer
	}{
		"empty body":            {"POST", "/api/app", "", "", 400, "bad_json", []string{"line 1, column 1"}},
		"broken JSON":           {"POST", "/api/app", "{\n \"appName\": my_app}", "", 400, "bad_json", []string{"line 2, column 13"}},
		"half a document":       {"POST", "/api/app", `{"appName":"x"`, "", 400, "bad_json", []string{"line 1, column 15"}},
		"two documents":         {"POST", "/api/app", appDocument + appDocument, "", 400, "bad_json", nil},
		"an array":              {"POST", "/api/job/register", `[]`, "", 400, "bad_json", nil},
		"no UTF-8":              {"POST", "/api/app", "{\"appName\":\"\xff\"}", "", 400, "bad_json", []string{"UTF-8"}},
		"GBK":                   {"POST", "/api/app", "{\"appName\":\"a\",\"bootstrapScript\":\"\xd6\xd0\xce\xc4\"}", "", 400, "bad_json", []string{"it looks like GB18030", "iconv -f GB18030 -t UTF-8", "charset="}},
		"UTF-16, no fields":     {"POST", "/api/app", "\xff\xfe{\x00}\x00", "", 422, "invalid", []string{`"field":"appName"`}},
		"byte order mark alone": {"POST", "/api/app", "\ufeff{}", "", 422, "invalid", []string{`"field":"appName"`}},
		"deep nesting":          {"POST", "/api/app", strings.Repeat(`{"a":`, 20000), "", 400, "bad_json", nil},
		"broken update":         {"PUT", "/api/app", `{"appName":"my_app",}`, "", 400, "bad_json", nil},
		"wrong type":            {"POST", "/api/app", doc("0.1,", `"much",`), "", 422, "invalid", []string{`"field":"cpuCount"`}},
		"unknown field":         {"POST", "/api/app", doc("appURL", "appUrl"), "", 422, "invalid", []string{`"field":"appUrl"`, "appURL"}},
		"doubled field":         {"POST", "/api/app", doc("{", `{"appName":"a",`), "", 422, "invalid", []string{`"field":"appName"`}},
		"negative":              {"POST", "/api/app", doc("64.0", "-64"), "", 422, "invalid", []string{`"field":"memoryMB","value":"-64"`}},
		"huge":                  {"POST", "/api/app", doc("64.0", "1e999"), "", 422, "invalid", []string{`"field":"memoryMB","value":"1e999"`}},
		"NaN":                   {"POST", "/api/app", doc("64.0", "NaN"), "", 400, "bad_json", nil},
		"bad name":              {"POST", "/api/app", doc("my_app", "a/b"), "", 422, "invalid", []string{`"field":"appName","value":"a/b"`}},
		"bad URL and script":    {"POST", "/api/app", with(doc("http://", "ftp://"), `"appSHA256":"x"`), "", 422, "invalid", []string{`"field":"appURL"`, `"field":"appSHA256"`}},
		"file URL":              {"POST", "/api/app", doc("http://127.0.0.1:8080", "file:///srv"), "", 422, "invalid", []string{"--local"}},
		"app exists":            {"POST", "/api/app", appDocument, "", 409, "app_exists", nil},
		"update without name":   {"PUT", "/api/app", `{"memoryMB":1}`, "", 422, "invalid", []string{`"field":"appName"`}},
		"update bad name":       {"PUT", "/api/app", `{"appName":""}`, "", 422, "invalid", []string{`"field":"appName"`}},
		"update to bad":         {"PUT", "/api/app", `{"appName":"my_app","memoryMB":0,"x":1}`, "", 422, "invalid", []string{`"field":"memoryMB"`, `"field":"x"`}},
		"update unknown app":    {"PUT", "/api/app", `{"appName":"none"}`, "", 404, "app_not_found", nil},
		"unknown app":           {"GET", "/api/app/none", "", "", 404, "app_not_found", nil},
		"impossible app":        {"GET", "/api/app/a%2F..%2Fb", "", "", 404, "app_not_found", []string{`a/../b`}},
		"disable unknown app":   {"POST", "/api/app/none/disable", "", "", 404, "app_not_found", nil},
		"app with jobs":         {"DELETE", "/api/app/my_app", "", "", 409, "app_has_jobs", []string{"my_job"}},
		"jobs=maybe":            {"DELETE", "/api/app/my_app?jobs=maybe", "", "", 400, "bad_query", []string{`"field":"jobs","value":"maybe"`}},
		"jobs twice":            {"DELETE", "/api/app/my_app?jobs=true&jobs=true", "", "", 400, "bad_query", []string{`"field":"jobs"`}},
		"unknown parameter":     {"DELETE", "/api/app/my_app?job=true", "", "", 400, "bad_query", []string{`"field":"job"`}},
		"parameter for nothing": {"POST", "/api/app/my_app/disable?now=1", "", "", 400, "bad_query", []string{`"field":"now"`}},
		"bad query encoding":    {"DELETE", "/api/app/my_app?jobs=%zz", "", "", 400, "bad_query", nil},

		"bad cron":            {"POST", "/api/job/register", job("0/5 * * * * * ?", "0/5 * *"), "", 422, "invalid", []string{`"field":"cron"`}},
		"no shards":           {"POST", "/api/job/register", job(`"shardingTotalCount":3,`, ""), "", 422, "invalid", []string{`"field":"shardingTotalCount"`}},
		"many shards":         {"POST", "/api/job/register", job(`:3,`, ":10001,"), "", 422, "invalid", []string{`"field":"shardingTotalCount","value":"10001"`}},
		"parameter range":     {"POST", "/api/job/register", job(`:3,`, `:3,"shardingItemParameters":"3=a",`), "", 422, "invalid", []string{`"field":"shardingItemParameters"`}},
		"bad type of job":     {"POST", "/api/job/register", job("TRANSIENT", "SOMETIMES"), "", 422, "invalid", []string{`"field":"jobExecutionType","value":"SOMETIMES"`}},
		"job exists":          {"POST", "/api/job/register", jobDocument, "", 409, "job_exists", nil},
		"job on no app":       {"POST", "/api/job/register", job("my_app", "none"), "", 404, "app_not_found", nil},
		"job on disabled":     {"POST", "/api/job/register", job("my_app", "off"), "", 409, "app_disabled", nil},
		"update to bad cron":  {"PUT", "/api/job/update", `{"jobName":"my_job","cron":"x"}`, "", 422, "invalid", []string{`"field":"cron"`}},
		"update no job":       {"PUT", "/api/job/update", `{"jobName":"none"}`, "", 404, "job_not_found", nil},
		"unknown job":         {"GET", "/api/job/jobs/none", "", "", 404, "job_not_found", nil},
		"disable no job":      {"DELETE", "/api/job/none/disable", "", "", 404, "job_not_found", nil},
		"explain no job":      {"GET", "/api/job/none/explain", "", "", 404, "job_not_found", nil},
		"no execution":        {"GET", "/api/execution/x", "", "", 404, "execution_not_found", nil},
		"kill no execution":   {"POST", "/api/execution/none/kill", "", "", 404, "execution_not_found", nil},
		"kill ended task":     {"POST", "/api/task/over/kill", "", "", 409, "task_ended", nil},
		"kill with query":     {"POST", "/api/task/x/kill?now=1", "", "", 400, "bad_query", []string{`"field":"now"`}},
		"trigger no job":      {"POST", "/api/job/trigger", "none", "", 404, "job_not_found", nil},
		"trigger impossible":  {"POST", "/api/job/trigger", "a b", "", 404, "job_not_found", nil},
		"trigger disabled":    {"POST", "/api/job/trigger", "idle", "", 409, "job_disabled", nil},
		"trigger nothing":     {"POST", "/api/job/trigger", " \n", "", 400, "name_missing", nil},
		"trigger object":      {"POST", "/api/job/trigger", `{"jobName":"my_job"}`, "", 400, "bad_name", nil},
		"trigger with array":  {"POST", "/api/job/my_job/trigger", `[]`, "", 400, "bad_json", nil},
		"trigger with name":   {"POST", "/api/job/my_job/trigger", `my_job`, "", 400, "bad_json", []string{"line 1, column 1"}},
		"trigger, bad fields": {"POST", "/api/job/my_job/trigger", `{"jobparameter":"x","env":{"A":1,"MESOS_A":"1"},"shardingItemParameters":"9=a"}`, "", 422, "invalid", []string{`"field":"jobparameter"`, "jobParameter", `"field":"env.A"`, `"field":"shardingItemParameters"`}},
		"trigger, bad values": {"POST", "/api/job/my_job/trigger", `{"env":{"MESOS_A":"1"},"shardingItemParameters":"9=a"}`, "", 422, "invalid", []string{`"field":"env.MESOS_A"`, `"field":"shardingItemParameters","value":"9=a"`}},
		"trigger with XML":    {"POST", "/api/job/my_job/trigger", `<x/>`, "Content-Type: application/xml", 415, "content_type_not_supported", nil},
		"trigger unknown":     {"POST", "/api/job/none/trigger", `{"jobParameter":1}`, "", 404, "job_not_found", nil},
		"trigger broken":      {"POST", "/api/job/trigger", `"my_job`, "", 400, "bad_json", nil},
		"long key":            {"POST", "/api/job/my_job/trigger", "", "Idempotency-Key: " + strings.Repeat("k", 201), 400, "bad_idempotency_key", nil},
		"deregister nothing":  {"DELETE", "/api/job/deregister", "", "", 400, "name_missing", nil},

		"XML":               {"POST", "/api/app", "<app/>", "Content-Type: application/xml", 415, "content_type_not_supported", []string{"application/xml"}},
		"bad content type":  {"POST", "/api/job/trigger", "my_job", "Content-Type: ;", 415, "content_type_not_supported", nil},
		"compressed":        {"POST", "/api/app", "x", "Content-Encoding: gzip", 415, "content_encoding_not_supported", nil},
		"2 MiB":             {"POST", "/api/app", two, "", 413, "body_too_large", nil},
		"2 MiB for nothing": {"POST", "/api/app/my_app/disable", two, "", 413, "body_too_large", nil},
		"2 MiB update":      {"PUT", "/api/job/update", two, "", 413, "body_too_large", nil},
		"wrong method":      {"PATCH", "/api/app", "{}", "", 405, "method_not_allowed", []string{"POST, PUT"}},
		"wrong method job":  {"GET", "/api/job/register", "", "", 405, "method_not_allowed", []string{"POST"}},
		"options":           {"OPTIONS", "/api/app/list", "", "", 405, "method_not_allowed", nil},
		"no route":          {"POST", "/api/job/regster", "{}", "", 404, "no_route", []string{"POST /api/job/register"}},
		"no route app":      {"GET", "/api/apps/list", "", "", 404, "no_route", []string{"GET /api/app/list"}},
		"no api":            {"GET", "/job/jobs", "", "", 404, "no_route", []string{"GET /api/job/jobs"}},
		"no route at all":   {"GET", "/coffee", "", "", 404, "no_route", []string{"docs/api.md"}},
		"no artifacts":      {"GET", "/artifacts/x", "", "", 404, "artifact_not_found", nil},
		"no history":        {"GET", "/api/job/events/executions?page=1", "", "", 503, "no_history", []string{"--db"}},
	} {
		headers := []string{asJSON}
		if c.header != "" {
			headers = []string{c.header}
		}
		answer, text := call(t, server, c.method, c.path, c.body, headers...)
		e := readError(t, answer, text)
		if answer.StatusCode != c.status || e.Error.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s: %s", name, answer.StatusCode, e.Error.Code, c.status, c.code, text)
		}
		for _, want := range c.want {
			if plain := strings.ReplaceAll(text, `\"`, `"`); !strings.Contains(text, want) &&
				!strings.Contains(plain, want) {
				t.Errorf("%s: no %q in %s", name, want, text)
			}
		}
		if c.status == 405 && answer.Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow header", name)
		}
		if b.changed() != before {
			t.Fatalf("%s changed something", name)
		}
	}
}

// TestAllViolationsAtOnce: one answer reports the fields that cannot be read and the rules that the others break.
func TestAllViolationsAtOnce(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	answer, text := call(t, server, "POST", "/api/job/register",
		`{"jobName":"-","appName":7,"cron":"x","cpuCount":-1,"memoryMb":3,"shardingTotalCount":1.5}`)
	var fields []string
	for _, f := range readError(t, answer, text).Error.Fields {
		fields = append(fields, f.Field)
	}
	for _, want := range []string{"jobName", "appName", "cron", "cpuCount", "memoryMb", "shardingTotalCount"} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s is missing in %v", want, fields)
		}
	}
}

// TestChunkedBodyIsBounded: the limit also holds without a Content-Length.
func TestChunkedBodyIsBounded(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api/app",
		io.MultiReader(bytes.NewReader(make([]byte, 2<<20))))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusRequestEntityTooLarge ||
		readError(t, answer, string(text)).Error.Code != "body_too_large" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// TestSchedulerErrors checks the status of each kind of error. An unknown outcome is reported as such (T3).
func TestSchedulerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
		want   string
	}{
		{refuse(problem.NotFound, "", "gone"), 404, "not_found", "gone"},
		{refuse(problem.Conflict, "busy", "busy"), 409, "busy", "busy"},
		{fmt.Errorf("wrapped: %w", refuse(problem.Unavailable, "", "no leader")), 503, "unavailable", "no leader"},
		{refuse(problem.OutcomeUnknown, "x", "the change may have been done"), 503, "outcome_unknown", "may have been done"},
		{&problem.Error{Kind: problem.Invalid, Message: "bad", Violations: document.Violations{{Field: "f", Value: "v", Message: "m"}}}, 422, "invalid", `"field":"f"`},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), 503, "outcome_unknown", "may have been done"},
		{errors.New("secret internals"), 500, "internal", "its log has details"},
		{&problem.Error{Kind: 99, Message: "secret internals"}, 500, "internal", "its log has details"},
	} {
		b := newFakeScheduler()
		b.failWith = c.err
		var logged bytes.Buffer
		server := start(t, api.Options{Scheduler: b, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		answer, text := call(t, server, "POST", "/api/job/my_job/trigger", "")
		e := readError(t, answer, text)
		if answer.StatusCode != c.status || e.Error.Code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%v: %d %s", c.err, answer.StatusCode, text)
		}
		if retry := answer.Header.Get("Retry-After"); (retry != "") != (c.code == "unavailable") {
			t.Errorf("%v: Retry-After %q", c.err, retry)
		}
		if c.status == 500 {
			id := e.Error.Message[strings.LastIndex(e.Error.Message, " ")+1:]
			if strings.Contains(text, "secret") || !strings.Contains(logged.String(), "secret internals") ||
				!strings.Contains(logged.String(), id) {
				t.Errorf("answer %s\nlog %s", text, logged.String())
			}
		}
	}
}

// TestSilentScheduler: a request that only reads, and times out, is answered with the code timeout.
func TestSilentScheduler(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.explain = func(ctx context.Context, _ string) (views.Explanation, error) {
		<-ctx.Done()
		return views.Explanation{}, ctx.Err()
	}
	server := start(t, api.Options{Scheduler: b, RequestTimeout: 10 * time.Millisecond})
	answer, text := call(t, server, "GET", "/api/job/my_job/explain", "")
	if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "timeout" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.explain = func(context.Context, string) (views.Explanation, error) { panic("secret internals") }
	var logged bytes.Buffer
	server := start(t, api.Options{Scheduler: b, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	answer, text := call(t, server, "GET", "/api/job/my_job/explain", "")
	readError(t, answer, text)
	if answer.StatusCode != 500 || strings.Contains(text, "secret") ||
		!strings.Contains(logged.String(), "secret internals") {
		t.Errorf("%d %s\n%s", answer.StatusCode, text, logged.String())
	}
	if answer, _ := call(t, server, "GET", "/healthz", ""); answer.StatusCode != 200 {
		t.Error("the server did not survive")
	}
}

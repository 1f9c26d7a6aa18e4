package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

const (
	appDocument    = `{"appName":"my_app","appURL":"http://127.0.0.1:8080/my-job.tar.gz","cpuCount":0.1,"memoryMB":64.0,"bootstrapScript":"bin/start.sh","appCacheEnable":true,"eventTraceSamplingCount":0}`
	appStored      = `{"appName":"my_app","appURL":"http://127.0.0.1:8080/my-job.tar.gz","bootstrapScript":"bin/start.sh","cpuCount":0.1,"memoryMB":64,"appCacheEnable":true,"eventTraceSamplingCount":0}`
	jobDocument    = `{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","cron":"0/5 * * * * * ?","shardingTotalCount":3,"cpuCount":0.1,"memoryMB":64.0}`
	jobStored      = `{"jobName":"my_job","appName":"my_app","jobExecutionType":"TRANSIENT","cron":"0/5 * * * * * ?","shardingTotalCount":3,"cpuCount":0.1,"memoryMB":64,"shardingItemParameters":"","jobParameter":"","failover":false,"misfire":false,"description":""}`
	sevenRead      = `"cron \"0/5 * * * * * ?\" has seven fields and is read as seconds 0/5, minutes *, hours *, day of month *, month *, day of week *, year ?, which is any year"`
	executionsList = `[{"executionId":"exec-1","jobName":"my_job","fireTime":"2026-05-01T12:00:00Z","source":"NORMAL_TRIGGER","state":"FAILED","reason":"shard 0 failed","startTime":"2026-05-01T12:00:00Z","completeTime":"2026-05-01T12:00:00Z","shards":{"FAILED":1},"durationMillis":0}]`
	asJSON         = "Content-Type: application/json"
)

// with returns a stored document with more fields at its end.
func with(stored, more string) string { return strings.TrimSuffix(stored, "}") + "," + more + "}" }

func swap(text, old, now string) string { return strings.Replace(text, old, now, 1) }

// TestDocumentedCurlLines sends all documented requests to one server in order, in the documented form and in that of
// 3.0.1.
func TestDocumentedCurlLines(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	for _, step := range []struct {
		method, path, body string
		want               string
		headers            []string
	}{
		// Section 1.3 and the quick start: apps.
		{"POST", "/api/app", appDocument, with(appStored, `"disabled":false`), []string{asJSON}},
		{"GET", "/api/app/my_app", "", appStored, nil},
		{"GET", "/api/app/list", "", "[" + appStored + "]", nil},
		{"GET", "/api/app/list/", "", "[" + appStored + "]", nil},
		{"PUT", "/api/app", `{"appName":"my_app","appCacheEnable":false,"eventTraceSamplingCount":7}`,
			with(swap(appStored, `true,"eventTraceSamplingCount":0`, `false,"eventTraceSamplingCount":7`),
				`"disabled":false`), []string{asJSON}},
		{"PUT", "/api/app", `{"appName":"my_app","appCacheEnable":null,"eventTraceSamplingCount":null}`, with(appStored, `"disabled":false`), []string{asJSON}},
		{"GET", "/api/app/my_app/disable", "", "false", nil},
		{"POST", "/api/app/my_app/disable", "", with(appStored, `"disabled":true`), nil},
		{"GET", "/api/app/my_app/disable", "", "true", nil},
		{"POST", "/api/app/my_app/enable", "", with(appStored, `"disabled":false`), nil},
		{"POST", "/api/app/my_app/disable", "", with(appStored, `"disabled":true`), nil},
		{"DELETE", "/api/app/my_app/disable", "", with(appStored, `"disabled":false`), nil},

		// Section 1.4 and the quick start: jobs.
		{"POST", "/api/job/register", jobDocument, with(jobStored, `"disabled":false,"state":"ENABLED","notes":[`+sevenRead+`],"noteReasons":[{"code":"text"}]`), []string{asJSON}},
		{"GET", "/api/job/jobs", "", "[" + jobStored + "]", nil},
		{"GET", "/api/job/jobs/my_job", "", jobStored, nil},
		{"PUT", "/api/job/update", `{"jobName":"my_job","jobParameter":"p"}`,
			with(swap(jobStored, `"jobParameter":""`, `"jobParameter":"p"`),
				`"disabled":false,"state":"ENABLED","notes":[`+sevenRead+
					`],"noteReasons":[{"code":"text"}]`), []string{asJSON}},
		{"PUT", "/api/job/update", `{"jobName":"my_job","jobParameter":null,"monitorExecution":true}`,
			with(jobStored, `"disabled":false,"state":"ENABLED","notes":["monitorExecution is ignored: executions are always watched",`+sevenRead+`],"noteReasons":[{"code":"text"},{"code":"text"}]`), []string{asJSON}},
		{"POST", "/api/job/trigger", `my_job`, `{"executionId":"exec-my_job"}`, []string{asJSON}},
		{"POST", "/api/job/trigger", `"my_job"`, `{"executionId":"exec-my_job"}`, []string{asJSON}},
		{"POST", "/api/job/trigger", "my_job\n", `{"executionId":"exec-my_job"}`, []string{"Content-Type: text/plain"}},
		{"POST", "/api/job/trigger", "my_job", `{"executionId":"exec-my_job"}`, []string{"Content-Type: application/x-www-form-urlencoded"}},
		{"POST", "/api/job/my_job/trigger", "", `{"executionId":"exec-my_job"}`, nil},
		{"POST", "/api/job/my_job/trigger", "", `{"executionId":"exec-my_job"}`, []string{"Content-Type: application/xml"}},
		{"POST", "/api/job/my_job/trigger", `{"jobParameter":"2026-05-01","env":{"LEVEL":"debug"}}`, `{"executionId":"exec-my_job"}`, nil},
		{"POST", "/api/job/my_job/trigger", "", `{"executionId":"exec-my_job-0"}`, []string{"Idempotency-Key: once"}},
		{"POST", "/api/job/trigger", "my_job", `{"executionId":"exec-my_job-0"}`, []string{"Idempotency-Key: once"}},
		{"GET", "/api/job/my_job/disable", "", "false", nil},
		{"POST", "/api/job/my_job/disable", "", with(jobStored, `"disabled":true,"state":"DISABLED"`), nil},
		{"GET", "/api/job/my_job/disable", "", "true", nil},
		{"DELETE", "/api/job/my_job/disable", "", with(jobStored, `"disabled":false,"state":"ENABLED"`), nil},
		{"POST", "/api/job/my_job/enable", "", with(jobStored, `"disabled":false,"state":"ENABLED"`), nil},
		{"POST", "/api/job/my_job/pause", "", with(jobStored, `"disabled":false,"state":"PAUSED"`), nil},
		{"POST", "/api/job/my_job/pause", "", with(jobStored, `"disabled":false,"state":"PAUSED"`), nil},
		{"POST", "/api/job/my_job/resume", "", with(jobStored, `"disabled":false,"state":"ENABLED"`), nil},
		{"POST", "/api/job/my_job/shutdown", "", with(jobStored, `"disabled":true,"state":"DISABLED"`), nil},
		{"POST", "/api/job/my_job/enable", "", with(jobStored, `"disabled":false,"state":"ENABLED"`), nil},
		{"POST", "/api/app/my_app/disable", "", with(appStored, `"disabled":true`), nil},
		{"GET", "/api/job/my_job/disable", "", "true", nil},
		{"POST", "/api/app/my_app/enable", "", with(appStored, `"disabled":false`), nil},
		{"GET", "/api/job/tasks/running", "", `[{"id":"my_job@-@2@-@READY@-@S0@-@u","metaInfo":{"jobName":"my_job","shardingItems":[2]},"type":"READY","slaveId":"S0","idle":false,"executionId":"exec-1","state":"RUNNING","progress":{"fraction":0.4,"message":"4000 of 10000 rows","at":"2026-05-01T12:00:00Z"}}]`, nil},
		{"GET", "/api/job/tasks/ready", "", `[{"jobName":"my_job","times":"2"}]`, nil},
		{"GET", "/api/job/tasks/failover", "", `[{"taskInfo":{"jobName":"my_job","shardingItems":[1]},"originalTaskId":"old"}]`, nil},
		{"GET", "/api/job/my_job/explain", "", `{"jobName":"my_job","state":"ON_TRIGGER","nextFires":[],"waiting":[],"running":[]}`, nil},
		{"GET", "/api/execution/exec-1", "", `{"executionId":"exec-1","jobName":"my_job","fireTime":"2026-05-01T12:00:00Z","source":"NORMAL_TRIGGER","state":"FAILED","reason":"shard 0 failed","shards":[{"item":0,"state":"FAILED","attempt":1,"agent":"a1","taskId":"t1","startTime":"2026-05-01T12:00:00Z","completeTime":"2026-05-01T12:00:00Z","exitStatus":3,"failureCause":"boom","packageSHA256":"0e1b"}]}`, nil},
		{"GET", "/api/executions", "", executionsList, nil},
		{"GET", "/api/executions?job=never_ran", "", "[]", nil},
		{"GET", "/api/job/my_job/executions?state=failed,KILLED&since=24h&limit=5", "", executionsList, nil},
		{"POST", "/api/task/my_job@-@2@-@READY@-@S0@-@u/forget", "", `{"taskId":"my_job@-@2@-@READY@-@S0@-@u","forgotten":true}`, nil},
		{"POST", "/api/task/my_job@-@2@-@READY@-@S0@-@u/kill", "", `{"taskId":"my_job@-@2@-@READY@-@S0@-@u","killing":true}`, nil},
		{"POST", "/api/execution/exec-1/kill", "", `{"executionId":"exec-1","killing":true}`, nil},
		{"DELETE", "/api/job/deregister", "my_job", with(jobStored, `"disabled":false,"state":"ENABLED"`), []string{asJSON}},
		{"GET", "/api/job/jobs", "", "[]", nil},
		{"POST", "/api/job/register", jobDocument, with(jobStored, `"disabled":false,"state":"ENABLED","notes":[`+sevenRead+`],"noteReasons":[{"code":"text"}]`), nil},
		{"DELETE", "/api/job/my_job/deregister", "", with(jobStored, `"disabled":false,"state":"ENABLED"`), nil},
		{"POST", "/api/job/register", jobDocument, with(jobStored, `"disabled":false,"state":"ENABLED","notes":[`+sevenRead+`],"noteReasons":[{"code":"text"}]`), []string{"Content-Type: application/x-www-form-urlencoded"}},
		{"DELETE", "/api/app/my_app?jobs=true", "", with(appStored, `"disabled":false`), nil},
		{"GET", "/api/app/list", "", "[]", nil},
		{"GET", "/healthz", "", `{"status":"ok","leading":true,"subscribed":true}`, nil},
		{"GET", "/readyz", "", `{"status":"ready","leading":true,"subscribed":true}`, nil},
	} {
		answer, got := call(t, server, step.method, step.path, step.body, step.headers...)
		if answer.StatusCode != http.StatusOK || got != step.want+"\n" {
			t.Fatalf("%s %s %s\n got %d %s\nwant 200 %s", step.method, step.path, step.body, answer.StatusCode, got,
				step.want)
		}
		if kind := answer.Header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
			t.Errorf("%s %s: content type %q", step.method, step.path, kind)
		}
	}
}

// TestStoredDocumentCanBeSentBack: PUT accepts what GET returns.
func TestStoredDocumentCanBeSentBack(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	call(t, server, "POST", "/api/app", appDocument)
	call(t, server, "POST", "/api/job/register", jobDocument)
	for get, put := range map[string]string{"/api/app/my_app": "/api/app", "/api/job/jobs/my_job": "/api/job/update"} {
		_, stored := call(t, server, "GET", get, "")
		if answer, text := call(t, server, "PUT", put, stored); answer.StatusCode != http.StatusOK {
			t.Errorf("PUT %s: %d %s", put, answer.StatusCode, text)
		}
		if _, again := call(t, server, "GET", get, ""); again != stored {
			t.Errorf("GET %s changed: %s", get, cmp.Diff(stored, again))
		}
	}
}

// TestSecretsAreInNoAnswer: no answer shows a secret, and a document that was read and sent back keeps its secrets
// [D90].
func TestSecretsAreInNoAnswer(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	call(t, server, "POST", "/api/app", appDocument)
	posted := with(jobDocument, `"jobErrorHandlerType":"WEBHOOK","props":{"webhook.url":"https://h/x?key=hunter2","webhook.secret":"hunter2","a":"b"},"env":{"TOKEN":"hunter2"}`)
	ask := func(method, path, body string) string {
		answer, text := call(t, server, method, path, body)
		if answer.StatusCode != http.StatusOK || strings.Contains(text, "hunter2") {
			t.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
		}
		return text
	}
	ask("POST", "/api/job/register", posted)
	ask("GET", "/api/job/jobs", "")
	shown := ask("GET", "/api/job/jobs/my_job", "")
	ask("PUT", "/api/job/update", swap(shown, `"a":"b"`, `"a":"c"`))
	ask("POST", "/api/job/my_job/disable", "")
	want := document.Texts{"webhook.url": {Value: "https://h/x?key=hunter2"}, "webhook.secret": {Value: "hunter2"},
		"a": {Value: "c"}}
	if diff := cmp.Diff(want, b.jobs["my_job"].Props); diff != "" {
		t.Error(diff)
	}
	other := with(swap(appDocument, "my_app", "other_app"), `"cpuCount":0.1`)
	call(t, server, "POST", "/api/app", other)
	for body, field := range map[string]string{ // a secret must be given again if it would now go elsewhere
		swap(shown, "https://h/******", "https://evil/"): `"field":"props.webhook.secret"`,
		swap(shown, "https://h/******", "http://h/"):     `"field":"props.webhook.secret"`,
		`{"jobName":"my_job","appName":"other_app"}`:     `"field":"env.TOKEN"`,
	} {
		answer, text := call(t, server, "PUT", "/api/job/update", body)
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, field) ||
			strings.Count(text, `"field"`) != 1 || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %d %s", body, answer.StatusCode, text)
		}
	}
	shown = swap(shown, "my_job", "other")
	if answer, text := call(t, server, "POST", "/api/job/register",
		shown); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text,
		"give the secret itself") {
		t.Errorf("another job with hidden secrets: %d %s", answer.StatusCode, text)
	}
	ask("DELETE", "/api/job/my_job/deregister", "")
}

// TestReservedNames: no document may have a name that a route uses [D05].
func TestReservedNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"check", "list"}, api.ReservedAppNames()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"check", "deregister", "events", "jobs", "register", "statistics", "tasks", "trigger",
		"update"}, api.ReservedJobNames()); diff != "" {
		t.Error(diff)
	}
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	call(t, server, "POST", "/api/app", appDocument)
	before := b.changed()
	try := func(path, field, document string, names []string) {
		for _, name := range names {
			answer, text := call(t, server, "POST", path, document+`"`+name+`"}`)
			if answer.StatusCode != http.StatusUnprocessableEntity ||
				!strings.Contains(text, `"field":"`+field+`","value":"`+name+`"`) {
				t.Errorf("%s %s: %d %s", field, name, answer.StatusCode, text)
			}
		}
	}
	try("/api/app", "appName", strings.TrimSuffix(swap(appDocument, `"appName":"my_app",`, ""), "}")+`,"appName":`,
		api.ReservedAppNames())
	try("/api/job/register", "jobName", strings.TrimSuffix(swap(jobDocument, `"jobName":"my_job",`, ""),
		"}")+`,"jobName":`, api.ReservedJobNames())
	if b.changed() != before {
		t.Error("something was changed")
	}
}

// TestPathVariablesAreDecoded: variables in the path are decoded [D02].
func TestPathVariablesAreDecoded(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	call(t, server, "POST", "/api/app", appDocument)
	if answer, text := call(t, server, "GET", "/api/app/my%5Fapp", ""); answer.StatusCode != http.StatusOK ||
		text != appStored+"\n" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	for _, id := range []string{"a%2Fb", "a+b", "a%2Bb", "%C3%A4%25"} {
		call(t, server, "POST", "/api/task/"+id+"/forget", "")
	}
	if diff := cmp.Diff([]string{"a/b", "a+b", "a+b", "ä%"}, b.forgot); diff != "" {
		t.Error(diff)
	}
}

func TestHeadWorksWhereGetDoes(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.place("t1", true)
	f := &files{}
	f.set("/sandbox/tasks/1/stdout", "hello")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	for _, path := range []string{"/", "/api/app/list", "/api/job/jobs", "/healthz", "/metrics",
		"/api/task/t1/logs?follow=true"} {
		answer, text := call(t, server, "HEAD", path, "")
		if answer.StatusCode != http.StatusOK || text != "" {
			t.Errorf("HEAD %s: %d %q", path, answer.StatusCode, text)
		}
	}
}

func TestFrontPage(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Version: "1.2.3"})
	answer, text := call(t, server, "GET", "/", "")
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") || strings.Count(text, "\ncurl ") != 4 ||
		!strings.Contains(text, "1.2.3") || !strings.Contains(text, "curl "+server.URL+"/api/app/list") ||
		!strings.Contains(text, "curl "+server.URL+"/api/executions") {
		t.Error(text)
	}
}

func TestArtifactsAreServedAsIs(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Artifact: oneArtifact(t, "there")})
	if answer, text := call(t, server, "GET", "/artifacts/there", ""); text != "binary of there" ||
		!strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
		t.Error(text, answer.Header)
	}
	if answer, text := call(t, server, "GET", "/artifacts/there", "",
		"Range: bytes=7-8"); answer.StatusCode != http.StatusPartialContent || text != "of" {
		t.Error(answer.StatusCode, text)
	}
}

// TestReadiness: /readyz says what is missing.
func TestReadiness(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.health = scheduler.Health{Leading: true, Detail: "the cluster's events do not come in; subscribing again"}
	server := start(t, api.Options{Scheduler: b})
	answer, text := call(t, server, "GET", "/readyz", "")
	want := `{"error":{"code":"not_ready","message":"the cluster's events do not come in; subscribing again","fields":[]}}` + "\n"
	if answer.StatusCode != http.StatusServiceUnavailable || text != want {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if answer, _ := call(t, server, "GET", "/healthz", ""); answer.StatusCode != http.StatusOK {
		t.Error("a process that waits for its cluster is healthy")
	}
}

// TestDocumentFieldsAreAllAnswered detects a field that the answer lacks because an embedded field of the same name
// hides it.
func TestDocumentFieldsAreAllAnswered(t *testing.T) {
	t.Parallel()
	for _, document := range []any{app.Config{}, jobs.Config{}} {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for _, ours := range []string{"disabled", "notes", "noteReasons"} {
			if _, taken := fields[ours]; taken {
				t.Errorf("%T has a field %s", document, ours)
			}
		}
	}
}

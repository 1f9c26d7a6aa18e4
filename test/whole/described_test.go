package whole_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/described"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// conversation sends requests to a server, and compares them with its own description of the API.
type conversation struct {
	*system.Machine
	described *described.Description
	token     string
}

// ask sends a request and returns the answer, which must have one of these statuses, or 200 if none is given.
func (c *conversation) ask(route, body string, statuses ...int) string {
	c.Helper()
	method, path, _ := strings.Cut(route, " ")
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL()+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		if !strings.ContainsAny(body, `{"`) {
			r.Header.Set("Content-Type", "text/plain")
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.Fatalf("%s: %v", route, err)
	}
	if len(statuses) == 0 {
		statuses = []int{http.StatusOK}
	}
	if !slices.Contains(statuses, answer.StatusCode) {
		c.Errorf("%s: %d %.500s, want %v", route, answer.StatusCode, text, statuses)
	}
	if err := c.described.Check(r, []byte(body), answer, text); err != nil {
		c.Errorf("this does not match the description: %v", err)
	}
	return string(text)
}

// field returns a field of an answer.
func (c *conversation) field(text, name string) string {
	c.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil || all[name] == nil {
		c.Fatalf("no %s in %s: %v", name, text, err)
	}
	return fmt.Sprint(all[name])
}

// TestTheDescriptionHolds sends valid and invalid requests to every route of a real server. Requests and answers must
// match the description.
func TestTheDescriptionHolds(t *testing.T) {
	m := start(t)
	document, err := described.New([]byte(m.OK("GET", "/api/openapi.json", "")))
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{Machine: m, described: document}
	c.documents()
	c.runs()
	c.cluster()
	c.people()
	// These routes may lack a successful answer: their answer does not end, they need an identity provider or an
	// unreachable agent, only an agent or a browser knows their address, or they may be called only rarely.
	others := []string{"GET /api/events", "GET /api/oidc/callback", "GET /api/oidc/login", "GET /artifacts/{name}",
		"GET /static/{hash}/{file}", "POST /api/task/{taskId}/forget",
		"POST /api/operate/reconcile/implicit"}
	for _, name := range document.Unanswered() {
		if !slices.Contains(others, name) {
			t.Errorf("%s was never answered with success", name)
		}
	}
}

// documents calls the routes about apps and jobs.
func (c *conversation) documents() {
	c.Helper()
	c.Packages.Serve("/a.tar", system.Tar(c, "",
		only(`echo one; echo two >&2; test "$ELASTICJOB_JOB_PARAMETER" != fail`)))
	app := fmt.Sprintf(`{"appName":"a","appURL":%q,"bootstrapScript":"bin/start.sh","cpuCount":0.01,"memoryMB":32}`,
		c.Packages.URL("/a.tar"))
	job := `{"jobName":"j","appName":"a","jobExecutionType":"TRANSIENT","shardingTotalCount":2,"cpuCount":0.01,"memoryMB":1,"env":{"A":"b","C":{"value":"secret-one","secret":true}},"props":{"x":"y"}}`
	c.ask("POST /api/app/check", app)
	c.ask("POST /api/app?check=true", app)
	c.ask("POST /api/app", app, http.StatusConflict)
	c.ask("POST /api/app", `{"appName":"b","memoryMb":1}`, http.StatusUnprocessableEntity)
	c.ask("POST /api/app", `{`, http.StatusBadRequest)
	c.ask("PUT /api/app", `{"appName":"a","memoryMB":33,"appCacheEnable":null}`)
	c.ask("PUT /api/app", `{"appName":"none"}`, http.StatusNotFound)
	for _, route := range []string{"GET /api/app/list", "GET /api/app/a", "GET /api/app/a/disable",
		"POST /api/app/a/disable", "POST /api/app/a/enable", "DELETE /api/app/a/disable", "GET /api/example",
		"GET /api/schema/app", "GET /api/schema/job",
		"GET /api/cron?cron=0+0+3+?+*+MON-FRI&timeZone=Europe/Berlin&count=2&language=zh",
		"GET /artifacts/example.tar.gz", "GET /", "GET /healthz", "GET /readyz",
		"GET /metrics", "GET /api/docs", "GET /api/openapi.json", "GET /api/login"} {
		c.ask(route, "")
	}
	c.ask("GET /api/cron?cron=x", "", http.StatusUnprocessableEntity)
	c.ask("GET /api/app/none", "", http.StatusNotFound)
	c.ask("GET /artifacts/none", "", http.StatusNotFound)
	c.ask("GET /api/jobs?per_page=0&sort=x", "", http.StatusBadRequest)
	c.ask("POST /api/job/check?language=en", job)
	c.ask("POST /api/job/register", job)
	c.ask("POST /api/job/register", job, http.StatusConflict)
	c.ask("POST /api/job/register", `{"jobName":"k","appName":"a","cron":"x"}`, http.StatusUnprocessableEntity)
	c.ask("POST /api/job/check?update=true", `{"jobName":"j","jobParameter":"p"}`)
	c.ask("PUT /api/job/update", `{"jobName":"j","cron":"0 0 3 1 1 ? 2099","jobParameter":null}`)
	for _, route := range []string{"GET /api/job/jobs", "GET /api/job/jobs/j", "GET /api/job/j/disable",
		"POST /api/job/j/pause", "POST /api/job/j/resume", "POST /api/job/j/disable", "POST /api/job/j/enable",
		"POST /api/job/j/shutdown", "DELETE /api/job/j/disable", "GET /api/job/j/explain"} {
		c.ask(route, "")
	}
	c.ask("POST /api/job/register", strings.Replace(job, `"j"`, `"d"`, 1))
	c.ask("DELETE /api/job/d/deregister", "")
	c.ask("POST /api/job/register", strings.Replace(job, `"j"`, `"d"`, 1))
	c.ask("DELETE /api/job/deregister", "d")
}

// runs calls the routes about executions, output and history.
func (c *conversation) runs() {
	c.Helper()
	good := c.field(c.ask("POST /api/job/trigger", "j"), "executionId")
	task := c.Await(good, "FINISHED").Shards[0].TaskID
	bad := c.field(c.ask("POST /api/job/j/trigger", `{"jobParameter":"fail","env":{"LEVEL":"debug"}}`), "executionId")
	c.ask("POST /api/job/none/trigger", "", http.StatusNotFound)
	c.Await(bad, "FAILED")
	for _, route := range []string{"GET /api/executions?job=j&state=FAILED,FINISHED&since=24h&limit=1",
		"GET /api/job/j/executions", "GET /api/execution/" + bad, "GET /api/job/j/grid?limit=2",
		"GET /api/job/j/changes?limit=1",
		"GET /api/task/" + task + "/logs?stream=stderr&tail=100", "GET /api/task/" + task + "/logs?follow=true",
		"GET /api/task/" + task + "/logs/search?q=one", "GET /api/job/j/explain", "GET /api/job/tasks/failover"} {
		c.ask(route, "")
	}
	c.ask("GET /api/task/"+task+"/logs?stream=stdout.1", "", http.StatusBadRequest)
	c.ask("GET /api/task/none/logs", "", http.StatusNotFound)
	c.ask("GET /api/execution/none", "", http.StatusNotFound)
	c.Await(c.field(c.ask("POST /api/execution/"+bad+"/again", ""), "executionId"), "FAILED")
	c.ask("POST /api/execution/"+good+"/kill", "", http.StatusConflict)
	c.Until("the history has the run", func() string {
		if text := c.ask("GET /api/job/events/executions?jobName=j&isSuccess=true&per_page=1",
			""); strings.Contains(text, `"rows":[]`) {
			return text
		}
		return ""
	})
	for _, route := range []string{"GET /api/job/events/statusTraces?jobName=j&sort=creationTime&order=ASC",
		"GET /api/job/statistics/tasks/results?since=last24hours", "GET /api/job/statistics/tasks/results/online",
		"GET /api/job/statistics/tasks/running", "GET /api/job/statistics/jobs/running?since=lastWeek",
		"GET /api/job/statistics/jobs/register", "GET /api/job/statistics/jobs/executionType",
		"GET /api/job/j/statistics?since=24h"} {
		c.ask(route, "")
	}
	c.ask("GET /api/job/statistics/tasks/results/none", "", http.StatusNotFound)
	c.ask("GET /api/job/events/executions?page=0", "", http.StatusBadRequest)
}

// cluster calls the routes about running tasks, and ends them.
func (c *conversation) cluster() {
	c.Helper()
	path, release := c.Hold()
	defer release()
	c.App("long", only(`while [ -e "$HOLD" ]; do sleep 0.05; done`), nil)
	c.Job("l", "long", system.Doc{"env": env("HOLD", path)})
	id := c.Trigger("l")
	task := c.AwaitShards(id, "RUNNING").Shards[0].TaskID
	next := c.Trigger("l") // waits for the first one
	for _, route := range []string{"GET /api/job/tasks/running", "GET /api/job/tasks/ready",
		"GET /api/execution/" + id, "GET /api/jobs?search=l&sort=lastRun&order=DESC", "GET /api/overview",
		"GET /api/overview/fires",
		"GET /api/overview/series?range=day", "GET /api/operate/sandbox?appName=long", "GET /api/operate/faulty",
		"GET /api/audit?limit=2", "GET /api/leader", "GET /api/job/l/explain"} {
		c.ask(route, "")
	}
	var seen struct{ Agents []struct{ ID string } }
	if err := json.Unmarshal([]byte(c.ask("GET /api/cluster?per_page=5", "")), &seen); err != nil ||
		len(seen.Agents) == 0 {
		c.Fatalf("no agents: %v", err)
	}
	c.ask("GET /api/cluster/agents/"+seen.Agents[0].ID, "")
	c.ask("GET /api/cluster/agents/none", "", http.StatusNotFound)
	c.ask("POST /api/task/"+task+"/forget", "", http.StatusNotFound)
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/cordon", `{"reason":"its disk fails"}`)
	c.ask("GET /api/cluster", "")
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/uncordon", "")
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/dead", "", http.StatusConflict)
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/drain", `{"reason":"reboot","deadlineSeconds":3600}`)
	c.ask("GET /api/cluster", "")
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/uncordon", "")
	c.ask("POST /api/agent/none/dead", `{"force":true}`, http.StatusNotFound)
	c.ask("POST /api/agent/none/uncordon", "", http.StatusNotFound)
	c.ask("POST /api/task/"+task+"/kill", "")
	c.Await(id, "KILLED")
	c.ask("POST /api/execution/"+next+"/kill", "")
	c.ask("POST /api/operate/reconcile/explicit", "")
	c.ask("POST /api/operate/reconcile/implicit", "", http.StatusOK, http.StatusTooManyRequests)
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/dead", `{"reason":"burnt","force":true}`)
	c.ask("POST /api/agent/"+seen.Agents[0].ID+"/uncordon", "")
	c.ask("DELETE /api/app/long", "", http.StatusConflict)
	c.ask("DELETE /api/app/long?jobs=true", "")
}

// people calls the routes about users and tokens, and finally ends all logins.
func (c *conversation) people() {
	c.Helper()
	body := fmt.Sprintf(`{"username":"ann","password":%q}`, password)
	c.ask("POST /api/login", body, http.StatusForbidden)
	c.ask("POST /api/users", fmt.Sprintf(`{"name":"ann","password":%q,"role":"admin"}`, password))
	c.ask("GET /api/app/list", "", http.StatusUnauthorized)
	c.ask("POST /api/login", `{"username":"ann","password":"a wrong one"}`, http.StatusUnauthorized)
	c.ask("POST /api/login", `{"user":"ann"}`, http.StatusUnprocessableEntity)
	c.ask("POST /api/session", body)
	c.token = c.field(c.ask("POST /api/login", body), "accessToken")
	c.ask("POST /api/users", fmt.Sprintf(`{"name":"bob","password":%q,"role":"viewer","apps":["a*"]}`, password))
	c.ask("POST /api/tokens", `{"name":"ci","role":"operator","expires":"2999-01-01T00:00:00Z"}`)
	for _, route := range []string{"GET /api/session", "GET /api/users", "GET /api/users/bob", "GET /api/tokens",
		"DELETE /api/users/bob/logins", "GET /healthz", "GET /api/overview", "DELETE /api/tokens/ci"} {
		c.ask(route, "")
	}
	c.ask("PUT /api/users/bob", `{"role":"operator","apps":["a*"]}`)
	c.ask("PUT /api/users/bob/password", `{"password":"another long password"}`)
	c.ask("DELETE /api/tokens/none", "", http.StatusNotFound)
	admin := c.token
	c.token = c.field(c.ask("POST /api/login", `{"username":"bob","password":"another long password"}`), "accessToken")
	for _, route := range []string{"GET /api/overview", "GET /api/jobs", "GET /api/executions",
		"GET /api/openapi.json"} {
		c.ask(route, "")
	}
	c.ask("GET /api/cluster", "", http.StatusForbidden)
	c.ask("DELETE /api/session", "")
	c.token = admin
	c.ask("DELETE /api/users/bob", "")
	c.ask("DELETE /api/logins", "")
}

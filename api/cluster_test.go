package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), FrameworkName: "batch"})
	const use = `{"total":null,"used":0,"free":null}`
	const agent = `"cpus":` + use + `,"memoryMB":` + use + `,"tasks":0,"offer":null,"note":""`
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/cluster?search=H&page=2&per_page=1", http.StatusOK,
			`{"subscribed":true,"since":null,"master":null,"frameworkId":"f1","frameworkName":"batch","agentsTotal":2,"cpus":` + use + `,"memoryMB":` + use +
				`,"offersHeld":0,"agents":[{"id":"S1","hostname":"h","state":"REGISTERED","since":"2026-05-01T12:00:00Z",` + agent + `}],"executors":[],"machines":[],"startFailures":[],"startFailuresTotal":0}`},
		{"/api/cluster", http.StatusOK, `"agentsTotal":2`},
		{"/api/cluster?page=0&per_page=501&who=me", http.StatusBadRequest,
			`"fields":[{"field":"who","value":"me","message":"unknown parameter; this route takes search, page, per_page"},` +
				`{"field":"page","value":"0","message":"must be a whole number from 1 to 1000000"},{"field":"per_page","value":"501","message":"must be a whole number from 1 to 500"}]`},
		{"/api/cluster/agents/S0", http.StatusOK, `{"id":"S0","hostname":"","state":null,"since":null,` + agent + `,"executors":[],"startFailures":[],"running":[]}`},
		{"/api/cluster/agents/S1", http.StatusNotFound, `"agent_not_found"`},
		{"/api/cluster/agents/S0?x=1", http.StatusBadRequest, `this route takes none`},
	} {
		if answer, text := call(t, server, "GET", c.path, ""); answer.StatusCode != c.status ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: %d\n got %s\nwant %s", c.path, answer.StatusCode, text, c.want)
		}
	}
}

// TestCordon: a cordon requires a reason, and all that is wrong with a request is reported at once.
func TestCordon(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"h/cordon", `{"reason":" its disk fails "}`, http.StatusOK,
			`{"machine":"h","agents":["S0","S1"],"cordon":{"since":"2026-05-01T12:00:00Z","by":"ann","reason":"its disk fails","until":null,"dead":null,"drain":null}}`},
		{"h/cordon", `{"reason":"a","until":"2999-01-01T00:00:00Z"}`, http.StatusOK, `"until":"2999-01-01T00:00:00Z"`},
		{"h/cordon", `{}`, http.StatusUnprocessableEntity, `{"field":"reason","value":"","message":"is missing: say for the others`},
		{"h/cordon", `{"until":"foo","reason":1}`, http.StatusUnprocessableEntity,
			`"fields":[{"field":"reason","value":"","message":"must be a text"},` +
				`{"field":"until","value":"","message":"must be a time such as 2026-05-01T12:00:00Z"}]`},
		{"h/cordon", `{"until":"2001-01-01T00:00:00Z","reason":"a\nb","force":1,"why":1}`, http.StatusUnprocessableEntity,
			`"fields":[{"field":"why","value":"","message":"unknown field; there are reason, until, force"},` +
				`{"field":"reason","value":"","message":"must be one line without control characters"},` +
				`{"field":"until","value":"","message":"is in the past: name a later time, or leave it out for a cordon without an end"},` +
				`{"field":"force","value":"","message":"must be true or false"}]`},
		{"h/cordon", `{"reason":"` + strings.Repeat("x", 501) + `"}`, http.StatusUnprocessableEntity, `at most 500 characters`},
		{"h/cordon", ``, http.StatusBadRequest, `with reason, until, force`},
		{"g/cordon", `{"reason":"a"}`, http.StatusNotFound, `machine_not_found`},
		{"a%2Fb/cordon", `{"reason":"a"}`, http.StatusNotFound, `there can be none`},
		{"h/drain", `{"reason":"reboot","deadlineSeconds":60}`, http.StatusOK,
			`"drain":{"since":"2026-05-01T12:00:00Z","deadline":"2026-05-01T12:01:00Z","drained":null,"left":[{"executionId":"","jobName":"my_job","item":0,"taskId":"","reason":"no room elsewhere: it needs 1 CPU; it is stopped at 2026-05-01T12:00:00Z","reasonCode":"drain_no_room"`},
		{"h/drain", `{"deadlineSeconds":0,"force":1}`, http.StatusUnprocessableEntity,
			`"fields":[{"field":"reason","value":"","message":"is missing: say for the others why the machine is not to be used"},` +
				`{"field":"force","value":"","message":"must be true or false"},` +
				`{"field":"deadlineSeconds","value":"","message":"must be a whole number from 1 to 2592000"}]`},
		{"h/drain", `{"reason":"a","deadlineSeconds":86400,"until":"2026-05-01T13:00:00Z"}`,
			http.StatusUnprocessableEntity, `{"field":"until","value":"","message":"is before the end of deadlineSeconds, and`},
		{"h/drain", `{"reason":"a","deadlineSeconds":60,"until":"2026-05-01T13:00:00Z"}`, http.StatusOK, `"deadline":`},
		{"h/drain", `{"reason":"a","deadlineSeconds":"x"}`, http.StatusUnprocessableEntity, `{"field":"deadlineSeconds","value":"","message":"must be a whole`},
		{"h/dead", ``, http.StatusConflict, `machine_heard`},
		{"h/dead", `{"force":true,"reason":"burnt"}`, http.StatusOK,
			`"reason":"burnt","until":null,"dead":"2026-05-01T12:00:00Z","drain":null},"attemptsOver":3}`},
		{"h/dead", `{"forced":true}`, http.StatusUnprocessableEntity, `unknown field; did you mean force?`},
		{"h/uncordon", ``, http.StatusOK, `{"machine":"h","agents":["S0","S1"],"cordon":null}`},
		{"g/uncordon", ``, http.StatusNotFound, `machine_not_found`},
	} {
		if answer, text := call(t, server, "POST", "/api/agent/"+c.path, c.body); answer.StatusCode != c.status ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d\n got %s\nwant %s", c.path, c.body, answer.StatusCode, text, c.want)
		}
	}
}

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
				`,"offersHeld":0,"agents":[{"id":"S1","hostname":"h","state":"REGISTERED","since":"2026-05-01T12:00:00Z",` + agent + `}],"executors":[],"startFailures":[],"startFailuresTotal":0}`},
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

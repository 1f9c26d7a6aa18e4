package whole_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestEndedExecutionsAreKept: the last 20 of each job that finished are still there, as they were, after kill -9; and
// their number is bounded.
func TestEndedExecutionsAreKept(t *testing.T) {
	const runs, kept = 750, 30 * 20
	m := start(t)
	m.App("fast", only(":"), nil)
	const jobs = 30 // so that many run at once
	var names []string
	for i := range jobs {
		name := "fast" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		names = append(names, name)
		m.Job(name, "fast", system.Doc{"props": env("script.command.line", "/bin/true")})
	}
	ids := make([]string, 0, runs)
	for len(ids) < runs {
		var round []string
		for _, name := range names {
			round = append(round, m.Trigger(name))
		}
		for _, id := range round {
			m.Await(id, "FINISHED")
		}
		ids = append(ids, round...)
	}
	last := ids[len(ids)-kept+jobs:] // within a round they may end in any order
	before := map[string]string{}
	for _, id := range last {
		before[id] = m.OK("GET", "/api/execution/"+id, "")
	}
	m.Kill()
	m.Start()
	for _, id := range last {
		if now := m.OK("GET", "/api/execution/"+id, ""); now != before[id] {
			t.Fatalf("execution %s was\n%s and is after kill -9\n%s", id, before[id], now)
		}
	}
	gone := 0
	for _, id := range ids[:len(ids)-kept] {
		if a := m.Call("GET", "/api/execution/"+id, ""); a.Status == 404 && strings.Contains(a.Body, "10000") {
			gone++
		}
	}
	if gone == 0 {
		t.Errorf("all %d are kept: nothing bounds them", runs)
	}
	m.Stop()
}

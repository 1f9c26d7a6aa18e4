package whole_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestEndedExecutionsAreKept: executions that have just ended are still there, unchanged, after kill -9, and the list
// contains all of them.
func TestEndedExecutionsAreKept(t *testing.T) {
	const runs = 750
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
	before := map[string]string{}
	for _, id := range ids {
		before[id] = m.OK("GET", "/api/execution/"+id, "")
	}
	m.Kill()
	m.Start()
	for _, id := range ids {
		if now := m.OK("GET", "/api/execution/"+id, ""); now != before[id] {
			t.Fatalf("execution %s was\n%s and is after kill -9\n%s", id, before[id], now)
		}
	}
	list := m.OK("GET", "/api/executions?state=FINISHED&limit=1000", "")
	for _, id := range ids {
		if !strings.Contains(list, `"executionId":"`+id+`"`) {
			t.Fatalf("%s is not in the list", id)
		}
	}
	m.Stop()
}

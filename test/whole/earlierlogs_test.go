package whole_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestLogsOfEarlierAttempts: the output of a shard's earlier attempts can be read. Of a very large output, the end can
// be read, and the beginning is dropped. A repeated run gets the parameters with which the first one was triggered.
func TestLogsOfEarlierAttempts(t *testing.T) {
	m := start(t)
	m.App("a", only(`echo "attempt $ELASTICJOB_ATTEMPT of $WHAT"; [ "$ELASTICJOB_ATTEMPT" = 2 ] || exit 3
		exec 5>&1; seq -f "line %.0f of a long output" 1 3000000; until head -c 12 /proc/self/fd/5 | grep -q elasticjob; do sleep 0.05; done # until its beginning is dropped
		echo "no ERROR here"`), nil)
	m.Job("j", "a", system.Doc{"maxRetries": 1, "memoryMB": 64})
	var made struct{ ExecutionID string }
	run := func(path, body string) system.Shard {
		if err := json.Unmarshal([]byte(m.OK("POST", path, body)), &made); err != nil {
			t.Fatal(err)
		}
		shard := m.Await(made.ExecutionID, "FINISHED").Shards[0]
		if len(shard.Earlier) != 1 {
			t.Fatalf("%+v", shard)
		}
		if got := m.Logs(shard.Earlier[0].TaskID, ""); got != "attempt 1 of own\n" {
			t.Errorf("the first attempt: %q", got)
		}
		return shard
	}
	shard := run("/api/job/j/trigger", `{"env":{"WHAT":"own"}}`)
	run("/api/execution/"+made.ExecutionID+"/again", "")
	if got := m.Logs(shard.TaskID, "tail=20"); got != "no ERROR here\n" {
		t.Errorf("the tail: %.100q", got)
	}
	if got := m.OK("GET", "/api/task/"+shard.TaskID+"/logs/search?q=error&offset=85000000", ""); !strings.Contains(got,
		`"line":"no ERROR here"`) {
		t.Errorf("the search: %.300s", got)
	}
	got := m.Logs(shard.TaskID, "")
	first, rest, _ := strings.Cut(got, "\n") // perhaps a part of a line
	lines := strings.Split(strings.TrimSuffix(rest, "\nno ERROR here\n"), "\n")
	for i, line := range lines {
		if want := fmt.Sprintf("line %d of a long output", 3_000_000-len(lines)+1+i); line != want {
			t.Fatalf("%q, want %q", line, want)
		}
	}
	if len(got) < 32<<20 || len(got) > 64<<20 {
		t.Errorf("%d bytes are kept, from %q", len(got), first)
	}
}

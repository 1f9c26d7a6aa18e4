package whole_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestLogsOfEarlierAttempts: what a shard wrote before it was run again is there, and so is what was rotated out of
// its output. A run is repeated with what it had of its own.
func TestLogsOfEarlierAttempts(t *testing.T) {
	m := start(t)
	m.App("a", only(`echo "attempt $ELASTICJOB_ATTEMPT of $WHAT"; [ "$ELASTICJOB_ATTEMPT" = 2 ] || exit 3
		seq -f "line %.0f of a long output" 1 1200000; until [ "$(stat -Lc %s /proc/$$/fd/1)" -lt 33554432 ]; do sleep 0.05; done # until it is rotated
		echo "no ERROR here"`), nil)
	m.Job("j", "a", system.Doc{"maxRetries": 1, "memoryMB": 64})
	var made struct{ ExecutionID string }
	again := func(path, body string) system.Shard {
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
	shard := again("/api/job/j/trigger", `{"env":{"WHAT":"own"}}`)
	again("/api/execution/"+made.ExecutionID+"/again", "")
	if got := m.Logs(shard.TaskID, "tail=20"); got != "no ERROR here\n" {
		t.Errorf("the tail: %.100q", got)
	}
	if got := m.OK("GET", "/api/task/"+shard.TaskID+"/logs/search?q=error", ""); !strings.Contains(got,
		`"line":"no ERROR here"`) {
		t.Errorf("the search: %.300s", got)
	}
	// It is 32 MiB long: the last 100 bytes of those are there, and no more.
	if got := m.Logs(shard.TaskID, fmt.Sprint("stream=stdout.1&offset=", 32<<20-100)); len(got) != 100 ||
		!strings.Contains(got, " of a long output\nline ") {
		t.Errorf("the end of what was rotated: %q", got)
	}
}

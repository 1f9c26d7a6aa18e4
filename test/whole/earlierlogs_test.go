package whole_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestLogsOfEarlierAttempts: the output of a shard's earlier attempts and the rotated part of its output can be read.
// Repeating a run uses the settings that the run had of its own.
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
	// The rotated part is 32 MiB long, of which these are the last 100 bytes.
	if got := m.Logs(shard.TaskID, fmt.Sprint("stream=stdout.1&offset=", 32<<20-100)); len(got) != 100 ||
		!strings.Contains(got, " of a long output\nline ") {
		t.Errorf("the end of what was rotated: %q", got)
	}
}

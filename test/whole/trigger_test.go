package whole_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestTriggerWithParameters: the parameters of a trigger reach the processes of its run and of its retries, even if the
// server is killed while the run waits. The next run has the job's own parameters.
func TestTriggerWithParameters(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", system.Files{"bin/start.sh": script(`while [ -e "$HOLD" ]; do sleep 0.1; done
[ "$ELASTICJOB_JOB_PARAMETER $ELASTICJOB_ATTEMPT" != "mine 1" ] || exit 1
echo "$ELASTICJOB_JOB_PARAMETER $ELASTICJOB_SHARDING_PARAMETER $LEVEL $OTHER"`)}, nil)
	m.Job("j", "a", system.Doc{"misfire": true, "maxRetries": 1, "jobParameter": "job",
		"shardingItemParameters": "0=zero", "env": env("HOLD", path, "LEVEL", "info", "OTHER", "kept")})

	first := m.Trigger("j")
	m.AwaitShards(first, "RUNNING")
	text := m.OK("POST", "/api/job/j/trigger",
		`{"jobParameter":"mine","shardingItemParameters":"0=own","env":{"LEVEL":"debug"}}`)
	own := strings.TrimSuffix(strings.TrimPrefix(text, `{"executionId":"`), "\"}\n")
	m.Refused(422, "invalid", "POST", "/api/job/j/trigger", `{"shardingItemParameters":"1=x"}`)
	m.Refused(400, "bad_json", "POST", "/api/job/j/trigger", `j`)
	m.Kill()
	m.Start()
	release()
	for id, want := range map[string]string{first: "job zero info kept\n", own: "mine own debug kept\n"} {
		e := m.Await(id, "FINISHED")
		if got := m.Logs(e.Shards[0].TaskID, ""); got != want {
			t.Errorf("%s wrote %q, want %q", id, got, want)
		}
	}
	if e := m.Run("j", "FINISHED"); m.Logs(e.Shards[0].TaskID, "") != "job zero info kept\n" {
		t.Errorf("the next run: %+v", e)
	}
}

package whole_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestKillWithoutDisabling kills a task, a waiting execution and a running execution by their ids, and the server in
// between. Neither retries nor failover run their shards again. The job's next run is normal.
func TestKillWithoutDisabling(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", system.Files{"bin/start.sh": script(`touch "$LEDGER.$ELASTICJOB_SHARDING_ITEM"
while [ -e "$HOLD" ]; do sleep 0.1; done`)}, nil)
	m.Job("j", "a", system.Doc{"shardingTotalCount": 2, "maxRetries": 3, "failover": true, "misfire": true,
		"env": env("HOLD", path)})

	one := m.Trigger("j")
	e := m.AwaitShards(one, "RUNNING")
	task := e.Shards[1].TaskID
	if got, want := m.OK("POST", "/api/task/"+task+"/kill", ""), `{"taskId":"`+task+`","killing":true}`+
		"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m.Kill()
	m.Start()
	m.Until("the task's shard is killed", func() string {
		if s := m.Execution(one).Shards[1]; s.State != "KILLED" || s.FailureCause != "killed on request" {
			return s.State + " " + s.FailureCause
		}
		return ""
	})
	if s := m.Execution(one).Shards[0]; s.State != "RUNNING" {
		t.Errorf("the other shard is %s", s.State)
	}
	m.Refused(409, "task_ended", "POST", "/api/task/"+task+"/kill", "")
	m.Refused(404, "task_not_found", "POST", "/api/task/none/kill", "")

	two := m.Trigger("j") // waits
	m.OK("POST", "/api/execution/"+two+"/kill", "")
	if e := m.Await(two, "KILLED"); e.Reason != "killed on request" {
		t.Errorf("%+v", e)
	}
	m.OK("POST", "/api/execution/"+one+"/kill", "")
	if e := m.Await(one, "KILLED"); e.Shards[0].State != "KILLED" || e.Shards[0].Attempt != 1 {
		t.Errorf("%+v", e)
	}
	m.Refused(409, "execution_ended", "POST", "/api/execution/"+one+"/kill", "")
	release()
	if e := m.Run("j", "FINISHED"); strings.Contains(e.Reason, "kill") {
		t.Errorf("%+v", e)
	}
}

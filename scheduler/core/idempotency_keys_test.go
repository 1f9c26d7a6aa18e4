package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestT3RepeatedKeyOfARemovedExecution repeats the key of a trigger in the step that removes the ended execution of
// that trigger. The answer must still name the execution, also after a restart, until the key expires.
func TestT3RepeatedKeyOfARemovedExecution(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.MaxEnded = 1
	s.restart()
	s.app()
	s.job(oneShard, withMisfire)
	id := s.step(Request{Token: 1, Event: operator.TriggerRequested{Job: "my_job", Key: "k"}}).Replies[0].ExecutionID
	s.offer("S1", 8, 8192)
	l := s.answerAccepts()
	s.reportRunning(l)
	s.reportFinished(l)
	l = s.startWithCPUs(8)
	s.reportRunning(l)
	// The first event ends an execution, which displaces the one with the key. The second event repeats the key.
	d := s.step(s.clusterEvent(cluster.Update{TaskID: l[0].TaskID, AgentID: "S1", State: cluster.Finished,
		Source: cluster.FromExecutor, UUID: []byte("x")}),
		Request{Token: 3, Event: operator.TriggerRequested{Job: "my_job", Key: "k"}})
	if got := d.Replies[0].ExecutionID; got != id || d.Replies[0].Err != nil {
		t.Fatalf("the repeated key gave %q, want %q as before", got, id)
	}
	if s.core.executions.Get(id) != nil {
		t.Fatal("the execution was not removed, or was created again")
	}
	s.restart()
	d = s.step(Request{Token: 4, Event: operator.TriggerRequested{Job: "my_job", Key: "k"}})
	if d.Replies[0].ExecutionID != id || s.core.executions.Get(id) != nil {
		t.Fatalf("after a restart the repeated key gave %+v", d.Replies)
	}
	s.runFor(25 * time.Hour)
	if s.core.executions.NumKeys() != 0 {
		t.Fatal("an expired key is kept")
	}
}

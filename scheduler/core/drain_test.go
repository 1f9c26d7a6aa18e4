package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestM3EachShardWithoutRoomElsewhereSaysSo drains a machine just after both shards of a daemon began there, so that
// they may not both be moved yet. Later both may be moved, but no other machine has room for them. Both must be shown
// with that reason, although no offers arrive.
func TestM3EachShardWithoutRoomElsewhereSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) {
		c.JobExecutionType, c.Cron, c.ShardingTotalCount = jobs.Daemon, "0/10 * * * * ?", 2
	})
	s.offer("S1", 8, 8192)
	s.reportRunning(s.answerAccepts())
	s.step(Request{Token: 3, Event: operator.DrainRequested{CordonRequested: operator.CordonRequested{Machine: "S1",
		Reason: "kernel update"}}})
	s.runFor(5 * time.Minute)
	left := s.core.drainer.Left("S1")
	if len(left) != 2 {
		t.Fatalf("left on the machine are %+v, want both shards", left)
	}
	for _, l := range left {
		if l.Why.Code() != "drain_no_room" {
			t.Errorf("item %d is left because %s", l.Item, l.Why)
		}
	}
}

package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// TestE2E4EachPartitionAwareState checks for each state that the master reports to a PARTITION_AWARE framework whether
// a running task is given up at once, or only after the unreachable time (rules E1, E2, E4 and the table of answers).
func TestE2E4EachPartitionAwareState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state      cluster.State
		registered bool // the agent is registered with this master
		atOnce     bool // the task is given up at once
	}{
		{cluster.Gone, true, true},
		{cluster.GoneByOperator, false, true},
		{cluster.Dropped, true, true},
		{cluster.Lost, true, true},
		{cluster.Unknown, true, true},
		{cluster.Unknown, false, false},
		{cluster.Unreachable, false, false},
	} {
		for _, failover := range []bool{false, true} {
			s := newStage(t)
			s.app()
			s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.Failover, j.UnreachableSeconds = 1, failover, 120 })
			s.trigger()
			s.offer("S1", 8, 8000)
			l := s.answerAccepts()[0]
			s.update(l, cluster.Running)
			if !c.registered {
				s.core.agents.MarkUnreachable("S1", s.now)
			}
			unreachableAfter := 2 * time.Minute
			since := s.now
			reason := cluster.ReasonReconciliation
			if c.state == cluster.Lost {
				reason = "AGENT_DISCONNECTED" // in an answer, LOST would be an end without a cause (rule S5)
			}
			s.update(l, c.state, fromMaster(reason), func(u *cluster.Update) {
				u.UnreachableSince = since.Add(-time.Minute) // by the master's clock, which must not matter
			})
			// outcome reports whether the shard is lost, and whether it waits to be run again.
			outcome := func() (lost, waiting bool) {
				for e := range s.core.executions.AllEnded() {
					lost = lost || e.Shard(0).State() == executions.Lost
				}
				return lost, len(s.core.views.FailoverShards()) == 1
			}
			if lost, waiting := outcome(); lost != (c.atOnce && !failover) || waiting != (c.atOnce && failover) {
				t.Errorf("%s, agent registered %v, failover %v: lost %v, waiting %v", c.state, c.registered, failover,
					lost, waiting)
			}
			if c.atOnce {
				continue
			}
			s.runFor(since.Add(unreachableAfter).Sub(s.now) - 10*time.Second)
			if lost, waiting := outcome(); lost || waiting {
				t.Errorf("%s, failover %v: given up too early", c.state, failover)
			}
			s.runFor(20 * time.Second)
			if lost, waiting := outcome(); lost == failover || waiting != failover {
				t.Errorf("%s, failover %v, after %s: lost %v, waiting %v", c.state, failover, unreachableAfter, lost,
					waiting)
			}
			if !isOrphan(s.core, l.TaskID) {
				t.Errorf("%s, failover %v: the task is no orphan (rule E5)", c.state, failover)
			}
		}
	}
}

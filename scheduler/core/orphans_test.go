package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

func TestE5AnOrphanSeenAliveBlocksEvenWithFailover(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withFailover)
	s.unreachable(l[0])
	for len(s.core.orphans.byID) == 0 {
		s.after(30 * time.Second)
	}
	d := s.update(l[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
	if len(calls[CallKill](d)) != 1 {
		t.Fatal("an orphan seen alive is killed")
	}
	s.after(10 * time.Second)
	s.offer("S2", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatal("the second attempt is launched while the first is known to run on an agent that is back")
	}
	s.update(l[0], cluster.Killed)
	s.offer("S2", 8, 8192)
	if got := s.accepted(); len(got) != 1 {
		t.Fatalf("%d launches after the orphan's end, want 1", len(got))
	}
}

func TestE5AnOrphanSeenAliveHoldsItsShardUntilItsAgentIsAwayForTwoMinutesAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withFailover)
	s.unreachable(l[0])
	s.until(3 * time.Minute)
	if len(s.core.orphans.byID) != 1 {
		t.Fatal("the attempt was not abandoned")
	}
	s.update(l[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.until(10 * time.Second)
	s.unreachable(l[0])
	s.offer("S2", 8, 8192)
	s.until(100 * time.Second)
	s.restart()
	s.until(time.Minute)
	s.offer("S2", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatal("a second attempt beside one that was alive just now, or before the new master was asked about it")
	}
	s.unreachable(l[0])
	s.until(10 * time.Second)
	s.offer("S2", 8, 8192)
	if got := s.accepted(); len(got) != 1 {
		t.Fatalf("%d launches, want the shard's next attempt", len(got))
	}
}

// The master's answer about a task under another framework id says nothing about the task.
func TestE5AnAnswerUnderAnotherFrameworkIDReleasesNoOrphan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.startOn("S1", func(*jobs.Config) {})
	s.step(s.clusterEvent(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: cluster.Unreachable, Source: cluster.FromMaster, UnreachableSince: s.now}))
	s.until(11 * time.Minute) // abandoned
	s.removeFramework()
	for _, call := range calls[CallReconcile](s.last) {
		for _, ref := range call.Tasks {
			if ref.TaskID == l.TaskID {
				t.Error("it is asked about under an id that it does not have")
			}
		}
	}
	for _, state := range []cluster.State{cluster.Gone, cluster.Unknown, cluster.Unreachable} {
		s.step(s.clusterEvent(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: state, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}))
	}
	s.step(ReconcileRequested{Token: 2, Explicit: true})
	s.until(5 * time.Minute)
	if len(s.core.orphans.byID) != 1 || s.core.orphans.of("my_job", 0) == nil {
		t.Fatalf("orphans %v", s.core.orphans.byID)
	}
	s.trigger()
	if _, launched := s.launchedWithin(5*time.Minute, "S1", cluster.Gone); !launched {
		t.Error("not launched though its agent has been registered for long")
	}
}

func TestAShardThatAnOrphanBlocksHasNoOffersHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startOn("S1", func(j *jobs.Config) { j.Failover = true })
	s.removeFramework()
	s.until(10 * time.Second)
	s.offer("S2", 4, 1000)
	if s.core.flow.held.Len() > 0 || len(calls[CallDecline](s.last)) != 1 {
		t.Errorf("%+v", s.last.Calls)
	}
}

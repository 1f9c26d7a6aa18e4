package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestX2AnExecutorStartedAgainByALateAcceptIsNotShutDownWithItsTasks lets an executor crash while an ACCEPT for it is
// on its way, so that the agent starts it a second time. The core must not shut it down while it has a task, and must
// launch nothing more on it.
func TestX2AnExecutorStartedAgainByALateAcceptIsNotShutDownWithItsTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)
	s.reportFinished(l)
	s.trigger()
	s.offer("S1", 7, 8192, l[0].Executor.ID)
	// The executor crashes while the ACCEPT is on its way.
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1", ExecutorID: l[0].Executor.ID, Status: 9}))
	second := s.answerAccepts()
	if len(second) != 1 || second[0].Executor.ID != l[0].Executor.ID {
		t.Fatalf("launched %v, want one task on the same executor", second)
	}
	s.reportRunning(second)
	if d := s.offer("S1", 6, 8000, l[0].Executor.ID); len(calls[step.CallShutdown](d)) > 0 {
		t.Fatal("SHUTDOWN for an executor with a running task")
	}
	s.reportFinished(second)
	s.trigger()
	s.offer("S1", 7, 8000, l[0].Executor.ID)
	if third := s.answerAccepts(); len(third) != 1 || third[0].Executor.ID == l[0].Executor.ID {
		t.Fatalf("launched %v on an executor whose end was reported", third)
	}
}

// TestX3AnExecutorThatNeverStartedNeedsItsResourcesAgain checks that after a dropped launch the next launch again needs
// resources for the executor, which was never started.
func TestX3AnExecutorThatNeverStartedNeedsItsResourcesAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app() // whose executor needs 0.5 CPU
	s.job(oneShard)
	l := s.startWithCPUs(1.6)
	s.update(l[0], cluster.Dropped, fromMaster(cluster.ReasonInvalidOffers))
	s.offer("S1", 1.4, 8192)
	s.runFor(time.Minute)
	if len(s.accepts) > 0 {
		t.Fatal("launched on 1.4 CPU, although the executor was never started, and needs 1.5 together with the shard")
	}
	s.offer("S1", 1.5, 8192)
	if got := s.answerAccepts(); len(got) != 1 {
		t.Fatalf("%d launches on 1.5 CPU, want 1", len(got))
	}
}

// TestX2AnExecutorOnAnAgentThatIsAwayIsEndedWhenItComesBack checks that the record of an executor is kept while its
// agent is away, and that an offer that shows the agent again leads to a SHUTDOWN.
func TestX2AnExecutorOnAnAgentThatIsAwayIsEndedWhenItComesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)
	x := l[0].Executor.ID
	s.reportFinished(l)
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"})) // the agent was removed
	s.runFor(50 * time.Minute)                             // on a registered agent, SHUTDOWN is repeated for less
	if s.core.executors.Get(x) == nil {
		t.Fatal("the executor has no record any more, although it may still run")
	}
	// The next offer shows that the agent is back and the executor alive.
	if d := s.offer("S1", 7, 8192, x); len(calls[step.CallShutdown](d)) != 1 {
		t.Fatalf("no SHUTDOWN when its agent is back: %+v", d.Calls)
	}
	s.offer("S1", 8, 8192)
	if s.core.executors.Get(x) != nil {
		t.Fatal("the record of an executor is kept although its agent's offer no longer names it")
	}
}

// TestX3LateReportsFromBeforeAnAcceptAreIgnored lets an executor end just before an ACCEPT arrives. The agent then
// starts the executor again for the ACCEPT, and the reports of its first end come after the answer. They must not lead
// to a SHUTDOWN while a task of the ACCEPT may run.
func TestX3LateReportsFromBeforeAnAcceptAreIgnored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "other" })
	first := s.startWithCPUs(8)
	s.reportRunning(first)
	x := first[0].Executor.ID
	s.triggerJob("other")
	s.offer("S1", 8, 8192, x)
	second := s.answerAccepts()
	if len(second) != 1 || second[0].Executor.ID != x {
		t.Fatalf("launched %+v, want one task on %s", second, x)
	}
	// Only now come the reports of the executor's end before the ACCEPT.
	s.update(first[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1", ExecutorID: x, Status: 9}))
	s.offer("S1", 8, 8192)
	if d := s.offer("S1", 6, 8192, x); len(calls[step.CallShutdown](d)) > 0 {
		t.Fatal("SHUTDOWN for an executor whose last ACCEPT has a live task (X2)")
	}
	s.reportRunning(second)
	if d := s.offer("S1", 6, 8192, x); len(calls[step.CallShutdown](d)) > 0 {
		t.Fatal("SHUTDOWN for an executor with a running task (X2)")
	}
	s.reportFinished(second)
	s.runFor(time.Second)
	if r := s.core.executors.Get(x); r == nil || r.ShutdownTry() == 0 {
		t.Fatalf("an executor whose end was reported is not shut down after its last task: %+v", r)
	}
}

// TestX3OffersFromBeforeAnAcceptDoNotEndItsExecutor checks that an executor gets further tasks although an offer does
// not name it, while an ACCEPT for the executor is unanswered. The offer may have been made before the ACCEPT, which
// starts the executor.
func TestX3OffersFromBeforeAnAcceptDoNotEndItsExecutor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.offer("S1", 4, 8192)
	first := s.accepts[0].Launch.Tasks
	s.reportRunning(first)
	s.reportFinished(first)
	s.trigger()
	s.offer("S1", 4, 8192) // made before the ACCEPT, delivered after all of its tasks have ended
	launches := s.answerAccepts()
	if len(launches) != 6 {
		t.Fatalf("%d launches, want 6", len(launches))
	}
	for _, l := range launches[3:] {
		if l.Executor.ID != first[0].Executor.ID {
			t.Errorf("%s runs on %s, although %s exists", l.TaskID, l.Executor.ID, first[0].Executor.ID)
		}
	}
	d := s.offer("S1", 1, 8192, first[0].Executor.ID)
	if got := calls[step.CallShutdown](d); len(got) > 0 {
		t.Errorf("an executor with tasks is shut down: %+v", got)
	}
}

package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// What the simulated worlds of scheduler/sim found, as short stories.

// cutOff makes the last step's write one that a crash cut off: the entries whose path
// begins so stay as they were before.
func (s *stage) cutOff(before map[string][]byte, prefix string) {
	for path := range s.stored {
		if strings.HasPrefix(path, prefix) {
			delete(s.stored, path)
		}
	}
	for path, value := range before {
		if strings.HasPrefix(path, prefix) {
			s.stored[path] = value
		}
	}
}

func TestX1AnExecutorThatEndedUnderTheLastLeaderIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.finish(l)
	s.restart() // FAILURE came meanwhile, to nobody
	s.trigger()
	s.offer("S1", 8, 8192)
	again := s.accepted()
	if len(again) != 1 || again[0].Executor.ID == l[0].Executor.ID {
		t.Fatalf("launched on %v; executor %s is missing in the offer, so it is dead", again, l[0].Executor.ID)
	}
}

func TestX2AnExecutorStartedAgainByALateAcceptIsNotShutDownWithItsTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.finish(l)
	s.trigger()
	s.offer("S1", 7, 8192, l[0].Executor.ID)
	// The executor crashes while the ACCEPT is on its way: the agent starts it anew.
	s.step(s.told(cluster.Failure{AgentID: "S1", ExecutorID: l[0].Executor.ID, Status: 9}))
	again := s.accepted()
	if len(again) != 1 || again[0].Executor.ID != l[0].Executor.ID {
		t.Fatalf("launched %v, want one task on the same executor", again)
	}
	s.run(again)
	if d := s.offer("S1", 6, 8000, l[0].Executor.ID); len(calls[CallShutdown](d)) > 0 {
		t.Fatal("SHUTDOWN for an executor that runs a task of ours")
	}
	s.finish(again)
	s.trigger()
	s.offer("S1", 7, 8000, l[0].Executor.ID)
	if third := s.accepted(); len(third) != 1 || third[0].Executor.ID == l[0].Executor.ID {
		t.Fatalf("launched %v; an executor that was told to have ended gets nothing more", third)
	}
}

func TestX3AnExecutorThatNeverStartedIsPaidForAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app() // its executor takes 0.5 CPU
	s.job(oneShard)
	l := s.start(1.6)
	s.update(l[0], cluster.Dropped, fromMaster(cluster.ReasonInvalidOffers))
	s.offer("S1", 1.4, 8192)
	s.until(time.Minute)
	if len(s.accepts) > 0 {
		t.Fatal("one CPU and an executor of 0.5 do not fit 1.4; the executor was never started")
	}
	s.offer("S1", 1.5, 8192)
	if got := s.accepted(); len(got) != 1 {
		t.Fatalf("%d launches on what just fits, want 1", len(got))
	}
}

func TestE5AGhostSeenAliveBlocksEvenWithFailover(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withFailover)
	l := s.start(8)
	s.run(l)
	s.unreachable(l[0])
	for len(s.core.orphans) == 0 {
		s.after(30 * time.Second)
	}
	d := s.update(l[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
	if len(calls[CallKill](d)) != 1 {
		t.Fatal("a ghost seen alive is killed")
	}
	s.after(10 * time.Second)
	s.offer("S2", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatal("the second attempt is launched while the first is known to run on an agent that is back")
	}
	s.update(l[0], cluster.Killed)
	s.offer("S2", 8, 8192)
	if got := s.accepted(); len(got) != 1 {
		t.Fatalf("%d launches after the ghost's end, want 1", len(got))
	}
}

func TestX9RoomIsMadeForAllThatStartTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.finish(l)
	// Each of the three fits, all of them only without the idle executor.
	s.job(func(j *jobs.Config) {
		j.JobName, j.AppName, j.ShardingTotalCount, j.CPUCount = "big", "other_app", 3, 2.5
	})
	s.step(TriggerRequested{Token: 2, Job: "big"})
	d := s.offer("S1", 7.5, 8192, l[0].Executor.ID)
	if got := calls[CallShutdown](d); len(got) != 1 || got[0].ExecutorID != l[0].Executor.ID {
		d = s.after(2 * time.Second)
		if got = calls[CallShutdown](d); len(got) != 1 || got[0].ExecutorID != l[0].Executor.ID {
			t.Fatalf("SHUTDOWN %+v, want the idle executor's", got)
		}
	}
}

func TestWhatNeverFitsHoldsNoOffer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 1000 })
	s.trigger()
	d := s.offer("S1", 8, 8192)
	declined := calls[CallDecline](d)
	if len(declined) != 1 || declined[0].Refuse < 10*time.Second {
		t.Fatalf("declined %+v, want the offer, for long", declined)
	}
	if len(calls[CallSuppress](d)) > 0 {
		t.Fatal("SUPPRESS: a larger agent that comes would not be seen")
	}
}

func TestF4AShellNeverSleepsLong(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Cron = "0 0 3 * * ?" })
	s.step()
	if sleep := s.wake().Sub(s.now); sleep <= 0 || sleep > 10*time.Second {
		t.Fatalf("it sleeps %s; a wall clock that steps forward meanwhile would be noticed too late", sleep)
	}
}

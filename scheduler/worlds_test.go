package scheduler

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
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

func TestT5AnExecutionWhoseHeaderWasCutOffEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount, j.MemoryMB = 60, 0.1, 1 })
	id := s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepted()
	s.run(l)
	s.finish(l[1:])
	before := maps.Clone(s.stored)
	s.finish(l[:1])
	s.cutOff(before, pathExecution)
	s.restart()
	if got := s.execution(id).State; got != Finished {
		t.Fatalf("all shards are over, only the header is missing: it is %s", got)
	}
	s.trigger()
	s.offer("S1", 8, 8192)
	if got := s.accepted(); len(got) != 60 {
		t.Fatalf("the next execution launches %d tasks, want 60", len(got))
	}
}

func TestT5AGhostWhoseShardWasCutOffIsNone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.unreachable(l[0])
	before := maps.Clone(s.stored)
	for len(s.core.ghosts) == 0 {
		before = maps.Clone(s.stored)
		s.after(time.Minute)
	}
	s.cutOff(before, pathExecution)
	s.restart()
	if len(s.core.ghosts) > 0 {
		t.Fatal("a task is both live and given up")
	}
	s.update(l[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.finish(l)
	if len(s.core.executions) > 0 {
		t.Fatal("the task's end did not end its execution")
	}
}

func TestT5AnIdempotencyKeyIsWrittenAfterItsExecution(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	d := s.step(TriggerAsked{Token: 1, Job: "my_job", Key: "k"})
	place := func(prefix string) int {
		for i, w := range d.Writes {
			if strings.HasPrefix(w.Path, prefix+"/") {
				return i
			}
		}
		t.Fatalf("nothing is written under %s", prefix)
		return -1
	}
	if place(pathKey) < place(pathExecution) {
		t.Fatal("a crash between the two leaves a key that answers for an execution that never was")
	}
}

func TestT3AKeyWhoseWriteWasCutOffStillAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	ask := func() string {
		d := s.step(TriggerAsked{Token: 1, Job: "my_job", Key: "k"})
		if len(d.Replies) != 1 || d.Replies[0].Err != nil {
			t.Fatalf("%+v", d.Replies)
		}
		return d.Replies[0].ExecutionID
	}
	first := ask()
	s.cutOff(nil, pathKey)
	s.restart()
	s.offer("S1", 8, 8192)
	s.run(s.accepted())
	if again := ask(); again != first || s.execution(first).State != Running {
		t.Fatalf("the key made %s, %s; before %s", again, s.execution(first).State, first)
	}
}

func TestF5NoPrefixOfAWriteHasTwoLaunchedExecutions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withMisfire)
	s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepted()
	s.run(l)
	// Of the two ids, the next execution's sorts first.
	first := s.core.jobs["my_job"].queue[0].ID
	s.now = s.now.Add(-time.Hour)
	next := s.trigger()
	if next > first {
		t.Fatalf("%s sorts after %s: the test shows nothing", next, first)
	}
	d := s.step(
		s.told(cluster.Offers{Offers: []cluster.Offer{{ID: "O", AgentID: "S1", Resources: resources.Amount{CPUMilli: 7000, MemMilli: 8_000_000}, ExecutorIDs: []string{l[0].Executor.ID}}}}),
		s.told(cluster.Update{TaskID: l[0].TaskID, AgentID: "S1", ExecutorID: l[0].Executor.ID, State: cluster.Finished, Source: cluster.FromExecutor, UUID: []byte("u")}))
	var order []string
	for _, w := range d.Writes {
		if id, ok := strings.CutPrefix(w.Path, pathExecution+"/"); ok {
			order = append(order, id)
		}
	}
	if !slices.Equal(order, []string{first, next}) {
		t.Fatalf("written in the order %v, want %v", order, []string{first, next})
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
	for len(s.core.ghosts) == 0 {
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
	s.step(TriggerAsked{Token: 2, Job: "big"})
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
	if sleep := s.step().Wake.Sub(s.now); sleep <= 0 || sleep > 10*time.Second {
		t.Fatalf("it sleeps %s; a wall clock that steps forward meanwhile would be noticed too late", sleep)
	}
}

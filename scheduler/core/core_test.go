package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestOneRunFromFireToEnd plays a run from its fire to its end, and checks its states, also under the next leader.
func TestOneRunFromFireToEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.runFor(4950 * time.Millisecond)
	s.offer("S1", 8, 8192)
	s.now = s.now.Truncate(5 * time.Second).Add(5*time.Second + time.Millisecond)
	s.step()
	launches := s.answerAccepts()
	if len(launches) != 3 {
		t.Fatalf("%d launches, want 3; calls %+v, notes %+v", len(launches), s.last.Calls, s.last.Notes)
	}
	s.reportRunning(launches)
	id := "my_job@20261121T080005Z"
	if v := s.execution(id); v.State != executions.Running {
		t.Fatalf("state %s, want RUNNING", v.State)
	}
	s.reportFinished(launches)
	v := s.execution(id)
	if v.State != executions.Finished || v.Source != executions.NormalTrigger ||
		!v.FireTime.Equal(time.Date(2026, 11, 21, 8, 0, 5, 0, time.UTC)) {
		t.Fatalf("after its tasks have finished the execution is %+v", v)
	}
	s.restart()
	if after := s.execution(id); after.State != executions.Finished || len(after.Shards) != 3 {
		t.Fatalf("after a restart: %+v", after)
	}
}

// TestO3RunningShardsAreFoundAgainAfterRestart checks that a new leader asks about all tasks, keeps those that run, and
// starts a new attempt for the one that never reached its agent, on the same executor.
func TestO3RunningShardsAreFoundAgainAfterRestart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	id, launches := s.launch()
	s.reportRunning(launches[:2])
	s.restart()
	var reconciled []string
	for _, c := range calls[step.CallReconcile](s.last) {
		for _, ref := range c.Tasks {
			reconciled = append(reconciled, ref.TaskID)
		}
	}
	if len(reconciled) != 3 {
		t.Fatalf("the master was asked about %q, want all three tasks", reconciled)
	}
	// The third task never reached its agent: the master reports GONE for it (E1).
	s.update(launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.update(launches[1], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.update(launches[2], cluster.Gone, fromMaster(cluster.ReasonReconciliation))
	s.runFor(time.Second)
	s.offer("S1", 8, 8192, launches[0].Executor.ID)
	second := s.answerAccepts()
	if len(second) != 1 || second[0].TaskID == launches[2].TaskID {
		t.Fatalf("launched %+v, want only item 2, under a new id (L5)", second)
	}
	if second[0].Executor.ID != launches[0].Executor.ID {
		t.Fatalf("executor %s, want the running %s", second[0].Executor.ID, launches[0].Executor.ID)
	}
	s.reportRunning(second)
	s.reportFinished(slices.Concat(launches[:2], second))
	if v := s.execution(id); v.State != executions.Finished || v.Shards[2].Attempt != 2 {
		t.Fatalf("at the end the execution is %+v", v)
	}
}

// TestL1FirstLaunchIsNotSplit checks that the shards of an execution start only when all of them fit.
func TestL1FirstLaunchIsNotSplit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	id := s.trigger()
	s.offer("S1", 3.4, 8192)
	if got := calls[step.CallLaunch](s.last); len(got) != 0 {
		t.Fatalf("launched %+v with 3.4 CPUs, although 3 shards of 1 and an executor of 0.5 need 3.5", got)
	}
	if v := s.execution(id); !strings.Contains(v.Reason, "0.1 CPU") {
		t.Fatalf("reason %q does not say that 0.1 CPU is missing", v.Reason)
	}
	s.offer("S1", 0.1, 10)
	if got := s.answerAccepts(); len(got) != 3 {
		t.Fatalf("%d launches after two offers that suffice together, want 3", len(got))
	}
}

// TestTheSameEventsGiveTheSameDecisions repeats the same events, which end twenty executions in one step. They must end
// in the same order each time.
func TestTheSameEventsGiveTheSameDecisions(t *testing.T) {
	t.Parallel()
	var first []string
	for i := range 5 {
		s := newStage(t)
		s.app()
		for k := range 20 {
			name := fmt.Sprint("j", k)
			s.job(oneShard, func(j *jobs.Config) { j.JobName = name })
			s.triggerJob(name)
		}
		s.apply(s.core.planDisableApp("my_app", true))
		var order []string
		for e := range s.core.executions.AllEnded() {
			order = append(order, e.Job())
		}
		if i == 0 {
			first = order
		} else if !slices.Equal(first, order) {
			t.Fatalf("the executions ended in the order %q, then %q", first, order)
		}
	}
}

// TestRecordsKeepToTheCommitLimit lets 100 shards fail with long causes, of characters that are long in JSON. No record
// may become too large for a commit.
func TestRecordsKeepToTheCommitLimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\x01", "\xff", "\"", "<", "é"} {
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = 100, 0.01 })
		s.trigger()
		s.offer("S1", 80, 81920)
		launches := s.answerAccepts()
		s.reportRunning(launches)
		cause := strings.Repeat(text, 4000)
		for _, l := range launches {
			s.update(l, cluster.Failed, func(u *cluster.Update) { u.Status = &wire.Status{Cause: cause} })
		}
		for path, value := range s.stored {
			if len(value) > 500_000 {
				t.Errorf("with causes of %q, the record %s has %d bytes", text, path, len(value))
			}
		}
	}
}

// TestAllDamageIsReportedAtOnce checks that the error names every damaged entry, so that one repair is enough.
func TestAllDamageIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.startWithCPUs(8)
	damaged := 0
	for path := range s.stored {
		if strings.HasPrefix(path, store.PathExecution+"/") || strings.HasPrefix(path, store.PathExecutor+"/") {
			s.stored[path] = []byte("{junk")
			damaged++
		}
	}
	err := New(s.opt).Load(s.now, Stored{Entries: s.entries()})
	if damaged < 2 || err == nil || strings.Count(err.Error(), "state is damaged there") != damaged {
		t.Errorf("with %d damaged entries the error is: %v", damaged, err)
	}
}

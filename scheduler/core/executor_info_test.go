package core

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestX4UserAndEnvironmentAreThoseOfTheStart checks that new settings apply only to new executors. Launches must name a
// running executor with the settings with which it was started.
func TestX4UserAndEnvironmentAreThoseOfTheStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorUser, s.opt.ExecutorShutdown = "batch", 9500*time.Millisecond
	s.opt.ExecutorEnvironment, s.opt.HostnameVariable = map[string]string{"CA": "old"}, "HOST"
	s.restart()
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1; j.Cron = "" })
	// runOnce runs a task on agent S1, where the given executors run, and returns the task's executor.
	runOnce := func(executors ...string) cluster.Executor {
		t.Helper()
		s.trigger()
		s.offer("S1", 8, 8192, executors...)
		s.runFor(time.Second)
		l := s.answerAccepts()
		if len(l) != 1 {
			t.Fatalf("launched %v, want one task", l)
		}
		s.reportRunning(l)
		s.reportFinished(l)
		return l[0].Executor
	}
	first := runOnce()
	if first.Version != 3 || first.User != "batch" || first.ShutdownGrace != 9500*time.Millisecond ||
		first.Environment["CA"] != "old" || first.Environment["HOST"] == "" {
		t.Fatalf("the first executor is started with %+v", first)
	}
	// After a change of the CA or the grace, the running executor is used unchanged.
	s.opt.ExecutorEnvironment = map[string]string{"CA": "new"}
	s.opt.ExecutorShutdown = time.Minute
	s.restart()
	if diff := cmp.Diff(first, runOnce(first.ID)); diff != "" {
		t.Errorf("the running executor is named with other settings (-first +second):\n%s", diff)
	}
	// After a change of the user, nothing is launched on the executor of the former user.
	s.opt.ExecutorUser = "nightly"
	s.restart()
	third := runOnce(first.ID)
	if third.ID == first.ID || third.User != "nightly" || third.Environment["CA"] != "new" {
		t.Errorf("the new executor is started with %+v", third)
	}
}

// TestX1AnExecutorThatEndedUnderTheLastLeaderIsNotUsedAgain checks that a new leader launches nothing on an executor
// that an offer of its agent does not name, because that executor has ended.
func TestX1AnExecutorThatEndedUnderTheLastLeaderIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.runJob(oneShard)
	s.reportFinished(first)
	s.restart() // the executor's FAILURE came while there was no leader
	s.trigger()
	s.offer("S1", 8, 8192)
	second := s.answerAccepts()
	if len(second) != 1 || second[0].Executor.ID == first[0].Executor.ID {
		t.Fatalf("launched %v, although the offer shows that executor %s has ended", second, first[0].Executor.ID)
	}
}

// TestX1AnExecutorWithAnotherExecutorInfoAtTheMasterIsReplaced checks what happens if the master refuses tasks because
// it has another ExecutorInfo for their executor. The tasks must be launched on a new executor. The old executor keeps
// its running task, gets no other tasks, and is shut down afterwards.
func TestX1AnExecutorWithAnotherExecutorInfoAtTheMasterIsReplaced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.runJobOn("S1", func(*jobs.Config) {})
	x := first.Executor.ID
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "other_job", 2 })
	s.triggerJob("other_job")
	s.offer("S1", 4, 1000, x)
	refused := s.answerAccepts()
	for _, l := range refused {
		if l.Executor.ID != x {
			t.Fatalf("launched on %s", l.Executor.ID)
		}
		s.update(l, cluster.Error, fromMaster(cluster.ReasonTaskInvalid),
			func(u *cluster.Update) { u.ExecutorMismatch = true })
	}
	s.runFor(time.Second)
	s.offer("S1", 4, 1000, x)
	second := s.answerAccepts()
	if len(refused) != 2 || len(second) != 2 || second[0].Executor.ID == x ||
		second[1].Executor.ID != second[0].Executor.ID {
		t.Fatalf("after %d refused tasks, launched %+v", len(refused), second)
	}
	if n := s.core.executions.Ref(second[0].TaskID).Shard().Errors(); n > 0 {
		t.Errorf("the refusal counts as %d errors of the task", n)
	}
	if len(calls[step.CallShutdown](s.last))+len(calls[step.CallKill](s.last)) > 0 ||
		s.core.executions.Ref(first.TaskID).Shard().State() != executions.Running {
		t.Errorf("the running task is stopped: %+v", s.last.Calls)
	}
	s.update(first, cluster.Finished)
	s.runFor(time.Second)
	if old := s.core.executors.Get(x); old == nil || !old.IsClosing() || old.ShutdownTry() == 0 {
		t.Errorf("the old executor gets no SHUTDOWN after its last task: %+v", old)
	}
}

// TestX1AnExecutorOfAnotherRoleIsNotUsedAgain checks that an executor of another role keeps its task but gets no other
// tasks. The roles "" and "*" are the same.
func TestX1AnExecutorOfAnotherRoleIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, now string // the roles of the two leaders
		same        bool   // the second leader uses the executor
	}{{"blue", "blue", true}, {"", "*", true}, {"*", "", true}, {"blue", "green", false}, {"", "blue", false}} {
		s := newStage(t)
		s.opt.Role = tt.before
		s.restart()
		first := s.runJobOn("S1", func(*jobs.Config) {})
		s.opt.Role = tt.now
		s.restart()
		s.update(first, cluster.Running, fromMaster(cluster.ReasonReconciliation))
		s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "other_job", 1 })
		s.triggerJob("other_job")
		s.offer("S1", 4, 1000, first.Executor.ID)
		l := s.answerAccepts()
		if len(l) != 1 || (l[0].Executor.ID == first.Executor.ID) != tt.same {
			t.Errorf("role %q, then %q: launched %+v", tt.before, tt.now, l)
		}
		if ref := s.core.executions.Ref(first.TaskID); ref.Shard().State() != executions.Running ||
			len(calls[step.CallShutdown](s.last)) > 0 {
			t.Errorf("role %q, then %q: the running task is stopped", tt.before, tt.now)
		}
	}
}

package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestX9TwoAppsDoNotWaitForEachOthersIdleExecutors lets the idle executors of two apps occupy an agent, and a shard of
// each app wait for more room. Only one executor must be shut down, so that the other app's shard gets the room.
func TestX9TwoAppsDoNotWaitForEachOthersIdleExecutors(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	names := []string{"my", "other"}
	idle := make([]string, 2)
	for i, name := range names {
		s.app(func(a *app.Config) { a.AppName = name + "_app" })
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName = name+"_job", name+"_app" })
		s.triggerJob(name + "_job")
		s.offer("S1", 3, 8192, idle[:i]...)
		l := s.answerAccepts()
		s.reportRunning(l)
		s.reportFinished(l)
		idle[i] = l[0].Executor.ID
	}
	for _, name := range names {
		s.updateJob(name+"_job", func(j *jobs.Config) { j.CPUCount = 3 })
		s.triggerJob(name + "_job")
	}
	s.offer("S1", 2.5, 8192, idle...)
	s.runFor(time.Second)
	if x := s.core.executors.Get(idle[1]); !x.IsClosing() || s.core.executors.Get(idle[0]).IsClosing() {
		t.Fatalf("the first executor is closing: %v, the second: %v; want only the second, for the first shard",
			s.core.executors.Get(idle[0]).IsClosing(), x.IsClosing())
	}
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1", ExecutorID: idle[1]}))
	s.offer("S1", 3, 8192, idle[0])
	if l := s.answerAccepts(); len(l) != 1 || l[0].Executor.ID != idle[0] {
		t.Fatalf("launched %+v, want one task on executor %s", l, idle[0])
	}
}

// TestX9TimersForIdleExecutorsDoNotPileUp checks that the timers for idle executors do not pile up over many runs.
func TestX9TimersForIdleExecutorsDoNotPileUp(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{5 * time.Second, 12 * time.Second, 20 * time.Second, time.Minute} {
		s := newStage(t)
		s.app()
		s.job(oneShard, func(j *jobs.Config) {
			j.Cron = fmt.Sprintf("0/%d * * * * ?", min(59, int(period.Seconds())))
		})
		var running []string // the id of the running executor
		for i := range 300 {
			s.runFor(s.now.Truncate(period).Add(period + time.Millisecond).Sub(s.now))
			s.offer("S1", 8, 8192, running...)
			l := s.answerAccepts()
			if len(l) != 1 {
				t.Fatalf("%d launches, want 1", len(l))
			}
			running = []string{l[0].Executor.ID}
			s.reportRunning(l)
			s.stepAfter(time.Duration(100+i*37%200) * time.Millisecond)
			s.reportFinished(l)
		}
		if n := s.core.shared.Timers.Len(); n > 20 {
			t.Errorf("after 300 runs, one every %s, there are %d timers", period, n)
		}
	}
}

// TestX9RoomIsMadeBehindExecutionsThatCannotFit checks that an idle executor is shut down for a small shard, although
// larger executions wait before it that would not fit even then.
func TestX9RoomIsMadeBehindExecutionsThatCannotFit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorIdle = time.Hour
	s.restart()
	s.app(func(a *app.Config) { a.CPUCount = 3 })
	s.app(func(a *app.Config) { a.AppName, a.CPUCount = "other_app", 0.5 })
	s.job(oneShard)
	l := s.startWithCPUs(4)
	s.reportRunning(l)
	s.reportFinished(l)
	idle := l[0].Executor.ID
	for i := range 10 {
		s.job(func(j *jobs.Config) {
			j.JobName, j.AppName, j.CPUCount, j.ShardingTotalCount = fmt.Sprint("big", i), "other_app", 1, 100
		})
		s.triggerJob(fmt.Sprint("big", i))
	}
	s.stepAfter(time.Second)
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName, j.CPUCount = "small", "other_app", 1 })
	s.triggerJob("small")
	for range 10 {
		if s.core.placement.Held().Len() == 0 {
			s.offer("S1", 1, 8000, idle)
		}
		s.runFor(2 * time.Second)
	}
	if !s.core.executors.Get(idle).IsClosing() {
		x, _ := s.core.views.Explain("small")
		t.Errorf("the idle executor stays, and the small job waits: %+v", x.Waiting)
	}
}

// TestX9RoomIsMadeForShardsThatStartTogether checks that an idle executor is shut down if the shards of an execution,
// which start together, do not all fit beside it.
func TestX9RoomIsMadeForShardsThatStartTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard)
	l := s.startWithCPUs(8)
	s.reportRunning(l)
	s.reportFinished(l)
	// Each of the three shards fits, but all three together fit only without the idle executor.
	s.job(func(j *jobs.Config) {
		j.JobName, j.AppName, j.ShardingTotalCount, j.CPUCount = "big", "other_app", 3, 2.5
	})
	s.triggerJob("big")
	d := s.offer("S1", 7.5, 8192, l[0].Executor.ID)
	if got := calls[step.CallShutdown](d); len(got) != 1 || got[0].ExecutorID != l[0].Executor.ID {
		d = s.stepAfter(2 * time.Second)
		if got = calls[step.CallShutdown](d); len(got) != 1 || got[0].ExecutorID != l[0].Executor.ID {
			t.Fatalf("SHUTDOWN %+v, want one for the idle executor", got)
		}
	}
}

// TestX9ASecondIdleExecutorOfTheSameAppMakesRoom lets two idle executors of one app occupy an agent. One of them must
// be shut down for shards of the same app that do not fit otherwise. There are two because an executor gets no task
// while an attempt that was given up may run on it.
func TestX9ASecondIdleExecutorOfTheSameAppMakesRoom(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.runJobOn("S1", func(*jobs.Config) {})
	s.reportUnreachable(first)
	s.runFor(2 * time.Minute)
	if !isOrphan(s.core, first.TaskID) {
		t.Fatal("the attempt was not given up")
	}
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "other_job" })
	s.triggerJob("other_job")
	s.offer("S1", 3, 8192, first.Executor.ID)
	launches := s.answerAccepts()
	if len(launches) != 1 || launches[0].Executor.ID == first.Executor.ID {
		t.Fatalf("launched %+v, want one task on another executor", launches)
	}
	s.reportRunning(launches)
	s.reportFinished(append(launches, first))

	s.job(func(j *jobs.Config) { j.JobName = "big" }) // three shards of 1 CPU
	s.triggerJob("big")
	s.offer("S1", 2.5, 8192, first.Executor.ID, launches[0].Executor.ID)
	s.runFor(2 * time.Second)
	if s.core.executors.Get(first.Executor.ID).IsClosing() {
		t.Error("the executor that would get the shards is shut down")
	}
	if !s.core.executors.Get(launches[0].Executor.ID).IsClosing() {
		t.Error("the executor that gets no shards stays")
	}
}

// TestX9ALongRetryBackoffKeepsNoExecutor checks that an executor is shut down if the only shard of its app is retried
// much later, so that other frameworks can use its resources. For an early retry it is kept.
func TestX9ALongRetryBackoffKeepsNoExecutor(t *testing.T) {
	t.Parallel()
	for _, backoff := range []int{5, 600} {
		s := newStage(t)
		l := s.runJob(oneShard, func(j *jobs.Config) { j.MaxRetries, j.RetryBackoffSeconds = 1, backoff })
		s.reportFailed(l[0])
		s.runFor(s.opt.ExecutorIdle + 2*time.Second)
		if x := s.core.executors.Get(l[0].Executor.ID); x == nil || x.IsClosing() != (backoff > 60) {
			t.Errorf("the executor of a shard that is retried after %d s is %+v", backoff, x)
		}
	}
}

// TestX9IdleExecutorsAreCheckedTogether lets 20 executors of an app become idle at different times, while the app is
// busy on another agent. The core must not take many more than one step per second to check them.
func TestX9IdleExecutorsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorIdle = 0
	s.restart()
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "long" })
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 20 })
	s.triggerJob("long")
	s.offer("S0", 2, 8192)
	s.reportRunning(s.answerAccepts())
	s.trigger()
	var offers []cluster.Offer
	for i := range 20 {
		offers = append(offers, cluster.Offer{ID: fmt.Sprint("P", i), AgentID: fmt.Sprint("A", i),
			AgentURL: "http://a:5051", Resources: resources.New(1.5, 8192)})
	}
	s.step(s.clusterEvent(cluster.Offers{Offers: offers}))
	for _, l := range s.answerAccepts() {
		s.update(l, cluster.Running)
		s.stepAfter(37 * time.Millisecond)
		s.update(l, cluster.Finished)
	}
	if n := s.core.executors.Len(); n != 21 {
		t.Fatalf("%d executors, want 21", n)
	}
	steps := 0
	for end := s.now.Add(10 * time.Second); s.wake().Before(end); steps++ {
		s.now = s.wake()
		s.step()
	}
	if steps > 20 {
		t.Errorf("%d steps in 10 s with nothing to do", steps)
	}
}

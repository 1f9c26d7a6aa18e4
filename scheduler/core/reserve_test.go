package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestL2AJobThatNeedsMuchRoomRunsInACrowdedCluster checks that rule L2 bounds how long large jobs wait on a single
// agent, although forty small jobs fire each second and use everything that becomes free. A large job needs between
// half of the agent and all of it.
func TestL2AJobThatNeedsMuchRoomRunsInACrowdedCluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shards, large int // the shards of each large job, and how many large jobs there are
		takes         time.Duration
	}{
		{shards: 19, large: 1, takes: 130 * time.Second},
		{shards: 10, large: 1, takes: 300 * time.Second},
		{shards: 15, large: 3, takes: 130 * time.Second},
	} {
		name := fmt.Sprintf("%d jobs of %d shards, runs take %s", test.large, test.shards, test.takes)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSimulatedCluster(t, 1, resources.New(19.1, 64000), 40+test.large, func(i int, j *jobs.Config) {
				j.Cron, j.CPUCount = "* * * * * ?", 1
				if i >= 40 {
					j.JobName, j.Cron, j.ShardingTotalCount = fmt.Sprint("large_", i), "0 0/10 * * * ?", test.shards
				}
			})
			p.taskTime = test.takes
			lastRun := map[string]time.Time{} // by large job
			p.launched = func(id string) {
				if name, _, _ := strings.Cut(id, "@-@"); strings.HasPrefix(name, "large_") {
					lastRun[name] = p.now
				}
			}
			began := p.now
			for i := range test.large {
				lastRun[fmt.Sprint("large_", 40+i)] = began
			}
			// A large job fires every ten minutes. Small jobs that have waited longer get reservations before it, but
			// need only what becomes free first.
			limit := 10*time.Minute + p.core.shared.Opt.ReserveAfter +
				time.Duration(test.large+1)*(test.takes+time.Minute)
			for p.now.Sub(began) < 4*time.Hour {
				p.run(time.Minute)
				for name, at := range lastRun {
					if waits := p.now.Sub(at); waits > limit {
						t.Fatalf("%s had no run for %s, want one every %s", name, waits, limit)
					}
				}
			}
			if p.tasks < 100 {
				t.Errorf("only %d tasks ran in four hours", p.tasks)
			}
		})
	}
}

// TestL2DrainedRoomIsForTheNextReservation checks that no other execution uses the room of a reservation that ends
// without a launch: the room is for the next reservation.
func TestL2DrainedRoomIsForTheNextReservation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "small", 1 })
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "large", 7 })
	s.offer("S1", 8, 8192)
	s.triggerJob("large")
	s.step(s.clusterEvent(cluster.Rescind{OfferID: "O1"}))
	for !isReserved(s) {
		if s.core.placement.Held().Len() == 0 {
			s.offer("S1", 4, 8192) // another framework has the rest
		}
		s.runFor(time.Second)
	}
	first, _ := s.core.placement.Reserved()
	s.triggerJob("small")
	s.accepts = nil
	for s.now.Before(first.Until.Add(-time.Second)) {
		if s.core.placement.Held().Len() == 0 {
			s.offer("S1", 4, 8192)
		}
		s.runFor(time.Second)
	}
	if len(s.accepts) > 0 {
		t.Fatal("another execution used the reserved room")
	}
	s.offer("S1", 8, 8192) // the whole agent is free when the reservation ends
	s.now = first.Until
	s.step()
	launched := s.answerAccepts()
	if len(launched) == 0 || !strings.HasPrefix(launched[0].TaskID, "large@") {
		t.Errorf("launched %+v, want the large job", launched)
	}
}

// TestL2NoReservationForAnExecutionThatMayNotBeLaunched checks that an execution gets no reservation while an orphan
// that is seen alive blocks its shard (rule E5).
func TestL2NoReservationForAnExecutionThatMayNotBeLaunched(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	lost := s.runJob(oneShard, withFailover, func(j *jobs.Config) { j.CPUCount = 3 })
	s.reportUnreachable(lost[0])
	s.runFor(3 * time.Minute)
	s.offer("S2", 8, 8192)
	second := s.answerAccepts()
	s.reportRunning(second)
	s.reportFinished(second)
	s.trigger()
	s.offer("S3", 2, 8192)
	s.update(lost[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	if x, err := s.core.views.Explain("my_job"); err != nil || len(x.Waiting) == 0 ||
		s.core.st.CanLaunch(s.core.config.Job("my_job")) {
		t.Fatalf("explain shows %+v, %v, want an execution that waits for an orphan", x, err)
	}
	for range 60 {
		if s.core.placement.Held().Len() == 0 {
			s.offer("S3", 2, 8192)
		}
		s.runFor(time.Second)
		if r, ok := s.core.placement.Reserved(); ok {
			t.Fatalf("reserved for an execution that may not be launched: %+v", r)
		}
	}
}

// TestL2AReservationEndsAMinuteAfterItsAgentsAreDrained checks that an agent on which no task of this scheduler runs is
// reserved only for a short time, although a shard once ran there for three hours.
func TestL2AReservationEndsAMinuteAfterItsAgentsAreDrained(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "large", 7 })
	l := s.startWithCPUs(8)
	s.reportRunning(l)
	s.update(l[0], cluster.Finished, func(u *cluster.Update) {
		u.Status = &wire.Status{StartTime: s.now.Add(-3 * time.Hour), CompleteTime: s.now}
	})
	s.triggerJob("large")
	var began time.Time
	for range 300 {
		if s.core.placement.Held().Len() == 0 {
			s.offer("S1", 4, 8192, l[0].Executor.ID) // another framework has the rest
		}
		s.runFor(time.Second)
		switch r, ok := s.core.placement.Reserved(); {
		case !ok && !began.IsZero():
			return
		case !ok:
		case began.IsZero():
			began = r.Since
		case !r.Since.Equal(began):
			return // another reservation has begun
		}
	}
	t.Errorf("the reservation since %s has not ended within 300 s", began)
}

// TestL2AnExecutionThatNeverFitsGetsNoReservation checks that an execution that can never fit gets no reservation, so
// that the next one gets it.
func TestL2AnExecutionThatNeverFitsGetsNoReservation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.offer("S1", 8, 8192)
	s.step(s.clusterEvent(cluster.Rescind{OfferID: "O1"}))
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 100 })
	s.trigger()
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "big", 7 })
	s.stepAfter(time.Millisecond, Request{Token: 2, Event: operator.TriggerRequested{Job: "big"}})
	for range 10 {
		s.offer("S1", 2, 2048)
		s.step(s.clusterEvent(cluster.Rescind{OfferID: fmt.Sprintf("O%d", s.offerCount)}))
		s.runFor(10 * time.Second)
	}
	s.offer("S1", 2, 2048)
	if r, ok := s.core.placement.Reserved(); !ok || s.core.executions.Get(r.Execution).Job() != "big" {
		t.Fatalf("reserved %+v, want a reservation for big", r)
	}
}

// TestL2AnIdleExecutorIsPartOfItsAgent checks that an idle executor is shut down for a shard that fits its agent only
// without it, even if only an earlier leader has seen all resources of the agent.
func TestL2AnIdleExecutorIsPartOfItsAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.startWithCPUs(4.5)
	s.reportRunning(l)
	s.reportFinished(l)
	idle := l[0].Executor.ID
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName, j.CPUCount = "other_job", "other_app", 3.9 })
	s.restart()
	s.triggerJob("other_job")
	s.offer("S1", 4, 8192, idle)
	if x := s.core.executors.Get(idle); !x.IsClosing() {
		t.Fatal("the idle executor is not shut down for a shard that fits without it")
	}
}

// TestL2AReservationThatLaunchedNothingMeasuresItsAgentsAgain checks that a reservation that ends without a launch
// corrects a capacity that was measured too high, so that a later reservation has enough agents.
func TestL2AReservationThatLaunchedNothingMeasuresItsAgentsAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 3 })
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.CPUCount = "big", 2, 5 })
	s.offer("S2", 8, 8192)
	l := s.startWithCPUs(8)
	s.reportRunning(l)
	s.offer("S1", 7.5, 8192, l[0].Executor.ID) // the master already knows that the task has ended
	s.reportFinished(l)
	s.triggerJob("big")
	for range 20 {
		if s.core.placement.Held().Free("S1").IsZero() {
			s.offer("S1", 7.5, 8192, l[0].Executor.ID)
		}
		if s.core.placement.Held().Free("S2").IsZero() {
			s.offer("S2", 4, 8192) // another framework uses the rest
		}
		s.runFor(10 * time.Second)
		if r, _ := s.core.placement.Reserved(); slices.Contains(r.Agents, "S1") && slices.Contains(r.Agents, "S2") {
			return
		}
	}
	r, _ := s.core.placement.Reserved()
	t.Fatalf("in 200 s nothing with room for both shards was reserved; the last reservation is %+v", r)
}

// TestL2AnExecutionThatNeverFittedIsMatchedAgainWhenItIsNext checks that an execution that never fitted is matched
// again after its job was changed, once it is the next of its job.
func TestL2AnExecutionThatNeverFittedIsMatchedAgainWhenItIsNext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withMisfire, func(j *jobs.Config) { j.CPUCount = 1000 })
	s.trigger()
	s.offer("S1", 8, 8192)
	s.updateJob("my_job", func(j *jobs.Config) { j.CPUCount = 1 })
	s.moveClock(-time.Hour)
	s.trigger() // by the clock, this execution was triggered before the other
	s.offer("S1", 8, 8192)
	l := s.answerAccepts()
	if len(l) != 1 || !s.core.placement.Suppressed() {
		t.Fatalf("%d launches, offers suppressed: %v", len(l), s.core.placement.Suppressed())
	}
	s.reportRunning(l)
	s.reportFinished(l)
	s.runFor(time.Second)
	if s.core.placement.Suppressed() {
		t.Fatal("no offers are requested for the waiting execution, which fits now")
	}
}

// TestL2AnUnusedReservationKeepsTheCapacityThatExplainShows checks that measuring the agents of an unused reservation
// does not lower the capacity that explain shows.
func TestL2AnUnusedReservationKeepsTheCapacityThatExplainShows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 4 })
	s.offer("S1", 8, 8192)
	s.core.placement.MeasureReserved(map[string]bool{"S1": true})
	if c := s.core.agents.Get("S1"); c.Capacity().CPUMilli != 8000 {
		t.Fatalf("the capacity is %+v, want the 8 CPUs that were offered", c)
	}
}

// TestAnAgentIsNotShownLargerThanItIs offers the resources of a task before the end of the task is reported. The master
// does so if an earlier update of the task is not acknowledged yet. The agent must not be shown with the resources of
// both.
func TestAnAgentIsNotShownLargerThanItIs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 4 })
	l := s.startWithCPUs(8)
	s.reportRunning(l)
	executor := s.core.executors.Get(l[0].Executor.ID).Info().Resources.CPUs()
	s.offer("S1", 8-executor, 4096, l[0].Executor.ID) // the task's 4 CPUs are free again
	if n := s.core.views.UseOf(s.core.agents.Get("S1")).Total().CPUs(); n != 8 {
		t.Errorf("the agent has %v CPUs before the end of the task is reported, want 8", n)
	}
	s.reportFinished(l)
	if n := s.core.views.AgentTotals().Capacity.CPUs(); n != 8 {
		t.Errorf("the agent has %v CPUs after the end of the task, want 8", n)
	}
}

// TestL2NoReservationOnAnAgentThatIsAvoided checks that an agent is not reserved for an execution that may not use it
// because of start failures.
func TestL2NoReservationOnAnAgentThatIsAvoided(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 3 })
	l := s.startWithCPUs(8)
	s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "other", 3 })
	for n := range 9 { // it is avoided for long
		s.core.startFailures.Record("my_app", "S1", fmt.Sprint("executor ", n), reason.FromText("it ends"))
	}
	s.triggerJob("other")
	s.offer("S1", 8, 8192)
	s.offer("S2", 2, 8192)
	s.runFor(31 * time.Second)
	s.offer("S1", 8, 8192)
	s.runFor(time.Second)
	if r, _ := s.core.placement.Reserved(); slices.Contains(r.Agents, "S1") {
		t.Errorf("S1 is reserved for %s, which may not use it", r.Execution)
	}
}

// TestL2AReasonGoesWithItsReservation checks that explain does not name a reservation for another execution after the
// reservation has ended.
func TestL2AReasonGoesWithItsReservation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.JobName, c.ShardingTotalCount, c.CPUCount = "big", 3, 4 })
	s.job(func(c *jobs.Config) { c.JobName, c.ShardingTotalCount, c.CPUCount = "small", 1, 1 })
	s.offer("S1", 16, 8000) // so that the core knows that the job would fit
	s.step(s.clusterEvent(cluster.Rescind{OfferID: "O1"}))
	s.triggerJob("big")
	s.offer("S1", 2, 8000)
	s.runFor(31 * time.Second)
	s.offer("S1", 2, 8000)
	if _, ok := s.core.placement.Reserved(); !ok {
		t.Fatal("nothing is reserved for big")
	}
	s.triggerJob("small")
	reason := func() string {
		x := s.explain("small")
		if len(x.Waiting) != 1 {
			t.Fatalf("explain shows %+v, want one waiting shard", x)
		}
		return x.Waiting[0].Reason
	}
	if !strings.Contains(reason(), "reserved for execution big") {
		t.Fatalf("during the reservation, explain says: %s", reason())
	}
	s.core.placement.Clear()
	s.apply(s.core.planDisableJob("big", true))
	if strings.Contains(reason(), "reserved") {
		t.Errorf("after the reservation, explain says: %s", reason())
	}
}

// isReserved reports whether something is reserved.
func isReserved(s *stage) bool {
	_, ok := s.core.placement.Reserved()
	return ok
}

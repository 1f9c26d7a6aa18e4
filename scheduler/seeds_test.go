package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/resources"
)

// What long runs of the simulated worlds found, as short stories; docs/faults.md names the seeds.

func TestX3WhatComesLateFromBeforeAnAcceptTellsNothingOfIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "other" })
	first := s.start(8)
	s.run(first)
	x := first[0].Executor.ID
	s.step(TriggerAsked{Token: 1, Job: "other"})
	s.offer("S1", 8, 8192, x)
	second := s.accepted()
	if len(second) != 1 || second[0].Executor.ID != x {
		t.Fatalf("%+v, want one task on %s", second, x)
	}
	// The executor had ended when the ACCEPT came, which started it once more; what tells of its end comes only now.
	s.update(first[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
	s.step(s.told(cluster.Failure{AgentID: "S1", ExecutorID: x, Status: 9}))
	s.offer("S1", 8, 8192)
	if d := s.offer("S1", 6, 8192, x); len(calls[CallShutdown](d)) > 0 {
		t.Fatal("SHUTDOWN for an executor whose last ACCEPT has a live task (X2)")
	}
	s.run(second)
	if d := s.offer("S1", 6, 8192, x); len(calls[CallShutdown](d)) > 0 {
		t.Fatal("SHUTDOWN for an executor with a running task (X2)")
	}
	s.finish(second)
	s.until(time.Second)
	if r := s.core.executors[x]; r == nil || r.shutdownTry == 0 {
		t.Fatalf("an executor that ended once is not shut down when its tasks are over: %+v", r)
	}
}

func TestF2AJobRegisteredAfterTheClockSteppedBackFiresFromThenOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.after(3 * time.Hour)
	s.job(hourly)
	s.after(-2*time.Hour - 30*time.Minute)
	s.job(hourly, func(j *jobs.Config) { j.JobName = "other" })
	s.until(time.Hour)
	if _, err := s.core.Execution("other@20261121T090000Z"); err != nil {
		t.Errorf("a job of the same cron, registered when the clock was ahead, keeps it from its fires: %v", err)
	}
	if s.core.executions["my_job@20261121T090000Z"] != nil {
		t.Error("a job fired for a time before it was registered")
	}
}

func TestX9TwoAppsDoNotWaitForEachOthersIdleExecutors(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	names := []string{"my", "other"}
	idle := make([]string, 2)
	for i, name := range names {
		s.app(func(a *app.Config) { a.AppName = name + "_app" })
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName = name+"_job", name+"_app" })
		s.step(TriggerAsked{Token: 1, Job: name + "_job"})
		s.offer("S1", 3, 8192, idle[:i]...)
		l := s.accepted()
		s.run(l)
		s.finish(l)
		idle[i] = l[0].Executor.ID
	}
	for _, name := range names {
		s.apply(s.core.planUpdateJob(name+"_job", func(j jobs.Config) (jobs.Config, error) { j.CPUCount = 3; return j, nil }))
		s.step(TriggerAsked{Token: 1, Job: name + "_job"})
	}
	s.offer("S1", 2.5, 8192, idle...)
	s.until(time.Second)
	if x := s.core.executors[idle[1]]; !x.Closing || s.core.executors[idle[0]].Closing {
		t.Fatalf("the first that waits is to get the room of the second's idle executor: closing %v, %v", s.core.executors[idle[0]].Closing, x.Closing)
	}
	s.step(s.told(cluster.Failure{AgentID: "S1", ExecutorID: idle[1]}))
	s.offer("S1", 3, 8192, idle[0])
	if l := s.accepted(); len(l) != 1 || l[0].Executor.ID != idle[0] {
		t.Fatalf("launched %+v, want one task on %s", l, idle[0])
	}
}

func TestL2TheTurnComesThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = 2, 3 })
	s.offer("S1", 8, 8192)
	s.after(3 * time.Hour)
	s.trigger()
	s.offer("S1", 4, 8192)
	s.after(-3 * time.Hour)
	for range 5 {
		if s.core.pool.Free("S1").IsZero() {
			s.offer("S1", 4, 8192)
		}
		s.until(8 * time.Second)
	}
	if s.core.reservation == nil {
		t.Fatal("no agent is reserved for an execution that waits for 40 s")
	}
}

func TestF4AShellDoesNotSleepThroughAStepBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	d := s.step()
	if got := d.Sleep(s.now); got <= 0 || got > 5*time.Second {
		t.Errorf("it sleeps for %s, want until the next fire", got)
	}
	// The clock may step while the commit is under way.
	if got := d.Sleep(s.now.Add(-time.Hour)); got > clockLook {
		t.Errorf("it sleeps for %s", got)
	}
	if got := d.Sleep(s.now.Add(time.Hour)); got != 0 {
		t.Errorf("it sleeps for %s though the next fire is over", got)
	}
}

func TestE4AClockThatSteppedBackHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepted()
	s.run(l)
	s.after(3 * time.Hour)
	s.unreachable(l[0])
	s.after(-3 * time.Hour)
	s.until(9 * time.Minute)
	if got := s.execution(id).State; got != Running {
		t.Fatalf("%s after 9 minutes, want 10", got)
	}
	s.until(2 * time.Minute)
	if got := s.execution(id).State; got != Failed {
		t.Fatalf("its agent is unreachable for 11 minutes, as far as anybody can tell: it is %s", got)
	}
}

func TestL2AClockThatSteppedBackHoldsNoOffer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 2 })
	s.offer("S1", 8, 8192)
	s.after(3 * time.Hour)
	s.trigger()
	s.offer("S1", 2, 8192)
	if s.core.pool.Len() == 0 {
		t.Fatal("the offer is not held for what waits")
	}
	s.after(-3 * time.Hour)
	s.until(s.opt.OfferHold + 2*time.Second)
	if n := s.core.pool.Len(); n > 0 {
		t.Fatalf("%d offers that nobody can use are held on", n)
	}
}

func TestE5AGhostSeenAliveHoldsItsShardUntilItsAgentIsAwayForTwoMinutesAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withFailover)
	l := s.start(8)
	s.run(l)
	s.unreachable(l[0])
	s.until(3 * time.Minute)
	if len(s.core.ghosts) != 1 {
		t.Fatal("the task was not given up")
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

func TestL2AnIdleExecutorIsPartOfItsAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(4.5)
	s.run(l)
	s.finish(l)
	idle := l[0].Executor.ID
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName, j.CPUCount = "other_job", "other_app", 3.9 })
	s.restart()
	s.step(TriggerAsked{Token: 1, Job: "other_job"})
	s.offer("S1", 4, 8192, idle)
	if x := s.core.executors[idle]; !x.Closing {
		t.Fatal("a shard that fits an agent without its idle executor does not get that room")
	}
}

func TestL2ATurnThatLaunchedNothingMeasuresItsAgentsAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 3 })
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.CPUCount = "big", 2, 5 })
	s.offer("S2", 8, 8192)
	l := s.start(8)
	s.run(l)
	s.offer("S1", 7.5, 8192, l[0].Executor.ID) // the master knows already that the task is over
	s.finish(l)
	s.step(TriggerAsked{Token: 1, Job: "big"})
	for range 20 {
		if s.core.pool.Free("S1").IsZero() {
			s.offer("S1", 7.5, 8192, l[0].Executor.ID)
		}
		if s.core.pool.Free("S2").IsZero() {
			s.offer("S2", 4, 8192) // another framework has the rest
		}
		s.until(10 * time.Second)
		if r := s.core.reservation; r != nil && r.agents["S1"] && r.agents["S2"] {
			return
		}
	}
	t.Fatalf("for 200 s only %+v was reserved, which can't hold both shards", s.core.reservation)
}

func TestF2WithoutAMarkFiresAreMadeFromSince(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	delete(s.stored, pathMark) // the write that came last was cut off
	s.now = s.now.Add(20 * time.Second)
	s.restart()
	if _, err := s.core.Execution("my_job@20261121T080005Z"); err != nil {
		t.Errorf("a fire 15 s old, since its job was registered, is left out: %v", err)
	}
}

func TestL2WhatNeverFittedIsLookedAtAgainWhenItIsTheNext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withMisfire, func(j *jobs.Config) { j.CPUCount = 1000 })
	s.trigger()
	s.offer("S1", 8, 8192)
	s.apply(s.core.planUpdateJob("my_job", func(j jobs.Config) (jobs.Config, error) { j.CPUCount = 1; return j, nil }))
	s.after(-time.Hour)
	s.trigger() // by the clock it comes first
	s.offer("S1", 8, 8192)
	l := s.accepted()
	if len(l) != 1 || !s.core.flow.suppressed {
		t.Fatalf("%d launches, offers suppressed: %v", len(l), s.core.flow.suppressed)
	}
	s.run(l)
	s.finish(l)
	s.until(time.Second)
	if s.core.flow.suppressed {
		t.Fatal("no offers are asked for the one that waits and fits now")
	}
}

func TestX2AnExecutorOnAnAgentThatIsAwayIsEndedWhenItComesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	x := l[0].Executor.ID
	s.finish(l)
	s.step(s.told(cluster.Failure{AgentID: "S1"})) // the agent was removed
	s.until(50 * time.Minute)                      // far longer than SHUTDOWN is repeated for a registered one
	if s.core.executors[x] == nil {
		t.Fatal("the executor is forgotten while nobody knows whether it lives")
	}
	// A look at the offers finds the agent back, and the executor alive.
	if d := s.offer("S1", 7, 8192, x); len(calls[CallShutdown](d)) != 1 {
		t.Fatalf("no SHUTDOWN when its agent is back: %+v", d.Calls)
	}
	s.offer("S1", 8, 8192)
	if s.core.executors[x] != nil {
		t.Fatal("an executor that an offer shows to be gone is kept")
	}
}

func TestX2AnExecutorOnAnAgentThatStaysAwayIsForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.finish(l)
	s.step(s.told(cluster.Failure{AgentID: "S1"}))
	s.until(40 * time.Minute)
	s.restart() // since-when is committed (rule F8)
	if len(s.core.executors) == 0 {
		t.Fatal("forgotten too early")
	}
	s.until(25 * time.Minute)
	if len(s.core.executors) > 0 {
		t.Fatalf("%+v", s.core.executors)
	}
}

func TestL2ATurnInVainDoesNotMakeAgentsSmallerForExplain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 4 })
	s.offer("S1", 8, 8192)
	s.core.agents["S1"].room = resources.Amount{}
	s.core.measureAgain(map[string]bool{"S1": true})
	if c := s.core.agents["S1"]; c.capacity.CPUMilli != 8000 {
		t.Fatalf("%+v: the most that was ever seen is 8 CPUs", c)
	}
}

func TestX9AnIdleExecutorEndsThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.finish(l)
	s.after(-2 * time.Hour)
	s.until(2 * time.Minute)
	if x := s.core.executors[l[0].Executor.ID]; x != nil && !x.Closing {
		t.Fatal("an executor waits idle for the whole way back of the clock")
	}
}

// The next leader makes an import that was cut off whole, of the same parts: none of
// them is one that no header names.
func TestT5AnImportOfManyShardsMayBeCutOffAnywhere(t *testing.T) {
	t.Parallel()
	for cut := 0; ; cut++ {
		s := newStage(t)
		s.original(map[string]string{"/state/failover/plain_job/plain_job@-@1": "plain_job@-@1@-@READY@-@S0@-@0f8e1a2b-0000-4000-8000-000000000002"})
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType, j.Cron, j.ShardingTotalCount, j.CPUCount, j.MemoryMB, j.Failover = "plain_job", "test_app", jobs.Transient, "0 0 3 * * ?", 1200, 1, 64, true
		s.stored["/config/job/plain_job"] = jobs.EncodeYAML(j)
		core := s.load()
		d := core.Step(s.now, s.rnd, nil)
		if cut > len(d.Writes) {
			break
		}
		for _, w := range d.Writes[:cut] {
			if w.Delete {
				delete(s.stored, w.Path)
			} else {
				s.stored[w.Path] = w.Value
			}
		}
		s.now = s.now.Add(time.Minute)
		s.restart()
		s.restart()
		if n, lost := len(s.core.executions), len(s.core.FailoverShards()); n != 1 || lost != 1 {
			t.Fatalf("cut off after %d of %d writes: %d executions, %d lost shards", cut, len(d.Writes), n, lost)
		}
	}
}

// A leader that slept between its commit and its SUBSCRIBE takes the next leader's tasks
// for nobody's; nothing that it does about them is written, so it asks for the fence.
func TestT6NothingASessionTellsIsActedOnUnlessTheTermHeldAfterIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.core = s.load()
	s.step()
	asked := calls[CallSubscribe](s.last)
	if len(asked) != 1 || !s.last.Fenced {
		t.Fatalf("SUBSCRIBE without a fenced commit before it: %+v", s.last)
	}
	began := SessionBegan{Session: asked[0].Session, MasterID: "master-1"}
	told := Told{Session: began.Session, Event: cluster.Update{TaskID: "job@-@0@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001", AgentID: "S1",
		State: cluster.Running, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}}
	if d := s.step(began, told); len(calls[CallKill](d)) != 1 || !d.Fenced {
		t.Fatalf("a task that the next leader launched is killed without a fence: %+v", d)
	}
	if s.step(told); s.last.Fenced {
		t.Error("what comes later on this session needs no fence: a later SUBSCRIBE would have ended it")
	}
}

func TestF2AFireIsRememberedUntilTheMarkIsPastIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.QueuedFires, s.opt.EndedKept = 1, 2
	s.restart()
	s.app()
	s.job(withMisfire, everyFiveSeconds)
	ends := map[string]string{}
	look := func(writes []registry.Write) {
		t.Helper()
		for _, w := range writes {
			if w.Delete || !strings.HasPrefix(w.Path, pathExecution) || !strings.Contains(string(w.Value), `"ended":`) {
				continue
			}
			if old, again := ends[w.Path]; again {
				t.Fatalf("made again after it had ended:\n%s\n%s", old, w.Value)
			}
			ends[w.Path] = string(w.Value)
		}
	}
	start := s.now
	for range 5 { // leaders that die before they have written all
		s.now = s.now.Add(11 * time.Second)
		d := s.load().Step(s.now, s.rnd, nil)
		cut := slices.IndexFunc(d.Writes, func(w registry.Write) bool { return w.Path == pathMark })
		look(d.Writes[:cut])
		for _, w := range d.Writes[:cut] {
			s.stored[w.Path] = w.Value
		}
	}
	s.now = start.Add(6 * time.Second) // the clock had been ahead
	s.restart()
	for range 12 {
		look(s.after(5 * time.Second).Writes)
	}
	if len(ends) < 10 || s.core.ended.order.Len() != 1 {
		t.Errorf("%d executions ended, %d of them are kept though the mark is past them", len(ends), s.core.ended.order.Len())
	}
}

func TestL2OffersAreAskedForThoughTheClockSteppedBackInABackoff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	l := s.start(8)
	s.run(l)
	s.update(l[0], cluster.Failed)
	s.after(-2 * time.Hour)
	s.restart()
	s.until(time.Second)
	if s.core.flow.suppressed {
		t.Fatalf("no offers are asked for what waits: %s", s.core.shardWaitReason(s.core.launchable[0], &s.core.launchable[0].Shards[0], s.now))
	}
	if s.offer("S1", 8, 8192); len(s.accepted()) != 1 {
		t.Error("it is not launched")
	}
}

// Else, cut off before the removal, the write would leave it beside the job's next (rule T5).
func TestF5AnEndIsWrittenBeforeItIsForgotten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.EndedKept = 0
	s.restart()
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offer("S1", 8, 8192)
	s.finish(s.accepted())
	header := string(s.stored[under(pathExecution, id)])
	if !strings.Contains(header, `"ended":`) {
		t.Fatalf("its end is not written: %q", header)
	}
	if s.step(); s.stored[under(pathExecution, id)] != nil {
		t.Error("it is kept for ever")
	}
}

func TestT3AKeyWhoseWriteWasCutOffAnswersAlsoAfterItsExecutionIsForgotten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.EndedKept = 0
	s.restart()
	s.app()
	s.job(oneShard)
	ask := TriggerAsked{Token: 1, Job: "my_job", Key: "k"}
	made := s.step(ask).Replies[0].ExecutionID
	delete(s.stored, under(pathKey, made)) // the write that came last was cut off
	s.restart()
	s.offer("S1", 8, 8192)
	s.finish(s.accepted())
	s.restart()
	if s.step(ask); s.last.Replies[0].ExecutionID != made || len(s.core.executions) > 0 {
		t.Fatalf("the repeated trigger runs again: %+v", s.last.Replies)
	}
	s.until(keysKept + time.Minute)
	if s.restart(); len(s.core.keys) > 0 {
		t.Error("a key is remembered for ever")
	}
}

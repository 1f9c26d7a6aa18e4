package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

func TestX9LooksAtIdleExecutorsDoNotMultiply(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{5 * time.Second, 12 * time.Second, 20 * time.Second, time.Minute} {
		s := newStage(t)
		s.app()
		s.job(oneShard, func(j *jobs.Config) { j.Cron = fmt.Sprintf("0/%d * * * * ?", min(59, int(period.Seconds()))) })
		var runs []string
		for i := range 300 {
			s.until(s.now.Truncate(period).Add(period + time.Millisecond).Sub(s.now))
			s.offer("S1", 8, 8192, runs...)
			l := s.accepted()
			if len(l) != 1 {
				t.Fatalf("%d launches", len(l))
			}
			runs = []string{l[0].Executor.ID}
			s.run(l)
			s.after(time.Duration(100+i*37%200) * time.Millisecond)
			s.finish(l)
		}
		if n := len(s.core.timers.heap); n > 20 {
			t.Errorf("a run every %s: %d timers after 300", period, n)
		}
	}
}

// A change may make fit what did not: it is looked at again, and no old reason stays.
func TestAChangedJobIsMatchedAnew(t *testing.T) {
	t.Parallel()
	for _, cpus := range []float64{100, 8} {
		s := newStage(t)
		s.app()
		s.job(oneShard, func(j *jobs.Config) { j.CPUCount = cpus })
		s.trigger()
		s.offer("S1", 4, 8192)
		s.until(time.Second)
		s.apply(s.core.planUpdateJob("my_job", func(j jobs.Config) (jobs.Config, error) { j.CPUCount = 1; return j, nil }))
		revived := len(calls[CallRevive](s.last))
		for range 10 {
			s.until(100 * time.Millisecond)
			revived += len(calls[CallRevive](s.last))
		}
		if revived == 0 {
			t.Errorf("%v CPU: nothing is revived", cpus)
		}
		x, err := s.core.Explain("my_job")
		if err != nil || len(x.Waiting) != 1 || strings.Contains(x.Waiting[0].Reason, fmt.Sprint("needs ", cpus, " CPU")) {
			t.Errorf("%v CPU: %+v, %v", cpus, x.Waiting, err)
		}
	}
}

// The only large agent is full of an idle executor and so has nothing on offer.
func TestNeverIsSaidOnlyOfWhatNoKnownAgentCouldHold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorIdle = time.Hour
	s.restart()
	s.app(func(a *app.Config) { a.CPUCount, a.MemoryMB = 3, 1024 })
	s.app(func(a *app.Config) { a.AppName, a.CPUCount = "other_app", 0.5 })
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 1 })
	s.job(oneShard, func(j *jobs.Config) {
		j.JobName, j.AppName, j.CPUCount, j.Cron = "other", "other_app", 2, "0/5 * * * * ?"
	})
	l := s.start(4)
	s.run(l)
	s.finish(l)
	s.until(time.Second)
	s.now = s.now.Truncate(5 * time.Second).Add(3500 * time.Millisecond)
	s.step()
	s.offer("S2", 1, 8192) // held for the fire that is soon
	for range 30 {
		s.until(time.Second)
		if s.core.pool.Len() == 0 {
			s.offer("S2", 1, 8192)
		}
	}
	x, err := s.core.Explain("other")
	if err != nil || len(x.Waiting) == 0 || strings.Contains(x.Waiting[0].Reason, "can ever hold") {
		t.Errorf("S1 has 4 CPU and runs nothing: %+v, %v", x.Waiting, err)
	}
	if !s.core.executors[l[0].Executor.ID].Closing {
		t.Error("the idle executor stays in its way")
	}
}

func TestT7ARemovalIsOfTheMasterThatSaidSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runsOn("S1", func(*jobs.Config) {})
	s.step(SessionEnded{Session: s.core.session.number, Removed: true, Reason: "Framework has been removed"})
	s.trigger()
	for len(calls[CallSubscribe](s.last)) == 0 {
		s.after(time.Second)
	}
	s.step(SessionBegan{Session: calls[CallSubscribe](s.last)[0].Session, MasterID: "master-2"}) // it knows nothing of the removal
	if after, launched := s.launchedWithin(15*time.Minute, "S1", cluster.Gone); launched {
		t.Errorf("launched again after %s by the word of another master", after)
	}
}

func TestReadersSeeNothingOfACommitThatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t)
		defer s.end()
		for _, line := range []string{"lead", "app my_app", "job my_job"} {
			if err := s.Command(line); err != nil {
				t.Fatal(err)
			}
		}
		s.registry.slow.Store(int64(2 * time.Second))
		s.registry.next = "unknown"
		if err := s.Command("trigger my_job"); err != nil {
			t.Fatal(err)
		}
		const readers = 200
		saw := make(chan int, readers)
		for range readers {
			go func() {
				ready, _ := s.scheduler.ReadyJobs(t.Context())
				saw <- len(ready)
			}()
		}
		for range readers {
			if n := <-saw; n > 0 {
				t.Fatalf("a reader was told of %d jobs that wait, by a commit that failed", n)
			}
		}
	})
}

// It would be stored as null, and the execution be lost for the next leader.
func TestATimeThatJSONCannotHoldIsNow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.update(l[0], cluster.Running, func(u *cluster.Update) { u.Timestamp = time.Unix(1e12, 0) })
	s.restart()
	s.until(time.Minute)
	s.update(l[0], cluster.Finished)
	if n := len(s.core.executions); n != 0 {
		t.Errorf("%d executions go on", n)
	}
}

func TestT8AClockThatSteppedBackHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const foreign = "plain_job@-@1@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001"
	s.original(map[string]string{"/ha/framework_id": foreignFramework, "/state/running/plain_job": "", "/state/running/plain_job/plain_job@-@1": foreign, "/state/ready/plain_job": "1"})
	s.now = s.now.Add(3 * time.Hour)
	s.restart()
	s.step(s.told(cluster.Update{TaskID: foreign, AgentID: "S1", State: cluster.Unreachable, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation, UnreachableSince: s.now.Add(-time.Second)}))
	s.answer(s.nextQuestion())
	s.setClock(-3 * time.Hour)
	s.until(30 * time.Minute)
	if s.core.takeover != nil {
		t.Errorf("nothing is launched: %s", s.core.takeover.reason())
	}
}

func TestX9RoomIsMadeBehindWhatCannotBeHelped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorIdle = time.Hour
	s.restart()
	s.app(func(a *app.Config) { a.CPUCount = 3 })
	s.app(func(a *app.Config) { a.AppName, a.CPUCount = "other_app", 0.5 })
	s.job(oneShard)
	l := s.start(4)
	s.run(l)
	s.finish(l)
	idle := l[0].Executor.ID
	for i := range 10 {
		s.job(func(j *jobs.Config) {
			j.JobName, j.AppName, j.CPUCount, j.ShardingTotalCount = fmt.Sprint("big", i), "other_app", 1, 100
		})
		s.step(TriggerRequested{Token: 1, Job: fmt.Sprint("big", i)})
	}
	s.after(time.Second)
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName, j.CPUCount = "small", "other_app", 1 })
	s.step(TriggerRequested{Token: 1, Job: "small"})
	for range 10 {
		if s.core.pool.Len() == 0 {
			s.offer("S1", 1, 8000, idle)
		}
		s.until(2 * time.Second)
	}
	if !s.core.executors[idle].Closing {
		x, _ := s.core.Explain("small")
		t.Errorf("the idle executor stays; small waits: %+v", x.Waiting)
	}
}

func TestX9WhatAGhostHoldsKeepsNoIdleExecutor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "other" })
	l := s.start(8)
	s.run(l)
	s.unreachable(l[0])
	s.until(11 * time.Minute)
	if len(s.core.orphans) != 1 {
		t.Fatal("no ghost")
	}
	s.trigger() // it waits for the ghost
	s.step(TriggerRequested{Token: 1, Job: "other"})
	s.until(20 * time.Second)
	s.offer("S2", 8, 8192)
	o := s.accepted()
	if len(o) != 1 {
		t.Fatalf("%d launches", len(o))
	}
	s.run(o)
	s.finish(o)
	s.until(time.Hour)
	if x := s.core.executors[o[0].Executor.ID]; x != nil && !x.Closing {
		t.Error("it idles for an hour")
	}
}

func TestWhatWaitsForAFaultyDocumentHasAReason(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.stored["/config/job/my_job"] = []byte("{")
	s.restart()
	if v, err := s.core.Execution(id); err != nil || v.State != Waiting || !strings.Contains(v.Reason, "can't be used") {
		t.Errorf("%+v, %v", v, err)
	}
	if x, err := s.core.Explain("my_job"); err != nil || len(x.Waiting) != 1 || !strings.Contains(x.Waiting[0].Reason, "can't be used") {
		t.Errorf("%+v, %v", x, err)
	}
}

// The pause before the next try is for a master that may not be able to take us; another may.
func TestAnotherMasterIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 5 { // the pauses have grown
		s.step(SessionEnded{Session: s.core.session.number, Reason: "connection refused"})
		for len(calls[CallSubscribe](s.last)) == 0 {
			s.after(time.Second)
		}
	}
	tried := s.core.session.number
	s.step(SessionEnded{Session: tried, Reason: "connection refused"})
	if d := s.step(MasterChanged{Session: tried - 1}); len(calls[CallSubscribe](d)) != 0 {
		t.Error("old news ended the pause")
	}
	if d := s.step(MasterChanged{Session: tried}); len(calls[CallSubscribe](d)) != 1 {
		t.Error("it waits on")
	}
	if d := s.step(MasterChanged{Session: tried}); len(calls[CallSubscribe](d)) != 0 {
		t.Error("a second try beside the first")
	}
}

// All that keeps a server from leading is told at once.
func TestAllDamageIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.start(8)
	n := 0
	for path := range s.stored {
		if strings.HasPrefix(path, pathExecution+"/") || strings.HasPrefix(path, pathExecutor+"/") {
			s.stored[path] = []byte("{junk")
			n++
		}
	}
	err := NewCore(s.opt).Load(s.now, Stored{s.entries()})
	if n < 2 || err == nil || strings.Count(err.Error(), "state is damaged there") != n {
		t.Errorf("%d damaged entries: %v", n, err)
	}
}

func TestExplainSaysThatWhatRunsMayBeOld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.run(s.start(8))
	noted := func() bool {
		x, err := s.core.Explain("my_job")
		if err != nil || len(x.Running) != 1 {
			t.Fatalf("%+v, %v", x, err)
		}
		return strings.Contains(strings.Join(x.Notes, "\n"), "as they were last known: the scheduler has no connection to the cluster: connection refused")
	}
	if noted() {
		t.Error("said while subscribed")
	}
	s.step(SessionEnded{Session: s.core.session.number, Reason: "connection refused"})
	if !noted() {
		t.Error("not said without a subscription")
	}
}

func TestAnOutageIsToldOfNowAndThen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	told := 0
	fail := func(reason string) {
		s.step(SessionEnded{Session: s.core.session.number, Reason: reason})
		for _, n := range s.last.Notes {
			if n.Kind == NoteSession {
				told++
			}
		}
		for len(calls[CallSubscribe](s.last)) == 0 {
			s.after(time.Second)
		}
	}
	begin := s.now
	for i := 0; s.now.Sub(begin) < 10*time.Minute; i++ {
		fail(fmt.Sprint("read tcp 127.0.0.1:", 40000+i, ": connection refused"))
	}
	if told < 10 || told > 14 {
		t.Errorf("told %d times in 10 minutes", told)
	}
	told = 0
	if fail("the master wants credentials"); told != 1 {
		t.Error("another reason is not told of")
	}
}

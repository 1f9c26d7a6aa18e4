package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// newStageOfTenCrons returns a stage with ten jobs that fire together every five seconds. Its core makes two fires per
// step.
func newStageOfTenCrons(t *testing.T, change ...func(*jobs.Config)) *stage {
	t.Helper()
	s := newStage(t)
	s.opt.FiresPerStep = 2
	s.restart()
	s.app()
	for i := range 10 {
		s.job(append(change, oneShard, everyFiveSeconds, func(j *jobs.Config) { j.JobName = fmt.Sprint("j", i) })...)
	}
	return s
}

// TestF4AMissedWindowOfAClockThatWasAheadIsNotFinished sets the clock an hour ahead, which opens a missed window, and
// sets it right while the core crosses the window. The core must abandon the window and make the fires of the true
// time.
func TestF4AMissedWindowOfAClockThatWasAheadIsNotFinished(t *testing.T) {
	t.Parallel()
	s := newStageOfTenCrons(t)
	s.runFor(time.Minute)
	s.skew = time.Hour
	s.step()
	if _, crosses := s.core.fires.MissedLeft(); !crosses {
		t.Fatal("there is no missed window, or one step crossed it")
	}
	s.skew = 0
	s.step()
	made := s.core.views.Stats().Fires
	s.runFor(20 * time.Second)
	if cursor := s.core.fires.MadeUpTo(); cursor.After(s.now) {
		t.Errorf("the cursor is at %s, now it is %s", cursor, s.now)
	}
	if s.core.views.Stats().Fires == made {
		t.Error("no fires were made in 20 s")
	}
}

// TestX9AnIdleExecutorIsNotKeptForAsLongAsTheClockWasAhead loads the state while the clock is an hour ahead, and sets
// it right before the first step. The idle executor must be shut down after its usual time.
func TestX9AnIdleExecutorIsNotKeptForAsLongAsTheClockWasAhead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)
	s.reportFinished(l)
	s.skew = time.Hour
	s.core = s.load()
	s.skew = 0
	s.step()
	s.answerSubscribe()
	s.runFor(s.opt.ExecutorIdle + time.Second)
	if x := s.core.executors.Get(l[0].Executor.ID); x != nil && !x.IsClosing() {
		t.Errorf("an executor is kept that was idle for %s", s.opt.ExecutorIdle)
	}
}

// TestF2FiresThatWereMadeAheadAreNotMadeAgain makes fires while the clock is ahead, sets the clock right, and disables
// and enables a job. Its fires must not be made a second time.
func TestF2FiresThatWereMadeAheadAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStageOfTenCrons(t, withMisfire)
	s.opt.MaxEnded = 1
	s.restart()
	s.fireFor(time.Minute)
	before := len(s.createdOf("j0"))
	s.skew = 10 * time.Minute
	s.step()
	if _, crosses := s.core.fires.MissedLeft(); !crosses || len(s.createdOf("j0")) == before {
		t.Fatal("want fires of the first job, and a missed window that is not crossed yet")
	}
	s.skew = 0
	s.step()
	s.apply(s.core.planDisableJob("j0", true))
	s.apply(s.core.planDisableJob("j0", false))
	s.fireFor(10 * time.Minute)
	s.checkOnce()
}

// TestNoOfferIsHeldForFiresThatTheClockHasPutOff sets the clock back while the core makes the fires of one due batch.
// Offers must no longer be held for the remaining fires, which are an hour away now.
func TestNoOfferIsHeldForFiresThatTheClockHasPutOff(t *testing.T) {
	t.Parallel()
	s := newStageOfTenCrons(t)
	for end := s.now.Add(time.Minute); !s.core.fires.InBatch(); s.stepAfter(100 * time.Millisecond) {
		if s.now.After(end) {
			t.Fatal("each due batch fits into one step")
		}
	}
	if _, _, holdsAll := s.core.placement.Upcoming(s.now.Add(time.Second)); !holdsAll {
		t.Error("not all offers are held for the remaining fires")
	}
	s.skew = -time.Hour
	s.step()
	if _, _, holdsAll := s.core.placement.Upcoming(s.now.Add(time.Second)); holdsAll || !s.core.fires.InBatch() {
		t.Errorf("all offers are held: %v; fires of the batch remain: %v", holdsAll, s.core.fires.InBatch())
	}
}

// TestF2AJobRegisteredAfterTheClockSteppedBackFiresFromThenOn checks that the fire cursor, which an earlier job has
// moved ahead, does not prevent the fires of a job that is registered after the clock was set back. That job must not
// fire for times before its registration.
func TestF2AJobRegisteredAfterTheClockSteppedBackFiresFromThenOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.stepAfter(3 * time.Hour)
	s.job(hourly)
	s.moveClock(-2*time.Hour - 30*time.Minute)
	s.job(hourly, func(j *jobs.Config) { j.JobName = "other" })
	s.runFor(time.Hour)
	if _, err := s.core.views.Execution("other@20261121T090000Z"); err != nil {
		t.Errorf("no fire, because a job with the same cron was registered while the clock was ahead: %v", err)
	}
	if s.core.executions.Get("my_job@20261121T090000Z") != nil {
		t.Error("a job fired for a time before it was registered")
	}
}

// TestL2TheReservationComesThoughTheClockSteppedBack checks that a waiting execution gets a reservation after the usual
// time although the clock was set back.
func TestL2TheReservationComesThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = 2, 3 })
	s.offer("S1", 8, 8192)
	s.stepAfter(3 * time.Hour)
	s.trigger()
	s.offer("S1", 4, 8192)
	s.moveClock(-3 * time.Hour)
	for range 5 {
		if s.core.placement.Held().Free("S1").IsZero() {
			s.offer("S1", 4, 8192)
		}
		s.runFor(8 * time.Second)
	}
	if _, ok := s.core.placement.Reserved(); !ok {
		t.Fatal("no agent is reserved for an execution that has waited for 40 s")
	}
}

// TestF4AShellDoesNotSleepThroughAStepBack checks how long the shell sleeps after the clock was set back. It must wake
// often enough to notice that the clock is set right.
func TestF4AShellDoesNotSleepThroughAStepBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.step()
	if got := s.wake().Sub(s.now); got <= 0 || got > 5*time.Second {
		t.Errorf("the shell sleeps for %s, want until the next fire", got)
	}
	s.moveClock(-time.Hour)
	if got := s.wake().Sub(s.now); got > clock.MaxSleep {
		t.Errorf("the shell sleeps for %s: it would notice too late that the clock is set right", got)
	}
	s.moveClock(2 * time.Hour)
	if got := s.wake().Sub(s.now); got > 5*time.Second {
		t.Errorf("the shell sleeps for %s although fires are due", got)
	}
}

// TestE4AnAttemptIsGivenUpThoughTheClockSteppedBack checks that an attempt on an unreachable agent is given up after
// the usual time although the clock was set back.
func TestE4AnAttemptIsGivenUpThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id, l := s.launch()
	s.reportRunning(l)
	s.stepAfter(3 * time.Hour)
	s.reportUnreachable(l[0])
	s.moveClock(-3 * time.Hour)
	s.runFor(50 * time.Second)
	if got := s.execution(id).State; got != executions.Running {
		t.Fatalf("%s after 50 s on an unreachable agent, want RUNNING until a minute has passed", got)
	}
	s.runFor(20 * time.Second)
	if got := s.execution(id).State; got != executions.Failed {
		t.Fatalf("%s after 70 s on an unreachable agent, want FAILED", got)
	}
}

// TestL2AClockThatSteppedBackHoldsNoOffer checks that an unusable offer is declined after the usual time although the
// clock was set back.
func TestL2AClockThatSteppedBackHoldsNoOffer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 2 })
	s.offer("S1", 8, 8192)
	s.stepAfter(3 * time.Hour)
	s.trigger()
	s.offer("S1", 2, 8192)
	if s.core.placement.Held().Len() == 0 {
		t.Fatal("the offer is not held for the waiting shards")
	}
	s.moveClock(-3 * time.Hour)
	s.runFor(s.opt.OfferHold + 2*time.Second)
	if n := s.core.placement.Held().Len(); n > 0 {
		t.Fatalf("%d unusable offers are still held", n)
	}
}

// TestX9AnIdleExecutorEndsThoughTheClockSteppedBack checks that an idle executor is shut down after the usual time
// although the clock was set back.
func TestX9AnIdleExecutorEndsThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)
	s.reportFinished(l)
	s.moveClock(-2 * time.Hour)
	s.runFor(2 * time.Minute)
	if x := s.core.executors.Get(l[0].Executor.ID); x != nil && !x.IsClosing() {
		t.Fatal("an idle executor is kept for 2 minutes, as if it had to wait for the clock")
	}
}

// TestL2OffersAreRequestedThoughTheClockSteppedBackInABackoff checks that a shard in its retry backoff is launched
// soon after the clock was set back and a new leader began. The stored end of the backoff is then far ahead of the
// clock.
func TestL2OffersAreRequestedThoughTheClockSteppedBackInABackoff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	s.update(l[0], cluster.Failed)
	s.moveClock(-2 * time.Hour)
	s.restart()
	s.runFor(time.Second)
	if s.core.placement.Suppressed() {
		e := s.core.executions.Launchable()[0]
		t.Fatalf("no offers are requested for a waiting shard: %s", s.core.views.ShardWaitReason(e, e.Shard(0)))
	}
	if s.offer("S1", 8, 8192); len(s.answerAccepts()) != 1 {
		t.Error("the shard is not launched")
	}
}

// TestT8ATakeoverEndsThoughTheClockSteppedBack checks that the takeover of a framework ends although the clock was set
// back while a task of the framework was unreachable.
func TestT8ATakeoverEndsThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const former = "plain_job@-@1@-@READY@-@S1@-@0f8e1a2b-0000-4000-8000-000000000001"
	s.storeOriginal(map[string]string{"/ha/framework_id": formerFramework, "/state/running/plain_job": "",
		"/state/running/plain_job/plain_job@-@1": former, "/state/ready/plain_job": "1"})
	s.now = s.now.Add(3 * time.Hour)
	s.restart()
	s.step(s.clusterEvent(cluster.Update{TaskID: former, AgentID: "S1", State: cluster.Unreachable,
		Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation, UnreachableSince: s.now.Add(-time.Second)}))
	s.answer(s.nextQuestion())
	s.moveClock(-3 * time.Hour)
	s.runFor(30 * time.Minute)
	if s.core.subscription.InTakeover() {
		t.Errorf("the takeover does not end: %s", s.core.subscription.TakeoverReason())
	}
}

// TestK1AKillIsRepeatedThoughTheClockSteppedBack checks that an unanswered kill is repeated although the clock was set
// back.
func TestK1AKillIsRepeatedThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runJob(oneShard)
	s.now = s.now.Add(time.Hour)
	s.apply(s.core.planDisableJob("my_job", true))
	s.skew -= time.Hour
	kills := 0
	for range 60 {
		kills += len(calls[step.CallKill](s.stepAfter(10 * time.Second)))
	}
	if kills == 0 {
		t.Fatal("the kill is not repeated in ten minutes")
	}
}

// TestF4AShellNeverSleepsLong checks that the shell wakes within ten seconds although the next fire is hours away, so
// that it notices when the wall clock steps forward.
func TestF4AShellNeverSleepsLong(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Cron = "0 0 3 * * ?" })
	s.step()
	if sleep := s.wake().Sub(s.now); sleep <= 0 || sleep > 10*time.Second {
		t.Fatalf("the shell sleeps for %s: it would notice too late that the wall clock steps forward", sleep)
	}
}

// TestF4NoFiresWhileTheClockIsBehindTheCursor checks that no fires are made after the clock was set back until it has
// passed the fire cursor, and that explain has a note about it.
func TestF4NoFiresWhileTheClockIsBehindTheCursor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds, withMisfire)
	s.runFor(11 * time.Second)
	made := s.core.views.Stats().Fires
	s.skew -= time.Hour
	s.step()
	s.runFor(30 * time.Minute)
	if got := s.core.views.Stats().Fires; got != made {
		t.Fatalf("%d fires were made while the clock was behind the cursor", got-made)
	}
	x, err := s.core.views.Explain("my_job")
	if err != nil || len(x.Notes) == 0 || !strings.Contains(x.Notes[0], "clock") {
		t.Fatalf("explain has no note about the clock: %+v, %v", x, err)
	}
	s.runFor(31 * time.Minute)
	if got := s.core.views.Stats().Fires; got == made {
		t.Fatal("no fires were made after the clock passed the cursor")
	}
}

package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// These tests check promise 6: offers are requested only when they are needed, and declined when they are not.

// TestOffersAreNotRevivedAgainForMoreOfTheSame triggers 200 jobs with the same need, which no agent can satisfy now.
// The core must send REVIVE for the first of them, not for each.
func TestOffersAreNotRevivedAgainForMoreOfTheSame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 200 {
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = fmt.Sprint("j", i), 2 })
	}
	agents := []string{"A", "B", "C"}
	for _, a := range agents { // each has 4 CPUs; later offers show that only one is free
		s.offer(a, 4, 8192)
	}
	s.runFor(10 * time.Second)
	revived := 0
	countRevives := func(d Decision) {
		n := len(calls[step.CallRevive](d))
		if revived += n; n == 0 {
			return
		}
		for _, a := range agents {
			revived += len(calls[step.CallRevive](s.offer(a, 1, 1000)))
		}
	}
	for i := range 200 {
		countRevives(s.step(Request{Token: 1, Event: operator.TriggerRequested{Job: fmt.Sprint("j", i)}}))
		for range 5 {
			s.now = s.now.Add(10 * time.Millisecond)
			countRevives(s.step())
		}
	}
	if revived > 5 {
		t.Errorf("%d REVIVEs for jobs that all need the same, which no agent offers", revived)
	}
}

// TestOffersAreDeclinedWhileAMatchGoesOn checks that unusable offers are declined in time although new offers keep
// restarting the match, so that it never ends.
func TestOffersAreDeclinedWhileAMatchGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.DemandsPerStep = 2
	s.restart()
	s.app()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount, j.ShardingTotalCount = name, 0.1, 9999 })
		s.triggerJob(name)
	}
	first := s.now
	s.offer("S0", 1, 1000)
	for i := range 1000 { // each offer restarts the match
		s.now = s.now.Add(10 * time.Millisecond)
		s.offer(fmt.Sprint("S", i+1), 1, 1000)
	}
	if oldest := s.core.placement.Held().Oldest("S0"); oldest.Equal(first) {
		t.Errorf("an unusable offer is held for %s", s.now.Sub(oldest))
	}
}

// TestOneREVIVEFindsAllExecutorsOfALostAgent removes an agent with the idle executors of 20 apps. The core sends
// REVIVE to find out whether the agent is back. It must send one for all executors together.
func TestOneREVIVEFindsAllExecutorsOfALostAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 20 {
		name := fmt.Sprint("app", i)
		s.app(func(a *app.Config) { a.AppName, a.CPUCount = name, 0.1 })
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName, j.CPUCount = name, name, 0.1 })
		s.triggerJob(name)
	}
	s.offer("S1", 64, 64000)
	l := s.answerAccepts()
	s.reportRunning(l)
	s.reportFinished(l)
	s.runFor(time.Second)
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S1"}))
	for range 3600 {
		s.stepAfter(time.Second)
		if n := len(calls[step.CallRevive](s.last)); n > 1 {
			t.Fatalf("%d REVIVEs in one step", n)
		}
	}
}

// TestNoOfferIsHeldForAFireThatWillBeDropped lets a job fire every second while its first run continues. Each fire is
// dropped, so no offer must be held for it.
func TestNoOfferIsHeldForAFireThatWillBeDropped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Cron = "0/1 * * * * ?" })
	s.runFor(time.Second)
	s.offer("S1", 8, 8192)
	s.runFor(time.Second)
	l := s.answerAccepts()
	if len(l) != 1 {
		t.Fatalf("%d launches, want 1", len(l))
	}
	s.reportRunning(l)
	held := 0
	for range 600 {
		s.runFor(100 * time.Millisecond)
		if s.core.placement.Held().Len() > 0 {
			held++
			continue
		}
		s.offer("S1", 6.5, 8000, l[0].Executor.ID)
	}
	if held > 60 {
		t.Errorf("an offer was held at %d of 600 moments", held)
	}
	// Once the run has ended, offers are held for the next fire.
	s.reportFinished(l)
	if len(calls[step.CallRevive](s.last)) == 0 && s.core.placement.Held().Len() == 0 {
		t.Error("no offers are held or requested for the next fire")
	}
}

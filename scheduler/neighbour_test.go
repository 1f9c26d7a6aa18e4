package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
)

// A good neighbour (promise 6): offers are asked for when they are needed, and given back when not.

func TestOffersAreNotRevivedAgainForMoreOfTheSame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 200 {
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = fmt.Sprint("j", i), 2 })
	}
	agents := []string{"A", "B", "C"}
	for _, a := range agents { // four CPU each, of which one is free
		s.offer(a, 4, 8192)
	}
	s.until(10 * time.Second)
	revived := 0
	look := func(d Decision) {
		n := len(calls[CallRevive](d))
		if revived += n; n == 0 {
			return
		}
		for _, a := range agents {
			revived += len(calls[CallRevive](s.offer(a, 1, 1000)))
		}
	}
	for i := range 200 {
		look(s.step(TriggerAsked{Token: 1, Job: fmt.Sprint("j", i)}))
		for range 5 {
			s.now = s.now.Add(10 * time.Millisecond)
			look(s.step())
		}
	}
	if revived > 5 {
		t.Errorf("%d REVIVE within 10 s for jobs that all want the same, which is not there", revived)
	}
}

func TestOffersAreGivenBackWhileARoundGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.DemandsPerStep = 2
	s.restart()
	s.app()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount, j.ShardingTotalCount = name, 0.1, 9999 })
		s.step(TriggerAsked{Token: 1, Job: name})
	}
	first := s.now
	s.offer("S0", 1, 1000)
	for i := range 1000 { // each begins the round anew
		s.now = s.now.Add(10 * time.Millisecond)
		s.offer(fmt.Sprint("S", i+1), 1, 1000)
	}
	if oldest := s.core.pool.Oldest("S0"); oldest.Equal(first) {
		t.Errorf("held for %s", s.now.Sub(oldest))
	}
}

func TestExecutorsOfALostAgentAreLookedForTogether(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 20 {
		name := fmt.Sprint("app", i)
		s.app(func(a *app.Config) { a.AppName, a.CPUCount = name, 0.1 })
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.AppName, j.CPUCount = name, name, 0.1 })
		s.step(TriggerAsked{Token: 1, Job: name})
	}
	s.offer("S1", 64, 64000)
	l := s.accepted()
	s.run(l)
	s.finish(l)
	s.until(time.Second)
	s.step(s.told(cluster.Failure{AgentID: "S1"}))
	for range 3600 {
		s.after(time.Second)
		if n := len(calls[CallRevive](s.last)); n > 1 {
			t.Fatalf("%d REVIVE at once", n)
		}
	}
}

// A cron of every second, while its only run goes on: each fire finds it running.
func TestNoOfferIsHeldForAFireThatWillBeDropped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Cron = "0/1 * * * * ?" })
	s.until(time.Second)
	s.offer("S1", 8, 8192)
	s.until(time.Second)
	l := s.accepted()
	if len(l) != 1 {
		t.Fatalf("%d launches", len(l))
	}
	s.run(l)
	held, offered := 0, 0
	for range 600 {
		s.until(100 * time.Millisecond)
		if s.core.pool.Len() > 0 {
			held++
			continue
		}
		offered++
		s.offer("S1", 6.5, 8000, l[0].Executor.ID)
	}
	if held > 60 {
		t.Errorf("offers were held for %d of 600 moments", held)
	}
	// Once it is over, the next fire has one.
	s.finish(l)
	if len(calls[CallRevive](s.last)) == 0 && s.core.pool.Len() == 0 {
		t.Error("nothing is revived for the next fire")
	}
}

func TestL2NoTurnOnAnAgentThatIsAvoided(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 3 })
	l := s.start(8)
	s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "other", 3 })
	s.core.apps["my_app"].starts["S1"].Tries = 9 // avoided for long
	s.step(TriggerAsked{Token: 1, Job: "other"})
	s.offer("S1", 8, 8192)
	s.offer("S2", 2, 8192)
	s.until(31 * time.Second)
	s.offer("S1", 8, 8192)
	s.until(time.Second)
	if r := s.core.reservation; r != nil && r.agents["S1"] {
		t.Errorf("S1 is reserved for %s, which may not use it", r.exec)
	}
}

// A maintenance schedule may stand long after its window is over.
func TestAnAgentWhoseMaintenanceIsOverIsUsedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begins, over time.Duration // from now; over 0: not said
		used         bool
	}{
		"is over":        {-2 * time.Hour, -time.Hour, true},
		"goes on":        {-2 * time.Hour, time.Hour, false},
		"without an end": {-2 * time.Hour, 0, false},
		"begins soon":    {time.Minute, time.Hour, false},
		"begins later":   {2 * time.Hour, 3 * time.Hour, true},
	} {
		s := newStage(t)
		s.app()
		s.job(oneShard)
		s.trigger()
		o := cluster.Offer{ID: "O1", AgentID: "S1", Hostname: "h", Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_000_000}, Unavailable: s.now.Add(test.begins)}
		if test.over != 0 {
			o.AvailableAgain = s.now.Add(test.over)
		}
		d := s.step(s.told(cluster.Offers{Offers: []cluster.Offer{o}}))
		if used := len(calls[CallAccept](d)) > 0; used != test.used {
			t.Errorf("%s: used %v", name, used)
		}
	}
}

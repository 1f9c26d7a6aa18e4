package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestAShardThatNeverFitsHoldsNoOffer checks that an offer is declined for a long time if the only waiting shard fits
// no known agent. Offers must not be suppressed, because a larger agent may come.
func TestAShardThatNeverFitsHoldsNoOffer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 1000 })
	s.trigger()
	d := s.offer("S1", 8, 8192)
	declined := calls[step.CallDecline](d)
	if len(declined) != 1 || declined[0].Refuse < 10*time.Second {
		t.Fatalf("declined %+v, want the offer, for at least 10 s", declined)
	}
	if len(calls[step.CallSuppress](d)) > 0 {
		t.Fatal("after a SUPPRESS a larger agent would not be noticed")
	}
}

// TestOffersOfARemovedAgentAreNotUsed checks that no held offer of a removed agent is used.
func TestOffersOfARemovedAgentAreNotUsed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(needsTwoAgents)
	s.trigger()
	s.offer("S2", 5, 8192)
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S2"}))
	s.offer("S1", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatalf("launched on an agent that was removed: %+v", s.accepts)
	}
	s.offer("S3", 5, 8192)
	if got := len(s.answerAccepts()); got != 3 {
		t.Errorf("%d shards were launched after an offer of another agent, want 3", got)
	}
}

// TestAChangedJobIsMatchedAgain changes a job so that its waiting shard needs less. The core must request offers for
// it, and explain must not show the old reason.
func TestAChangedJobIsMatchedAgain(t *testing.T) {
	t.Parallel()
	for _, cpus := range []float64{100, 8} {
		s := newStage(t)
		s.app()
		s.job(oneShard, func(j *jobs.Config) { j.CPUCount = cpus })
		s.trigger()
		s.offer("S1", 4, 8192)
		s.runFor(time.Second)
		s.updateJob("my_job", func(j *jobs.Config) { j.CPUCount = 1 })
		revived := len(calls[step.CallRevive](s.last))
		for range 10 {
			s.runFor(100 * time.Millisecond)
			revived += len(calls[step.CallRevive](s.last))
		}
		if revived == 0 {
			t.Errorf("%v CPU: no offers are requested after the change", cpus)
		}
		x, err := s.core.views.Explain("my_job")
		if err != nil || len(x.Waiting) != 1 ||
			strings.Contains(x.Waiting[0].Reason, fmt.Sprint("needs ", cpus, " CPU")) {
			t.Errorf("%v CPU: explain shows %+v, %v", cpus, x.Waiting, err)
		}
	}
}

// TestAnEmptyOfferIsDeclinedAtOnce checks that an offer without usable resources is declined for as long as
// possible. An agent makes such offers if all its CPU and memory are revocable.
func TestAnEmptyOfferIsDeclinedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{ID: "O", AgentID: "S1"}}}))
	if d := calls[step.CallDecline](s.last); len(d) != 1 || d[0].Refuse != s.opt.MaxRefuse ||
		s.core.placement.Held().Len() > 0 {
		t.Errorf("declined %+v", d)
	}
	revives := 0
	for end := s.now.Add(5 * time.Second); s.now.Before(end); {
		s.runFor(50 * time.Millisecond)
		revives += len(calls[step.CallRevive](s.last))
	}
	if revives > 1 {
		t.Errorf("%d REVIVEs bring the declined offer back", revives)
	}
}

// scarceCluster has three agents of 8 CPUs each, and a master with filters as Mesos has them. Other frameworks use 4
// CPUs of each agent.
type scarceCluster struct {
	*stage
	filters  map[string]time.Time     // the end of the filter, by agent
	revived  bool                     // since the last offers
	held     map[string]time.Duration // how long offers were held, by agent
	declines int
}

// play lets a duration pass in which the master makes offers every second, and after each REVIVE.
func (s *scarceCluster) play(d time.Duration) {
	s.t.Helper()
	const tick = 50 * time.Millisecond
	for i := 0; i < int(d/tick); i++ {
		for end := s.now.Add(tick); s.now.Before(end); s.handleCalls() {
			next := end
			if wake := s.wake(); wake.After(s.now) && wake.Before(end) {
				next = wake
			}
			s.now = next
			s.step()
		}
		for _, a := range []string{"S1", "S2", "S3"} {
			isTimeToOffer := s.revived || i%20 == 0 // 20 ticks are a second
			isFiltered := s.now.Before(s.filters[a])
			if !s.core.placement.Held().Free(a).IsZero() {
				s.held[a] += tick
			} else if isTimeToOffer && !isFiltered && !s.core.placement.Suppressed() {
				s.offer(a, 4, 4000)
				s.handleCalls()
			}
		}
		s.revived = false
	}
}

// handleCalls carries out the calls of the last step: a DECLINE sets filters, and a REVIVE removes all of them.
func (s *scarceCluster) handleCalls() {
	for _, call := range s.last.Calls {
		switch call := call.(type) {
		case step.CallDecline:
			s.declines++
			for _, a := range []string{"S1", "S2", "S3"} {
				if s.core.placement.Held().Free(a).IsZero() && !s.now.Before(s.filters[a]) {
					s.filters[a] = s.now.Add(call.Refuse)
				}
			}
		case step.CallRevive:
			clear(s.filters)
			s.revived = true
		}
	}
	s.last.Calls = nil
}

// newScarceCluster returns a cluster in which the shards of my_job wait. Each shard needs the given number of CPUs. All
// agents have once offered all their CPUs.
func newScarceCluster(t *testing.T, cpus float64, shards int) *scarceCluster {
	t.Helper()
	s := &scarceCluster{stage: newStage(t), filters: map[string]time.Time{}, held: map[string]time.Duration{}}
	s.opt.ReserveAfter = time.Hour // so that rule L2 has no effect here
	s.restart()
	s.app()
	for _, a := range []string{"S1", "S2", "S3"} {
		s.offer(a, 8, 8000)
	}
	s.runFor(time.Second)
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = shards, cpus })
	s.trigger()
	s.handleCalls()
	return s
}

// TestShardsThatDoNotFitHoldOffersOnlyBriefly checks for how long offers are held for shards that do not all fit, so
// that other frameworks can use the resources. A small shard must still be launched at once.
func TestShardsThatDoNotFitHoldOffersOnlyBriefly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cpus   float64
		shards int
		limit  time.Duration // of the time for which an agent's offers are held in 5 minutes
	}{
		{"one large shard", 6, 1, time.Second},
		{"shards of which some would fit", 1, 20, 12 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScarceCluster(t, tt.cpus, tt.shards)
			s.play(5 * time.Minute)
			if len(s.accepts) > 0 {
				t.Fatalf("launched %+v", s.accepts)
			}
			for a, held := range s.held {
				if held > tt.limit {
					t.Errorf("offers of agent %s are held for %s of 5 minutes, want at most %s", a, held, tt.limit)
				}
			}
			if s.declines > 150 {
				t.Errorf("%d DECLINEs in 5 minutes", s.declines)
			}
			if x := s.explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "which lacks") {
				t.Errorf("explain shows %+v", x.Waiting[0])
			}
			// A new shard that fits gets offers at once.
			s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "small_job", 1 })
			s.triggerJob("small_job")
			s.handleCalls()
			s.play(300 * time.Millisecond)
			if l := s.answerAccepts(); len(l) != 1 || !strings.HasPrefix(l[0].TaskID, "small_job") {
				t.Errorf("launched %+v, want the small job", l)
			}
		})
	}
}

// TestL1TheEndOfATaskRevivesOffersForShardsThatStartTogether checks that offers of all agents are requested when a
// task ends, because shards that start together may fit now.
func TestL1TheEndOfATaskRevivesOffersForShardsThatStartTogether(t *testing.T) {
	t.Parallel()
	s := newScarceCluster(t, 1, 5)
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.CPUCount = "first_job", 1, 1 })
	s.filters["S3"], s.filters["S2"] = s.now.Add(time.Hour), s.now.Add(time.Hour)
	s.triggerJob("first_job")
	s.offer("S1", 3, 3000)
	l := s.answerAccepts()
	if len(l) != 1 {
		t.Fatalf("launched %+v, want one task", l)
	}
	s.reportRunning(l)
	s.runFor(20 * time.Second)
	s.offer("S1", 1.5, 2000, l[0].Executor.ID)
	s.runFor(8 * time.Second)
	if s.core.placement.Held().Len() > 0 {
		t.Fatal("an offer is held although it is too small")
	}
	s.update(l[0], cluster.Finished)
	if len(calls[step.CallRevive](s.last)) != 1 {
		t.Errorf("no offers are requested at the end of the task: %+v", s.last.Calls)
	}
}

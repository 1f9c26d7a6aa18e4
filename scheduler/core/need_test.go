package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestOffersAreHeldJustBeforeAFireAndOnlyWhereItNeedsThem runs a job whose six shards need one of twenty agents for a
// moment every five seconds. It checks that offers are held only shortly and revived once for each run, so that other
// frameworks get everything else, and that the fires are not late.
func TestOffersAreHeldJustBeforeAFireAndOnlyWhereItNeedsThem(t *testing.T) {
	t.Parallel()
	for _, reviveTime := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(fmt.Sprint("answered after ", reviveTime), func(t *testing.T) {
			t.Parallel()
			p := newSimulatedJobs(t, 1, func(_ int, j *jobs.Config) {
				j.Cron, j.ShardingTotalCount, j.CPUCount = "0/5 * * * * ?", 6, 0.5
			})
			p.reviveTime, p.taskTime = reviveTime, time.Second
			p.run(time.Minute)
			before := p.core.views.Stats()
			p.held, p.tasks, p.revived = 0, 0, 0
			p.run(5 * time.Minute)
			runs := p.tasks / 6
			if runs != 60 {
				t.Fatalf("%d runs in five minutes, want 60", runs)
			}
			// One agent is held during the lead, and all twenty during the commit after they were offered.
			heldEach, limit := p.held/time.Duration(p.revived), p.core.placement.Lead()+20*2*time.Millisecond
			if heldEach > limit {
				t.Errorf("after each of %d REVIVEs offers were held for %s in total, want at most %s", p.revived,
					heldEach, limit)
			}
			if p.revived > runs+runs/10 {
				t.Errorf("%d REVIVEs for %d runs", p.revived, runs)
			}
			after := p.core.views.Stats()
			if late := after.FireDelay.Sum - before.FireDelay.Sum; late > 0.005*float64(runs) {
				t.Errorf("%d fires were %.3f s late in total", runs, late)
			}
		})
	}
}

// TestASlowMasterIsAskedEarlier checks that offers are requested earlier from a slow master, so that they arrive in
// time for the fires.
func TestASlowMasterIsAskedEarlier(t *testing.T) {
	t.Parallel()
	p := newSimulatedJobs(t, 1, func(_ int, j *jobs.Config) { j.Cron = "0/20 * * * * ?" })
	p.reviveTime = 500 * time.Millisecond
	p.run(10 * time.Minute)
	if lead := p.core.placement.Lead(); lead < p.reviveTime || lead > p.core.shared.Opt.OfferAhead {
		t.Errorf("offers are requested %s before a fire", lead)
	}
	before := p.core.views.Stats()
	p.run(10 * time.Minute)
	after := p.core.views.Stats()
	if fires := after.FireDelay.Count() - before.FireDelay.Count(); fires != 30 {
		t.Fatalf("%d fires in ten minutes, want 30", fires)
	}
	if late := after.FireDelay.Sum - before.FireDelay.Sum; late > 0.1 {
		t.Errorf("the fires were %.3f s late in total", late)
	}
}

// TestTheFirstFireHasOffersInTime checks that the first fire is on time although no lead was measured before it.
// Offers that arrive too early for the fire must be declined, and requested again just before it.
func TestTheFirstFireHasOffersInTime(t *testing.T) {
	t.Parallel()
	p := newSimulatedJobs(t, 1, func(_ int, j *jobs.Config) { j.Cron = "0 * * * * ?" })
	p.run(time.Minute)
	if s := p.core.views.Stats(); s.FireDelay.Count() != 1 || s.FireDelay.Sum > 0.005 ||
		p.held > 5*p.core.placement.Lead() {
		t.Errorf("%d fires, %.3f s late; offers held for %s", s.FireDelay.Count(), s.FireDelay.Sum, p.held)
	}
}

// TestOffersForACancelledFireAreDeclined disables a job for whose fire an offer is held. The offer must be declined.
func TestOffersForACancelledFireAreDeclined(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.runFor(4950 * time.Millisecond)
	s.offer("S1", 8, 8192)
	if s.core.placement.Held().Len() != 1 {
		t.Fatal("the offer is not held for the fire in 50 ms")
	}
	s.apply(s.core.planDisableJob("my_job", true))
	if s.core.placement.Held().Len() != 0 || len(calls[step.CallDecline](s.last)) != 1 ||
		len(calls[step.CallSuppress](s.last)) != 1 {
		t.Errorf("after the job was disabled: %+v", s.last.Calls)
	}
}

// TestNoREVIVEStormForFiresThatHaveNoRoom checks that REVIVE is sent only a few times, not continuously, for fires that
// will not fit.
func TestNoREVIVEStormForFiresThatHaveNoRoom(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.Cron, j.ShardingTotalCount, j.CPUCount = "0/10 * * * * ?", 20, 1 })
	s.offer("S1", 32, 8192)
	revived := 0
	for range 6000 {
		s.runFor(10 * time.Millisecond)
		if n := len(calls[step.CallRevive](s.last)); n > 0 {
			revived += n
			s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("P", s.now.UnixNano()),
				AgentID: "S1", Hostname: "S1", AgentURL: "http://S1:5051",
				Resources: resources.Amount{CPUMilli: 2000, MemMilli: 8_000_000}}}}))
		}
	}
	if revived > 20 {
		t.Errorf("%d REVIVEs in a minute", revived)
	}
}

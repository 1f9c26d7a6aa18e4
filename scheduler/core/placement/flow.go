package placement

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// beginSession forgets the offers and calls of the last session. Filters of the last leader may still be in force,
// because Mesos forgets filters only when it sees a framework's connection end, not when another subscriber takes
// over.
func (f *offerFlow) beginSession() {
	f.held.Clear()
	f.flowState = flowState{filtered: true}
}

// manage holds the offers that launches will need before these resources could be offered again (see need), and
// declines the others. An offer is held for at most OfferHold unless its agent is reserved. Offers are suppressed
// while no shard waits and no offer is needed.
func (f *offerFlow) manage(o flowInput) {
	shardsWait, someNeverFit := o.shardsWait && !o.launchesStopped, o.someNeverFit && !o.launchesStopped
	f.nextCheck = time.Time{}
	if !shardsWait {
		f.requestRefused() // the next demand may be able to use those offers
		f.unplaced, f.unplacing, f.declineBackoff = nil, nil, 0
	}
	if shardsWait || f.need.launchDue && !o.launchesStopped {
		f.decline(f.takeAgents(step.SortedKeys(o.excluded)), f.shared.Opt.MaxRefuse)
		if shardsWait {
			f.declineUnusable(o)
			f.requestForGangs()
		} else {
			f.declineUsable(f.takeOld(o.reservation), 0)
			f.declineUsable(f.takeSurplus(o.reservation), f.shared.Opt.OfferHold)
		}
		f.revive(shardsWait)
	} else {
		f.declineUsable(f.takeAll(), f.refuseFor(o.nextFire))
		// A shard that fits no agent seen so far waits for another agent to be offered.
		probing := f.probeUntil.After(f.shared.Now())
		if !f.suppressed && !someNeverFit && !probing {
			f.suppressed = true
			f.shared.Call(step.CallSuppress{})
		}
	}
	switch {
	case f.held.Len() == 0:
		f.wake = time.Time{}
	case f.wake.IsZero() || !f.wake.After(f.shared.Now()):
		// This is often enough that no offer is held for much longer than OfferHold.
		f.wake = f.shared.Now().Add(f.shared.Opt.OfferHold / 5)
	}
	if at := f.nextCheck; !at.IsZero() && (f.wake.IsZero() || at.Before(f.wake)) {
		f.wake = at
	}
}

// probeTime is long enough for a master's next round of offers.
const probeTime = 5 * time.Second

// reviveToProbe asks for offers only to see which executors they name (rule X3), at most once in a step.
func (f *offerFlow) reviveToProbe() {
	if f.revivedAt.Equal(f.shared.Now()) {
		return
	}
	f.probeUntil = f.shared.Now().Add(probeTime)
	f.reviveNow()
	f.shared.WakeAt(f.probeUntil)
}

// reviveNow makes the master offer all free resources, also those that were declined.
func (f *offerFlow) reviveNow() {
	f.suppressed, f.filtered, f.refused = false, false, false
	f.revivedAt, f.revivedFor = f.shared.Now(), f.need.upTo
	f.timing.reviveSent(f.shared.Now())
	f.shared.Call(step.CallRevive{})
}

// refuseFor returns the filter for declined offers: their resources may stay away until a little before the next
// fire needs them.
func (f *offerFlow) refuseFor(nextFire time.Time) time.Duration {
	if nextFire.IsZero() {
		return f.shared.Opt.MaxRefuse
	}
	return min(max(nextFire.Add(-f.lead()).Sub(f.shared.Wall()), minRefuse), f.shared.Opt.MaxRefuse)
}

// revive sends REVIVE if a filter or SUPPRESS keeps needed offers away: for waiting shards, and once for each future
// launch that the offers at hand cannot satisfy.
func (f *offerFlow) revive(shardsWait bool) {
	short := f.need.shortFor.After(f.revivedFor)
	if short {
		f.requestRefused()
	}
	if !f.suppressed && !f.filtered || !shardsWait && !short {
		return
	}
	interval := minReviveInterval
	if !shardsWait {
		interval = f.reviveInterval()
	}
	if next := f.revivedAt.Add(interval); f.shared.Now().Before(next) {
		f.shared.WakeAt(next)
		return
	}
	f.reviveNow()
}

// ManageOffers holds the offers that are needed and declines all others. It is called once in each step, after
// Launch.
func (pl *Placement) ManageOffers() {
	if !pl.st.Subscription.Open() {
		pl.flow.wake = time.Time{}
		return
	}
	pl.findNeed()
	o := flowInput{
		launchesStopped: pl.st.Opt.Held != "" || pl.st.Draining() || pl.st.Subscription.InTakeover(),
		roundOpen:       pl.roundOpen(), reservation: pl.reservation, excluded: pl.st.Excluded(),
		hasExecutor: pl.hasExecutor,
	}
	o.shardsWait, o.someNeverFit = pl.anyWaiting()
	o.nextFire, _ = pl.fires.Next()
	pl.flow.manage(o)
}

// hasExecutor reports whether an agent has an executor with that key that takes tasks and is not silent.
func (pl *Placement) hasExecutor(agent, key string) bool {
	return slices.ContainsFunc(pl.st.Executors.On(agent), func(x *executors.Executor) bool {
		return x.Key() == key && x.SilentSince().IsZero() && pl.st.TakesTasks(x)
	})
}

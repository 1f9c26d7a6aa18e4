package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
)

// offerFlow is what the master offers, and what it was last called for about offers in this session: REVIVE, SUPPRESS,
// filters. It holds the offers that are needed, and declines all others, so that other frameworks get them (promise 6).
type offerFlow struct {
	*step
	held   *offers.Pool
	timing reviveTiming
	flowState
}

// flowState is what ends with a session.
type flowState struct {
	suppressed bool
	// filtered is set when something was declined since the last REVIVE that a shard could use once it waits: those
	// resources are not offered until their filter ends. refused is set when something was declined that the
	// waiting shards could not use.
	filtered, refused bool
	revivedAt         time.Time
	// need is which offers are held ahead; revivedFor is the moment up to which the last REVIVE was sent for it.
	need       need
	revivedFor time.Time
	wake       time.Time
	// probeUntil keeps SUPPRESS back: the next offers are to show which executors run.
	probeUntil time.Time
	// unplaced are the wants that the last round could not place, and since when; unplacing those of
	// the present round. declineBackoff is how long the filters have become, and declineBackoffGrew when they last did.
	unplaced, unplacing map[want]time.Time
	declineBackoff      int
	declineBackoffGrew  time.Time
	// taskEnded is set when a task has ended since the last REVIVE for shards that start together, which was at together.
	taskEnded bool
	together  time.Time
	nextLook  time.Time // when this step's look at the offers wants the next
}

// sessionBegan forgets the offers and calls of the last session. What the last leader declined may still be filtered: Mesos forgets
// filters only when it sees a framework's connection end, not when another subscriber takes over.
func (f *offerFlow) sessionBegan() {
	f.held.Clear()
	f.flowState = flowState{filtered: true}
}

// takeAgents takes out the offers of agents.
func (f *offerFlow) takeAgents(ids []string) (gone []offers.Offer) {
	for _, id := range ids {
		gone = append(gone, f.held.TakeAgent(id)...)
	}
	return gone
}

// outlook is what the flow of offers depends on.
type outlook struct {
	// waits is set when a shard could be launched if an agent had the resources, hopeless when one waits that fits no
	// agent, idle when nothing is to be launched whatever waits.
	waits, hopeless, idle bool
	// roundOpen is set while not all that waits has seen the offers at hand.
	roundOpen bool
	// nextFire is when the next fire of a cron is due by the wall clock, zero when there is none.
	nextFire    time.Time
	reservation *reservation
	// maintained are the agents where nothing is placed because of their maintenance.
	maintained map[string]string
	// runs reports whether an executor of a key runs on an agent and takes tasks.
	runs func(agent, executorKey string) bool
}

// manage holds the offers that are needed before they could be offered again (see need) and declines the others. An
// offer is held for at most OfferHold unless it is reserved, and offers are suppressed while no shard waits and none is needed.
func (f *offerFlow) manage(o outlook) {
	waits, hopeless := o.waits && !o.idle, o.hopeless && !o.idle
	f.nextLook = time.Time{}
	if !waits {
		f.reviveRefused() // as all that was declined, when it is needed
		f.unplaced, f.unplacing, f.declineBackoff = nil, nil, 0
	}
	if waits || f.need.some && !o.idle {
		f.decline(f.takeAgents(sortedKeys(o.maintained)), f.opt.RefuseMost)
		if waits {
			f.declineUnusable(o)
			f.reviveForGangs()
		} else {
			f.declineUsable(f.tooOld(o.reservation), 0)
			f.declineUsable(f.takeSurplus(o.reservation), f.opt.OfferHold)
		}
		f.revive(waits)
	} else {
		f.declineUsable(f.all(), f.refuseFor(o.nextFire))
		// A shard that fits no agent seen so far waits for another agent to be offered.
		probing := f.probeUntil.After(f.now)
		if !f.suppressed && !hopeless && !probing {
			f.suppressed = true
			f.call(CallSuppress{})
		}
	}
	switch {
	case f.held.Len() == 0:
		f.wake = time.Time{}
	case f.wake.IsZero() || !f.wake.After(f.now):
		// Often enough that none is held for much longer than OfferHold.
		f.wake = f.now.Add(f.opt.OfferHold / 5)
	}
	if at := f.nextLook; !at.IsZero() && (f.wake.IsZero() || at.Before(f.wake)) {
		f.wake = at
	}
}

// probeFor is long enough for a master's next round of offers.
const probeFor = 5 * time.Second

// reviveToProbe asks for offers only to see which executors they name (rule X3), once in a step for all.
func (f *offerFlow) reviveToProbe() {
	if f.revivedAt.Equal(f.now) {
		return
	}
	f.probeUntil = f.now.Add(probeFor)
	f.reviveNow()
	f.wakeAt(f.probeUntil)
}

// reviveNow makes the master offer all free resources, also those that were declined.
func (f *offerFlow) reviveNow() {
	f.suppressed, f.filtered, f.refused = false, false, false
	f.revivedAt, f.revivedFor = f.now, f.need.upTo
	f.timing.asked(f.now)
	f.call(CallRevive{})
}

// refuseFor is the filter of declined offers: their resources may stay away until
// a little before the next fire needs them.
func (f *offerFlow) refuseFor(nextFire time.Time) time.Duration {
	if nextFire.IsZero() {
		return f.opt.RefuseMost
	}
	return min(max(nextFire.Add(-f.lead()).Sub(f.wall), declineAtLeast), f.opt.RefuseMost)
}

// tooOld takes out the offers that were held for OfferHold, but not those that are reserved: they are held for the execution that
// they are reserved for, though not from one reservation to the next (rule L2).
func (f *offerFlow) tooOld(r *reservation) []offers.Offer {
	old := f.held.OlderThan(f.now.Add(-f.opt.OfferHold))
	gone := old[:0]
	for _, o := range old {
		if r.holds(o.Agent) && o.Received.After(r.since.Add(-f.opt.OfferHold)) {
			f.held.Add(o)
		} else {
			gone = append(gone, o)
		}
	}
	return gone
}

func (f *offerFlow) all() []offers.Offer { return f.held.OlderThan(f.now.Add(time.Hour)) }

// declineUsable declines offers that a waiting shard could use, when none waits.
func (f *offerFlow) declineUsable(gone []offers.Offer, refuse time.Duration) {
	if len(gone) > 0 && refuse > 0 {
		f.filtered = true
	}
	f.decline(gone, refuse)
}

// decline declines offers with a filter of at least declineAtLeast.
func (f *offerFlow) decline(gone []offers.Offer, refuse time.Duration) {
	if len(gone) == 0 {
		return
	}
	ids := make([]string, len(gone))
	for i, o := range gone {
		ids[i] = o.ID
	}
	f.stats.OffersDeclined += int64(len(ids))
	f.call(CallDecline{Offers: ids, Refuse: max(refuse, declineAtLeast)})
}

// declineAtLeast is the least filter: it lets another framework have the resources first.
const declineAtLeast = time.Second

// revive sends REVIVE if a filter or SUPPRESS keeps offers away that are needed: for shards that wait, and once for each
// future fire that the offers at hand can't take.
func (f *offerFlow) revive(waits bool) {
	short := f.need.shortFor.After(f.revivedFor)
	if short {
		f.reviveRefused()
	}
	if !f.suppressed && !f.filtered || !waits && !short {
		return
	}
	every := reviveAtLeast // a shard waits
	if !waits {
		every = f.reviveEvery()
	}
	if again := f.revivedAt.Add(every); f.now.Before(again) {
		f.wakeAt(again)
		return
	}
	f.reviveNow()
}

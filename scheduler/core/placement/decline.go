package placement

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Shards that wait for resources which no agent has free need no offers held for them (promise 6): Mesos adds the
// resources that become free on an agent to those that were declined of it, and offers the sum. So, after a match,
// every offer that no waiting shard can use is declined, with filters that grow while nothing changes, and offers
// are revived when a shard with another demand begins to wait. An execution that would starve that way gets a
// reservation (rule L2).

func wantOf(d *demand) want {
	w := want{shard: d.Shard, executor: d.ExecutorSize, executorKey: d.executorKey, together: 1}
	if d.Together {
		w.together = len(d.Items)
	}
	return w
}

// declineBackoffs are the filters of offers that no waiting shard can use, one after the other.
var declineBackoffs = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

const (
	// partHeld is how long an offer is held that can take some, but not all, of the shards that only start together:
	// a REVIVE brings all free resources at once, so the others would be there by then.
	partHeld = 20 * time.Millisecond
	// gangReviveEvery is the least time between two REVIVEs that the ends of tasks cause for such shards.
	gangReviveEvery = time.Second
)

// wantRefusedBack lets the next REVIVE bring back what was declined because nothing could use it: something has
// changed.
func (f *offerFlow) wantRefusedBack() {
	f.filtered = f.filtered || f.refused
	f.refused = false
}

// detectNewDemand revives declined offers if a shard started to wait after the last match that asks for something
// else than the shards that waited then.
func (f *offerFlow) detectNewDemand(ds []demand) {
	if !f.refused {
		return
	}
	for i := range ds {
		w := wantOf(&ds[i])
		if _, known := f.unplaced[w]; !known && f.unplacing[w].IsZero() {
			f.wantRefusedBack()
			return
		}
	}
}

// recordUnplaced records the wants that a match could not place. A round can have several matches.
func (f *offerFlow) recordUnplaced(ds []demand, unplaced []offers.Unplaced, more bool) {
	if f.unplacing == nil {
		f.unplacing = map[want]time.Time{}
	}
	for _, u := range unplaced {
		if u.Never {
			continue
		}
		w := wantOf(&ds[u.Demand])
		since, known := f.unplaced[w]
		if !known {
			f.declineBackoff = 0
		}
		if !known {
			since = f.shared.Now()
		}
		f.unplacing[w] = since
	}
	if !more {
		f.unplaced, f.unplacing = f.unplacing, nil
	}
}

// leaveLeftover notes that an ACCEPT leaves the rest of its agent's resources behind a filter.
func (f *offerFlow) leaveLeftover(started []*executors.Executor) {
	f.forgetRevivedFor() // the ACCEPT may have used what was held for future fires
	someWait, cheaper := false, false
	for _, left := range []map[want]time.Time{f.unplaced, f.unplacing} {
		for w := range left {
			someWait = true
			cheaper = cheaper || slices.ContainsFunc(started,
				func(x *executors.Executor) bool { return x.Key() == w.executorKey })
		}
	}
	if someWait && !cheaper {
		f.refused = true // the waiting shards did not fit the rest
		return
	}
	f.filtered = true
}

// heldUntil is when the offers of an agent are declined that a match has left unused.
func (f *offerFlow) heldUntil(a offers.Agent, runs func(agent, executorKey string) bool) (until time.Time) {
	for w, since := range f.unplaced {
		need := w.shard
		if !runs(a.ID, w.executorKey) {
			need = need.Plus(w.executor)
		}
		if !need.Fits(a.Free) {
			continue
		}
		for _, t := range []time.Time{f.held.Oldest(a.ID).Add(partHeld), since.Add(f.shared.Opt.OfferHold)} {
			if t.After(until) {
				until = t
			}
		}
	}
	return until
}

// declineUnusable declines, after a match, the offers that no waiting shard can use, and a little later
// those that can take only some of the shards that start together. Offers that future fires need are held.
func (f *offerFlow) declineUnusable(o outlook) {
	gone := f.tooOld(o.reservation) // also in the middle of a round, which may last long
	if o.roundOpen {
		if len(gone) > 0 {
			f.refused = true
			f.decline(gone, declineBackoffs[f.declineBackoff])
		}
		return // the round has not ended
	}
	for _, a := range f.held.Agents() {
		if f.need.needs(a.ID) || o.reservation.holds(a.ID) {
			continue
		}
		if until := f.heldUntil(a, o.runs); until.After(f.shared.Now()) {
			f.flowAt(until)
			continue
		}
		gone = append(gone, f.held.TakeAgent(a.ID)...)
	}
	if len(gone) == 0 {
		return
	}
	last := len(declineBackoffs) - 1
	filter := declineBackoffs[f.declineBackoff]
	f.refused = true
	f.decline(gone, filter)
	if !f.declineBackoffGrew.Add(filter).After(f.shared.Now()) {
		f.declineBackoff, f.declineBackoffGrew = min(f.declineBackoff+1, last), f.shared.Now()
	}
}

// flowAt schedules the next look at the offers for a time at the latest.
func (f *offerFlow) flowAt(at time.Time) {
	if f.nextLook.IsZero() || at.Before(f.nextLook) {
		f.nextLook = at
	}
}

// taskHasEnded notes that resources became free somewhere.
func (f *offerFlow) taskHasEnded() { f.taskEnded = true }

// wantBackForGangs revives declined offers if a task has ended while shards wait that only start together. Mesos
// offers the agent of that task by itself, since it has more than was declined, but not the agents beside it, whose
// filters still hold.
func (f *offerFlow) wantBackForGangs() {
	ended := f.taskEnded && f.refused
	f.taskEnded = false
	if !ended {
		return
	}
	for w := range f.unplaced {
		if w.together == 1 {
			continue
		}
		if next := f.together.Add(gangReviveEvery); next.After(f.shared.Now()) {
			f.taskEnded = true
			f.flowAt(next)
			return
		}
		f.together = f.shared.Now()
		f.wantRefusedBack()
		return
	}
}

// tooOld takes out the offers that were held for OfferHold, except reserved ones: those are held for their
// execution, though not from one reservation to the next (rule L2).
func (f *offerFlow) tooOld(r *reservation) []offers.Offer {
	old := f.held.OlderThan(f.shared.Now().Add(-f.shared.Opt.OfferHold))
	gone := old[:0]
	for _, o := range old {
		if r.holds(o.Agent) && o.Received.After(r.since.Add(-f.shared.Opt.OfferHold)) {
			f.held.Add(o)
		} else {
			gone = append(gone, o)
		}
	}
	return gone
}

func (f *offerFlow) all() []offers.Offer { return f.held.OlderThan(f.shared.Now().Add(time.Hour)) }

// takeAgents takes out the offers of agents.
func (f *offerFlow) takeAgents(ids []string) (gone []offers.Offer) {
	for _, id := range ids {
		gone = append(gone, f.held.TakeAgent(id)...)
	}
	return gone
}

// declineUsable declines offers that a waiting shard could use, when none waits. Offers with the shortest filter
// (refuse 0) come again before a REVIVE would bring them, so that they do not count as filtered.
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
	f.shared.Numbers.OffersDeclined += int64(len(ids))
	f.shared.Call(step.CallDecline{Offers: ids, Refuse: max(refuse, declineAtLeast)})
}

// declineAtLeast is the least filter: it lets another framework have the resources first.
const declineAtLeast = time.Second

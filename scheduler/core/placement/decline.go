package placement

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// No offer is held for shards that wait for resources which no agent has free (promise 6). When resources become free
// on an agent, Mesos adds them to those that were declined there, and offers the sum. So, after a match,
// declineUnusable declines every offer that no waiting shard can use, with filters that grow while nothing changes,
// and offers are revived when a shard with another demand starts to wait. An execution that would starve that way gets
// a reservation (rule L2).

// wantOf returns the want of each shard of a demand.
func wantOf(d *demand) want {
	w := want{shard: d.Shard, executor: d.ExecutorSize, executorKey: d.executorKey, gangSize: 1}
	if d.Together {
		w.gangSize = len(d.Items)
	}
	return w
}

// declineBackoffs are the successive filters of offers that no waiting shard can use.
var declineBackoffs = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

const (
	// partialHoldTime is how long an offer is held if it can take some, but not all, of a gang: the shards that only
	// start together. A REVIVE brings all free resources at once, so offers for the other shards would arrive within
	// that time.
	partialHoldTime = 20 * time.Millisecond
	// gangReviveInterval is the minimum interval between two REVIVEs that are sent for gangs because a task has ended.
	gangReviveInterval = time.Second
)

// requestRefused requests a REVIVE that brings back the offers that were declined because no waiting shard could use
// them. It is called when a change may have made them usable.
func (f *offerFlow) requestRefused() {
	f.filtered = f.filtered || f.refused
	f.refused = false
}

// detectNewDemand revives declined offers if a shard started to wait after the last match and its want is none of
// those that were unplaced then.
func (f *offerFlow) detectNewDemand(ds []demand) {
	if !f.refused {
		return
	}
	for i := range ds {
		w := wantOf(&ds[i])
		if _, known := f.unplaced[w]; !known && f.unplacing[w].IsZero() {
			f.requestRefused()
			return
		}
	}
}

// recordUnplaced records the wants that a match could not place, except those that no agent can ever hold. more says
// that the round has further matches: unplaced is replaced when the round ends. A new want resets declineBackoff.
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
			since, f.declineBackoff = f.shared.Now(), 0
		}
		f.unplacing[w] = since
	}
	if !more {
		f.unplaced, f.unplacing = f.unplacing, nil
	}
}

// recordLeftover records that an ACCEPT leaves the rest of its agent's resources behind a filter. started are the
// executors that this ACCEPT starts: the next shard for one of them needs less room, so it may fit into the rest
// although the match could not place it.
func (f *offerFlow) recordLeftover(started []*executors.Executor) {
	f.forgetRevivedFor() // the ACCEPT may have used resources that were held for future fires
	someWait, mayFit := false, false
	for _, wants := range []map[want]time.Time{f.unplaced, f.unplacing} {
		for w := range wants {
			someWait = true
			mayFit = mayFit || slices.ContainsFunc(started,
				func(x *executors.Executor) bool { return x.Key() == w.executorKey })
		}
	}
	if someWait && !mayFit {
		f.refused = true // the waiting shards did not fit into the rest
		return
	}
	f.filtered = true
}

// heldUntil returns until when the offers of an agent are held although a match has left them unused. It is zero if no
// waiting shard fits there.
func (f *offerFlow) heldUntil(a offers.Agent, hasExecutor func(agent, executorKey string) bool) (until time.Time) {
	for w, since := range f.unplaced {
		need := w.shard
		if !hasExecutor(a.ID, w.executorKey) {
			need = need.Plus(w.executor)
		}
		if !need.Fits(a.Free) {
			continue
		}
		for _, t := range []time.Time{f.held.Oldest(a.ID).Add(partialHoldTime), since.Add(f.shared.Opt.OfferHold)} {
			if t.After(until) {
				until = t
			}
		}
	}
	return until
}

// declineUnusable declines, after a match, the offers that no waiting shard can use, and a little later those that can
// take only a part of a gang. Offers that future launches need are held.
func (f *offerFlow) declineUnusable(o flowInput) {
	taken := f.takeOld(o.reservation) // also during a round, because a round may last long
	if o.roundOpen {
		if len(taken) > 0 {
			f.refused = true
			f.decline(taken, declineBackoffs[f.declineBackoff])
		}
		return // a later match of the round may use the other offers
	}
	for _, a := range f.held.Agents() {
		if f.need.needs(a.ID) || o.reservation.holds(a.ID) {
			continue
		}
		if until := f.heldUntil(a, o.hasExecutor); until.After(f.shared.Now()) {
			f.checkAt(until)
			continue
		}
		taken = append(taken, f.held.TakeAgent(a.ID)...)
	}
	if len(taken) == 0 {
		return
	}
	last := len(declineBackoffs) - 1
	filter := declineBackoffs[f.declineBackoff]
	f.refused = true
	f.decline(taken, filter)
	if !f.declineBackoffGrew.Add(filter).After(f.shared.Now()) {
		f.declineBackoff, f.declineBackoffGrew = min(f.declineBackoff+1, last), f.shared.Now()
	}
}

// checkAt schedules the next check of the offers for at, unless an earlier one is scheduled.
func (f *offerFlow) checkAt(at time.Time) {
	if f.nextCheck.IsZero() || at.Before(f.nextCheck) {
		f.nextCheck = at
	}
}

// requestForGangs revives declined offers if a task has ended while a gang waits. Mesos offers the agent of that task
// by itself, because the agent has more than was declined, but not the other agents, whose filters are still in force.
func (f *offerFlow) requestForGangs() {
	ended := f.taskEnded && f.refused
	f.taskEnded = false
	if !ended {
		return
	}
	for w := range f.unplaced {
		if w.gangSize == 1 {
			continue
		}
		if next := f.gangRevivedAt.Add(gangReviveInterval); next.After(f.shared.Now()) {
			f.taskEnded = true
			f.checkAt(next)
			return
		}
		f.gangRevivedAt = f.shared.Now()
		f.requestRefused()
		return
	}
}

// takeOld removes and returns the offers that were held for OfferHold. Offers of reserved agents are held longer, but
// not from one reservation to the next (rule L2).
func (f *offerFlow) takeOld(r *reservation) []offers.Offer {
	old := f.held.OlderThan(f.shared.Now().Add(-f.shared.Opt.OfferHold))
	taken := old[:0]
	for _, o := range old {
		if r.holds(o.Agent) && o.Received.After(r.since.Add(-f.shared.Opt.OfferHold)) {
			f.held.Add(o)
		} else {
			taken = append(taken, o)
		}
	}
	return taken
}

// takeAll removes and returns all offers.
func (f *offerFlow) takeAll() []offers.Offer { return f.held.OlderThan(f.shared.Now().Add(time.Hour)) }

// takeAgents removes and returns the offers of agents.
func (f *offerFlow) takeAgents(ids []string) (taken []offers.Offer) {
	for _, id := range ids {
		taken = append(taken, f.held.TakeAgent(id)...)
	}
	return taken
}

// declineUsable declines offers while no shard waits. They count as filtered, because the next shard that waits could
// use them. Offers with the shortest filter (refuse 0) do not, because they return before a REVIVE would bring them.
func (f *offerFlow) declineUsable(taken []offers.Offer, refuse time.Duration) {
	if len(taken) > 0 && refuse > 0 {
		f.filtered = true
	}
	f.decline(taken, refuse)
}

// decline declines offers, if there are any, with a filter of at least minRefuse.
func (f *offerFlow) decline(taken []offers.Offer, refuse time.Duration) {
	if len(taken) == 0 {
		return
	}
	ids := make([]string, len(taken))
	for i, o := range taken {
		ids[i] = o.ID
	}
	f.shared.Numbers.OffersDeclined += int64(len(ids))
	f.shared.Call(step.CallDecline{Offers: ids, Refuse: max(refuse, minRefuse)})
}

// minRefuse is the shortest filter. It gives other frameworks the chance to get the resources first.
const minRefuse = time.Second

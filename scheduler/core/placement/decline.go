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
	// partialHoldTime is how long an offer is held that can take some, but not all, of the shards that only start
	// together. A REVIVE brings all free resources at once, so offers for the other shards would arrive within that
	// time.
	partialHoldTime = 20 * time.Millisecond
	// gangReviveInterval is the minimum interval between two REVIVEs that the ends of tasks cause for such shards.
	gangReviveInterval = time.Second
)

// requestRefused makes the next REVIVE bring back the offers that were declined because nothing could use them. It is
// called when something has changed that may make them useful.
func (f *offerFlow) requestRefused() {
	f.filtered = f.filtered || f.refused
	f.refused = false
}

// detectNewDemand revives declined offers if a shard started to wait after the last match and asks for something else
// than the shards that waited then.
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
			since, f.declineBackoff = f.shared.Now(), 0
		}
		f.unplacing[w] = since
	}
	if !more {
		f.unplaced, f.unplacing = f.unplacing, nil
	}
}

// recordLeftover records that an ACCEPT leaves the rest of its agent's resources behind a filter.
func (f *offerFlow) recordLeftover(started []*executors.Executor) {
	f.forgetRevivedFor() // the ACCEPT may have used resources that were held for future fires
	someWait, cheaper := false, false
	for _, left := range []map[want]time.Time{f.unplaced, f.unplacing} {
		for w := range left {
			someWait = true
			cheaper = cheaper || slices.ContainsFunc(started,
				func(x *executors.Executor) bool { return x.Key() == w.executorKey })
		}
	}
	if someWait && !cheaper {
		f.refused = true // the waiting shards did not fit into the rest
		return
	}
	f.filtered = true
}

// heldUntil returns until when the offers of an agent are held that a match has left unused.
func (f *offerFlow) heldUntil(a offers.Agent, runs func(agent, executorKey string) bool) (until time.Time) {
	for w, since := range f.unplaced {
		need := w.shard
		if !runs(a.ID, w.executorKey) {
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

// declineUnusable declines, after a match, the offers that no waiting shard can use, and a little later
// those that can take only some of the shards that start together. Offers that future fires need are held.
func (f *offerFlow) declineUnusable(o flowInput) {
	taken := f.takeOld(o.reservation) // a round may last long, so this does not wait for its end
	if o.roundOpen {
		if len(taken) > 0 {
			f.refused = true
			f.decline(taken, declineBackoffs[f.declineBackoff])
		}
		return // the round has not ended
	}
	for _, a := range f.held.Agents() {
		if f.need.needs(a.ID) || o.reservation.holds(a.ID) {
			continue
		}
		if until := f.heldUntil(a, o.runs); until.After(f.shared.Now()) {
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

// requestForGangs revives declined offers if a task has ended while shards wait that only start together. Mesos
// offers the agent of that task by itself, because it has more than was declined, but not the other agents, whose
// filters are still in force.
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

// takeOld removes and returns the offers that were held for OfferHold. Reserved offers are held longer, for their
// execution, but not from one reservation to the next (rule L2).
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

func (f *offerFlow) all() []offers.Offer { return f.held.OlderThan(f.shared.Now().Add(time.Hour)) }

// takeAgents removes and returns the offers of agents.
func (f *offerFlow) takeAgents(ids []string) (taken []offers.Offer) {
	for _, id := range ids {
		taken = append(taken, f.held.TakeAgent(id)...)
	}
	return taken
}

// declineUsable declines offers that a waiting shard could use; it is called when no shard waits. Offers with the
// shortest filter (refuse 0) return before a REVIVE would bring them, so they do not count as filtered.
func (f *offerFlow) declineUsable(taken []offers.Offer, refuse time.Duration) {
	if len(taken) > 0 && refuse > 0 {
		f.filtered = true
	}
	f.decline(taken, refuse)
}

// decline declines offers with a filter of at least minRefuse.
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

// minRefuse is the shortest filter. It lets another framework have the resources first.
const minRefuse = time.Second

package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
)

// Offers are held ahead only for launches that could not get them in time otherwise (promise 6). The master answers a
// REVIVE with offers of all free resources within milliseconds. backBy is the time by which an offer that is declined
// now can be back. Launches that are due before backBy (fires of crons, and shards whose backoff
// ends) need the offers on which Match would place them. All other offers are declined at once. When no launch is due
// before backBy, no offer is held, and SUPPRESS leaves the cluster to the other frameworks.

const (
	// defaultLead is the lead until the first answer: the interval at which a Mesos master allocates, unless its
	// --allocation_interval says otherwise.
	defaultLead = time.Second
	// leadMargin and leadFactor turn an answer time into a lead, so that an answer that takes leadFactor times as long
	// as usual still comes in time. minLead covers a commit that takes longer than usual.
	leadMargin = 50 * time.Millisecond
	leadFactor = 3
	minLead    = 100 * time.Millisecond
	// An answer that took shorter or longer than the average changes the average by 1/earlyWeight or 1/lateWeight of
	// the difference.
	earlyWeight, lateWeight = 8, 4
)

// reviveSent records that a REVIVE is sent. If an earlier one is unanswered, the answer time counts from that one.
func (t *reviveTiming) reviveSent(now time.Time) {
	if t.askedAt.IsZero() {
		t.askedAt = now
	}
}

// offersArrived adapts the average answer time when the first offers after a REVIVE arrive. It ignores offers that
// arrive later than limit after the REVIVE: they do not answer it, because nothing was free when it was sent.
func (t *reviveTiming) offersArrived(now time.Time, limit time.Duration) {
	askedAt := t.askedAt
	t.askedAt = time.Time{}
	took := now.Sub(askedAt)
	if askedAt.IsZero() || took > limit {
		return
	}
	switch {
	case !t.measured:
		t.measured, t.answer = true, took
	case took > t.answer:
		t.answer += (took - t.answer) / lateWeight
	default:
		t.answer -= (t.answer - took) / earlyWeight
	}
}

// lead returns how long before resources are needed a REVIVE must be sent.
func (f *offerFlow) lead() time.Duration {
	if !f.timing.measured {
		return min(defaultLead, f.shared.Opt.OfferAhead)
	}
	return min(max(leadFactor*f.timing.answer+leadMargin, minLead), f.shared.Opt.OfferAhead)
}

// reviveInterval returns the minimum interval between two REVIVEs for future launches. It is longer in a large
// cluster, where each REVIVE makes thousands of offers, so that the master spends at most a quarter of its time on
// them.
func (f *offerFlow) reviveInterval() time.Duration {
	return min(max(4*f.timing.answer, minReviveInterval), f.shared.Opt.OfferAhead)
}

// minReviveInterval is the minimum interval between any two REVIVEs.
const minReviveInterval = 100 * time.Millisecond

// backBy returns the time by which the resources of offers that are declined now could be offered again.
func (f *offerFlow) backBy() time.Time {
	at := f.shared.Now()
	if next := f.revivedAt.Add(f.reviveInterval()); next.After(at) {
		at = next
	}
	return at.Add(f.lead())
}

// forgetRevivedFor forgets for which launches a REVIVE was sent, because the offers or the fires have changed.
func (f *offerFlow) forgetRevivedFor() {
	f.revivedFor = time.Time{}
	f.shared.NeedChanged()
}

// needIsCurrent reports whether the last findNeed has determined the offers that are needed up to a time. Crons fire
// at whole seconds, so without a change the need differs only once upTo lies in another second. If needIsCurrent
// returns false, it has reset the need, and the caller determines it again.
func (f *offerFlow) needIsCurrent(upTo time.Time) bool {
	second := f.shared.OnWall(upTo).Truncate(time.Second)
	if !f.shared.TakeNeedChanged() && second.Equal(f.need.second) {
		return true
	}
	f.need = need{upTo: upTo, second: second}
	if f.revivedFor.After(upTo) {
		f.revivedFor = upTo // the lead became shorter: later launches need another REVIVE
	}
	return false
}

// holdAll holds all offers, because too many launches are due to match them one by one.
func (f *offerFlow) holdAll() {
	f.need.launchDue, f.need.allAgents = true, true
	if f.held.Len() == 0 {
		f.need.shortFor = f.need.upTo
	}
}

// holdFor holds the offers on which a match has placed the demands that are due; dueAt lists when each of them is due.
func (f *offerFlow) holdFor(result offers.Result, agents []offers.Agent, dueAt []time.Time) {
	n := &f.need
	n.launchDue, n.agents = true, map[string]bool{}
	for _, p := range result.Placements {
		n.agents[agents[p.Agent].ID] = true
	}
	for _, u := range result.Unplaced {
		if (!u.Never || len(agents) == 0) && dueAt[u.Demand].After(n.shortFor) {
			n.shortFor = dueAt[u.Demand]
		}
	}
}

// needs reports whether the offers of an agent are held for future launches.
func (n *need) needs(agent string) bool { return n.allAgents || n.agents[agent] }

// takeSurplus removes and returns the offers that no future launch needs and that are not reserved.
func (f *offerFlow) takeSurplus(r *reservation) []offers.Offer {
	var taken []offers.Offer
	for _, a := range f.held.Agents() {
		if f.need.needs(a.ID) || r.holds(a.ID) {
			continue
		}
		taken = append(taken, f.held.TakeAgent(a.ID)...)
	}
	return taken
}

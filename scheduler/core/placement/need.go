package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
)

// Offers are held ahead only for launches that could not get them in time otherwise (promise 6). The master answers a
// REVIVE with offers of all free resources within milliseconds, so the time by which an offer that is declined now can
// be back is known: backBy. Launches that are due before backBy (fires of crons, and shards whose backoff ends) need
// the offers on which Match would place them. All other offers are declined at once. When no launch is due before
// backBy, no offer is held, and SUPPRESS leaves the cluster to the other frameworks.

const (
	// defaultLead is the lead until the first answer: the interval at which a Mesos master
	// allocates, unless its --allocation_interval says otherwise.
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

// asked records that a REVIVE is sent.
func (t *reviveTiming) asked(now time.Time) {
	if t.askedAt.IsZero() {
		t.askedAt = now
	}
}

// answered adapts the average answer time when offers come after a REVIVE. It does not count offers that came later
// than limit, because these do not answer the REVIVE: nothing was free when it was sent.
func (t *reviveTiming) answered(now time.Time, limit time.Duration) {
	asked := t.askedAt
	t.askedAt = time.Time{}
	took := now.Sub(asked)
	if asked.IsZero() || took > limit {
		return
	}
	switch {
	case !t.known:
		t.known, t.answer = true, took
	case took > t.answer:
		t.answer += (took - t.answer) / lateWeight
	default:
		t.answer -= (t.answer - took) / earlyWeight
	}
}

// lead returns how long before resources are needed a REVIVE must be sent.
func (f *offerFlow) lead() time.Duration {
	if !f.timing.known {
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

// backBy returns the time by which offers that are declined now could be offered again.
func (f *offerFlow) backBy() time.Time {
	at := f.shared.Now()
	if next := f.revivedAt.Add(f.reviveInterval()); next.After(at) {
		at = next
	}
	return at.Add(f.lead())
}

// forgetRevivedFor forgets for which fires a REVIVE was sent, because the offers or the fires have changed.
func (f *offerFlow) forgetRevivedFor() {
	f.revivedFor = time.Time{}
	f.shared.NeedChanged()
}

// needKnown reports whether the offers that are needed up to a time are still known from the last findNeed. Crons fire
// at whole seconds, so without a change the answer differs only once upTo lies in another second.
func (f *offerFlow) needKnown(upTo time.Time) bool {
	second := f.shared.OnWall(upTo).Truncate(time.Second)
	if !f.shared.TakeNeedChanged() && second.Equal(f.need.second) {
		return true
	}
	f.need = need{upTo: upTo, second: second}
	if f.revivedFor.After(upTo) {
		f.revivedFor = upTo // the lead became shorter: offers for later fires go back
	}
	return false
}

// holdAll holds all offers, because too many launches are due to match them one by one.
func (f *offerFlow) holdAll() {
	f.need.some, f.need.all = true, true
	if f.held.Len() == 0 {
		f.need.shortFor = f.need.upTo
	}
}

// holdFor holds the offers on which a match has placed the due demands; at lists when each demand is due.
func (f *offerFlow) holdFor(result offers.Result, agents []offers.Agent, at []time.Time) {
	n := &f.need
	n.some, n.agents = true, map[string]bool{}
	for _, p := range result.Placements {
		n.agents[agents[p.Agent].ID] = true
	}
	for _, u := range result.Unplaced {
		if (!u.Never || len(agents) == 0) && at[u.Demand].After(n.shortFor) {
			n.shortFor = at[u.Demand]
		}
	}
}

// needs reports whether the offers of an agent are held for future launches.
func (n *need) needs(agent string) bool { return n.all || n.agents[agent] }

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

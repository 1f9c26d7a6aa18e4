package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
)

// Offers are held ahead only for launches that could not have them in time otherwise (promise 6). The master answers
// a REVIVE with offers of all free resources within milliseconds, so an offer that is declined now can be back by a
// moment that is known: backBy. Launches that are due before that moment, which are fires of crons and shards whose backoff ends,
// need the offers on which Match would place them. All other offers are declined at once, and when no launch is due before
// that moment, none is held and SUPPRESS leaves the cluster to the other frameworks.

// reviveTiming learns how long the master takes to answer a REVIVE with offers. It outlives
// sessions, since masters of one cluster are much alike.
type reviveTiming struct {
	// answer is the time from REVIVE to the first offers, an average in which late answers weigh more than early ones.
	answer time.Duration
	// known is set when there was an answer.
	known bool
	// askedAt is when the REVIVE was sent that no offers have answered yet; else zero.
	askedAt time.Time
}

const (
	// leadUnknown is the lead until the first answer: the interval at which a Mesos master
	// allocates, unless its --allocation_interval says otherwise.
	leadUnknown = time.Second
	// leadMargin and leadFactor turn an answer time into a lead: an answer that takes leadFactor times as long
	// as usual still comes in time. leadLeast covers a commit that takes longer than usual.
	leadMargin = 50 * time.Millisecond
	leadFactor = 3
	leadLeast  = 100 * time.Millisecond
	// An answer changes the average by that part of its difference.
	earlyWeight, lateWeight = 8, 4
)

// asked notes that REVIVE is sent.
func (t *reviveTiming) asked(now time.Time) {
	if t.askedAt.IsZero() {
		t.askedAt = now
	}
}

// answered learns from offers that come after a REVIVE. One that took longer than most came for another reason:
// nothing was free when it was asked.
func (t *reviveTiming) answered(now time.Time, most time.Duration) {
	asked := t.askedAt
	t.askedAt = time.Time{}
	took := now.Sub(asked)
	if asked.IsZero() || took > most {
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

// lead is how long before resources are needed REVIVE is to be sent.
func (c *Core) lead() time.Duration {
	if !c.timing.known {
		return min(leadUnknown, c.opt.OfferAhead)
	}
	return min(max(leadFactor*c.timing.answer+leadMargin, leadLeast), c.opt.OfferAhead)
}

// reviveEvery is the least time between two REVIVEs for what is still to come. In a large cluster, where each makes
// thousands of offers, it is longer, so that the master spends at most a quarter of its time on them.
func (c *Core) reviveEvery() time.Duration {
	return min(max(4*c.timing.answer, reviveAtLeast), c.opt.OfferAhead)
}

// reviveAtLeast is the least time between any two REVIVEs.
const reviveAtLeast = 100 * time.Millisecond

// backBy is when offers that are declined now could be here again.
func (c *Core) backBy() time.Time {
	at := c.now
	if again := c.flow.revivedAt.Add(c.reviveEvery()); again.After(at) {
		at = again
	}
	return at.Add(c.lead())
}

// need is which offers are held for future launches, as findNeed last found out.
type need struct {
	// upTo is the moment up to which it was looked; second is the second of the wall clock that it is in.
	upTo, second time.Time
	// some is set when a launch is due before that; all when too many are to be looked at, so that
	// every offer is held.
	some, all bool
	// agents are those whose offers are held for it.
	agents map[string]bool
	// shortFor is the latest fire that the offers at hand can't take, zero when they can take all.
	shortFor time.Time
	// stale is set by every change but time that can change the answer.
	stale bool
}

// needChanged makes the next step find out again which offers are needed.
func (c *Core) needChanged() { c.flow.need.stale = true }

// findNeed finds out which offers are needed, unless that is known. Crons fire at whole seconds, so time alone changes
// the answer only when another second comes into view.
func (c *Core) findNeed() {
	n, upTo := &c.flow.need, c.backBy()
	if second := c.onWall(upTo).Truncate(time.Second); n.stale || !second.Equal(n.second) {
		*n = need{upTo: upTo, second: second}
		if c.flow.revivedFor.After(upTo) {
			c.flow.revivedFor = upTo // the lead has become shorter: what came for later fires goes back
		}
	} else {
		return
	}
	ds, at, all := c.upcoming(upTo)
	n.some, n.all = all || len(ds) > 0, all
	if all {
		n.shortFor = upTo
		if c.pool.Len() > 0 {
			n.shortFor = time.Time{}
		}
	}
	if all || len(ds) == 0 {
		return
	}
	n.agents = map[string]bool{}
	agents := c.agentsOnOffer()
	result := offers.Match(ds, agents, c.opt.Strategy)
	for _, p := range result.Placements {
		n.agents[agents[p.Agent].ID] = true
	}
	for _, u := range result.Unplaced {
		if (!u.Never || len(agents) == 0) && at[u.Demand].After(n.shortFor) {
			n.shortFor = at[u.Demand]
		}
	}
}

// upcoming are the demands of launches that are due up to a moment, and when each is due, or all when there are
// too many. A fire whose job still runs then makes no demand: it is dropped, or waits for the end of that run.
// Shards that start together are demanded one by one, so that some of the resources are held while the others are still on their way.
func (c *Core) upcoming(upTo time.Time) (ds []offers.Demand, at []time.Time, all bool) {
	if c.fires.due != nil && !c.inTerm(c.fires.due.at).After(upTo) { // later than that after the clock was set back
		return nil, nil, true // the batch is being made, in this step and the next ones
	}
	maintained := c.agents.allInMaintenance()
	for _, e := range c.executions.launchable {
		if !e.launched() {
			break // executions with shards to requeue come first
		}
		var items []int
		var first time.Time
		for i := range e.Shards {
			s := &e.Shards[i]
			if s.State != Waiting || e.KillReason != "" || !s.NotBefore.After(c.now) || s.NotBefore.After(upTo) || c.orphans.of(e.Job, s.Item) != nil {
				continue
			}
			items = append(items, s.Item)
			if first.IsZero() || s.NotBefore.Before(first) {
				first = s.NotBefore
			}
		}
		if len(items) > 0 {
			ds, at = append(ds, c.demandOf(e.ID, e.Settings, e.prepare().executorKey, items, maintained)), append(at, first)
		}
		if len(ds) >= fewFires {
			return nil, nil, true
		}
	}
	looked := 0
	all = c.fires.timetable.Soon(c.onWall(upTo), func(name string, fire time.Time) bool {
		if looked++; looked > fewFires {
			return true
		}
		j := c.config.jobs[name]
		if j == nil || !fire.After(j.since) || c.fires.cursor.covers(fire, name) {
			return false // the fire was made already, and the clock was set back since
		}
		if !c.canLaunch(j) || len(j.queue) > 0 && !onlyEnding(j.queue) {
			return false
		}
		a := c.config.apps[j.cfg.AppName]
		if c.starts.wait(a, name).waits() {
			return false
		}
		with := &settings{App: a.cfg, Job: *j.cfg}
		ds, at = append(ds, c.demandOf(name, with, a.executorKey, c.itemsUpTo(j.cfg.ShardingTotalCount), maintained)), append(at, c.inTerm(fire))
		return false
	})
	return ds, at, all
}

// fewFires bounds how many fires to come are looked at in one step.
const fewFires = 1000

// needs reports whether the offers of an agent are held for future launches.
func (n *need) needs(agent string) bool { return n.all || n.agents[agent] }

// takeSurplus takes out the offers that no future launch needs and that are not reserved.
func (c *Core) takeSurplus() []offers.Offer {
	var gone []offers.Offer
	for _, a := range c.pool.Agents() {
		if c.flow.need.needs(a.ID) || c.reservation != nil && c.reservation.agents[a.ID] {
			continue
		}
		gone = append(gone, c.pool.TakeAgent(a.ID)...)
	}
	return gone
}

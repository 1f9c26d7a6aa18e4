package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
)

// Offers are held ahead only for what could not have them in time otherwise (promise 6). A REVIVE
// has the master offer at once what is free, some milliseconds after it was asked, so an
// offer that is given back now can be back by a moment that is known: backBy. What starts by itself
// before that moment, fires of crons and shards whose backoff ends, needs the offers on which
// Match would place it; all others go back at once, and when nothing starts before that
// moment, none is held and SUPPRESS leaves the cluster to the other frameworks.

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
	// leadMargin and leadFactor make a lead of an answer time: an answer that takes so many times as long
	// as usual is still in time. leadLeast covers a commit that takes longer than usual.
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

// backBy is when offers that are given back now could be here again.
func (c *Core) backBy() time.Time {
	at := c.now
	if again := c.flow.revivedAt.Add(c.reviveEvery()); again.After(at) {
		at = again
	}
	return at.Add(c.lead())
}

// need is which offers are held for what starts by itself, as it was last found out.
type need struct {
	// upTo is the moment up to which it was looked; second is the second of the wall clock that it is in.
	upTo, second time.Time
	// some is set when something starts before that; all when there is too much of it to be
	// looked at, so that every offer is held.
	some, all bool
	// agents are those whose offers are held for it.
	agents map[string]bool
	// shortFor is the latest fire for which the offers at hand have no room, zero when all have.
	shortFor time.Time
	// stale is set by whatever can change the answer beside time.
	stale bool
}

// needChanged has the next step find out again which offers are needed.
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

// upcoming are the demands of what starts by itself up to a moment, and when each does, or all when there is
// too much of it. A fire whose job still runs then makes no demand: it is dropped, or waits for that run's end.
// Shards that start together are demanded one by one, so that some of the room is held while the rest is still on its way.
func (c *Core) upcoming(upTo time.Time) (ds []offers.Demand, at []time.Time, all bool) {
	if c.fires.due != nil && !c.inTerm(c.fires.due.at).After(upTo) { // later than that after the clock was set back
		return nil, nil, true // it is being made, in this step and the next ones
	}
	maintained := c.agentsInMaintenance()
	for _, e := range c.executions.launchable {
		if !e.launched() {
			break // those with shards to repeat come first
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
		j := c.jobs[name]
		if j == nil || !fire.After(j.since) || c.fires.cursor.covers(fire, name) {
			return false // it is not made again, such as after the clock was set back
		}
		if !c.canLaunch(j) || len(j.queue) > 0 && !onlyEnding(j.queue) {
			return false
		}
		a := c.apps[j.cfg.AppName]
		if c.packageWait(a, name).waits() {
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

// needs reports whether the offers of an agent are held for what starts by itself.
func (n *need) needs(agent string) bool { return n.all || n.agents[agent] }

// takeSurplus takes out the offers that nothing which starts by itself will use, nor what they are reserved for.
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

package core

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/offers"
)

// flowState is what the master was last called for about offers in this session: REVIVE, SUPPRESS, filters.
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

// probeFor is long enough for a master's next round of offers.
const probeFor = 5 * time.Second

// reviveToProbe asks for offers only to see which executors they name (rule X3), once in a step for all.
func (c *Core) reviveToProbe() {
	if c.flow.revivedAt.Equal(c.now) {
		return
	}
	c.flow.probeUntil = c.now.Add(probeFor)
	c.reviveNow()
	c.wakeAt(c.flow.probeUntil)
}

// reviveNow makes the master offer all free resources, also those that were declined.
func (c *Core) reviveNow() {
	f := &c.flow
	f.suppressed, f.filtered, f.refused = false, false, false
	f.revivedAt, f.revivedFor = c.now, f.need.upTo
	c.timing.asked(c.now)
	c.call(CallRevive{})
}

// offered takes in new offers, and what they show of executors.
func (c *Core) offered(e cluster.Offers) {
	c.timing.answered(c.now, c.opt.OfferAhead)
	c.needChanged()
	named := map[string][]string{} // executors, by agent
	var empty []offers.Offer
	for _, o := range e.Offers {
		c.stats.OffersReceived++
		a := c.agents.see(o.AgentID)
		if !a.registered { // it is back: calls to it meanwhile were lost
			for _, x := range c.executors.onAgent[o.AgentID] {
				x.shutdownSent, x.shutdownTry = time.Time{}, 0
			}
		}
		c.agents.register(a)
		a.host = o.Hostname
		c.agents.maintenance(a, o.Unavailable, o.AvailableAgain)
		if o.AgentURL != "" {
			a.url = o.AgentURL
		}
		c.checkExecutorsOnOffer(o)
		named[o.AgentID] = o.ExecutorIDs
		if nothingForUs(o) {
			empty = append(empty, offers.Offer{ID: o.ID})
			continue
		}
		c.pool.Add(offers.Offer{ID: o.ID, Agent: o.AgentID, Host: o.Hostname, Free: o.Resources, Reserved: reservedOf(o), Received: c.now})
		c.matchAgain = true
	}
	for _, agent := range sortedKeys(named) {
		c.growCapacity(agent, named[agent])
		c.agentStillRegistered(agent)
	}
	c.decline(empty, c.opt.RefuseMost)
}

// growCapacity remembers the most that was ever seen of an agent: its free resources and those in use by this framework,
// the executors that its offer names included. The agent has at least so much.
func (c *Core) growCapacity(agentID string, runs []string) {
	free := c.pool.Free(agentID)
	for _, x := range c.executors.onAgent[agentID] {
		free = free.Plus(x.used)
		if x.tasks > 0 || slices.Contains(runs, x.Info.ID) {
			free = free.Plus(x.Info.Resources)
		}
	}
	c.agents.grow(agentID, free)
}

// manageOffers holds the offers that are needed before they could be offered again (see need) and declines the others. An
// offer is held for at most OfferHold unless it is reserved, and offers are suppressed while no shard waits and none is needed.
func (c *Core) manageOffers() {
	if !c.subscription.open {
		c.flow.wake = time.Time{}
		return
	}
	waits, hopeless := c.anyWaiting()
	idle := c.draining || c.subscription.takeover != nil
	waits, hopeless = waits && !idle, hopeless && !idle
	c.findNeed()
	wanted := waits || c.flow.need.some && !idle
	c.flow.nextLook = time.Time{}
	if !waits {
		c.reviveRefused() // as all that was declined, when it is needed
		c.flow.unplaced, c.flow.unplacing, c.flow.declineBackoff = nil, nil, 0
	}
	if wanted {
		c.decline(c.takeOffersInMaintenance(), c.opt.RefuseMost)
		if waits {
			c.declineUnusable()
			c.reviveForGangs()
		} else {
			c.declineUsable(c.tooOld(), 0)
			c.declineUsable(c.takeSurplus(), c.opt.OfferHold)
		}
		c.revive(waits)
	} else {
		c.declineUsable(c.allOffers(), c.refuseFor())
		// A shard that fits no agent seen so far waits for another agent to be offered.
		probing := c.flow.probeUntil.After(c.now)
		if !c.flow.suppressed && !hopeless && !probing {
			c.flow.suppressed = true
			c.call(CallSuppress{})
		}
	}
	switch wake := c.flow.wake; {
	case c.pool.Len() == 0:
		c.flow.wake = time.Time{}
	case wake.IsZero() || !wake.After(c.now):
		// Often enough that none is held for much longer than OfferHold.
		c.flow.wake = c.now.Add(c.opt.OfferHold / 5)
	}
	if at := c.flow.nextLook; !at.IsZero() && (c.flow.wake.IsZero() || at.Before(c.flow.wake)) {
		c.flow.wake = at
	}
}

// takeOffersInMaintenance takes out the offers of agents in maintenance, or close to it: nothing is placed there.
func (c *Core) takeOffersInMaintenance() []offers.Offer {
	var gone []offers.Offer
	for _, id := range sortedKeys(c.agents.allInMaintenance()) {
		gone = append(gone, c.pool.TakeAgent(id)...)
	}
	return gone
}

// anyWaiting reports whether a shard could be launched if an agent had the resources, and
// whether one waits that fits no agent: no offer is held for that one.
func (c *Core) anyWaiting() (waits, hopeless bool) {
	for _, e := range c.executions.launchable {
		if e.KillReason != "" {
			continue
		}
		if e.unplaced.never {
			hopeless = true
			continue
		}
		if c.starts.wait(c.config.appOf(e), e.ID).waits() {
			continue
		}
		if !e.launched() {
			if j := c.config.jobs[e.Job]; c.canLaunch(j) {
				return true, hopeless
			}
			continue
		}
		for i := range e.Shards {
			s := &e.Shards[i]
			if s.State == Waiting && c.orphans.of(e.Job, s.Item) == nil && !s.NotBefore.After(c.now) {
				return true, hopeless
			}
		}
	}
	return false, hopeless
}

// refuseFor is the filter of declined offers: their resources may stay away until
// a little before the next fire needs them.
func (c *Core) refuseFor() time.Duration {
	next, fires := c.fires.next()
	if !fires {
		return c.opt.RefuseMost
	}
	return min(max(next.Add(-c.lead()).Sub(c.wall), declineAtLeast), c.opt.RefuseMost)
}

func (c *Core) tooOld() []offers.Offer {
	old := c.pool.OlderThan(c.now.Add(-c.opt.OfferHold))
	if c.reservation == nil {
		return old
	}
	gone := old[:0]
	for _, o := range old {
		if c.reservation.agents[o.Agent] && o.Received.After(c.reservation.since.Add(-c.opt.OfferHold)) {
			c.pool.Add(o) // held for the one it is reserved for, but not from one reservation to the next (rule L2)
		} else {
			gone = append(gone, o)
		}
	}
	return gone
}

func (c *Core) allOffers() []offers.Offer {
	return c.pool.OlderThan(c.now.Add(time.Hour))
}

// declineUsable declines offers that a waiting shard could use, when none waits.
func (c *Core) declineUsable(gone []offers.Offer, refuse time.Duration) {
	if len(gone) > 0 && refuse > 0 {
		c.flow.filtered = true
	}
	c.decline(gone, refuse)
}

// decline declines offers with a filter of at least declineAtLeast.
func (c *Core) decline(gone []offers.Offer, refuse time.Duration) {
	if len(gone) == 0 {
		return
	}
	ids := make([]string, len(gone))
	for i, o := range gone {
		ids[i] = o.ID
	}
	c.stats.OffersDeclined += int64(len(ids))
	c.call(CallDecline{Offers: ids, Refuse: max(refuse, declineAtLeast)})
}

// declineAtLeast is the least filter: it lets another framework have the resources first.
const declineAtLeast = time.Second

// revive sends REVIVE if a filter or SUPPRESS keeps offers away that are needed: for shards that wait, and once for each
// future fire that the offers at hand can't take.
func (c *Core) revive(waits bool) {
	f := &c.flow
	short := f.need.shortFor.After(f.revivedFor)
	if short {
		c.reviveRefused()
	}
	if !f.suppressed && !f.filtered || !waits && !short {
		return
	}
	every := reviveAtLeast // a shard waits
	if !waits {
		every = c.reviveEvery()
	}
	if again := f.revivedAt.Add(every); c.now.Before(again) {
		c.wakeAt(again)
		return
	}
	c.reviveNow()
}

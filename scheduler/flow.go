package scheduler

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/offers"
)

// flowState is what we last asked the master about offers in this session.
type flowState struct {
	suppressed bool
	// filtered is set when we declined something since the last REVIVE that is of use when
	// something waits: its resources stay away until their filter ends. refused is set
	// when we declined what did not help those that wait.
	filtered, refused bool
	revivedAt         time.Time
	wake              time.Time
	// lookUntil keeps SUPPRESS back: the next offers are to tell which executors run.
	lookUntil time.Time
	// unplaced is what the last match left waiting, and since when; unplacing the same of
	// the round under way. fruitless is how long the filters have grown, and grew when.
	unplaced, unplacing map[want]time.Time
	fruitless           int
	grew                time.Time
	// taskEnded since all was offered at once for those that start together, which was at together.
	taskEnded bool
	together  time.Time
	againAt   time.Time // when a shard's short backoff ends
	lookAt    time.Time // when this step's look at the offers wants the next
}

// lookFor is long enough for a master's next round of offers.
const lookFor = 5 * time.Second

// lookAtOffers asks for offers only to see which executors they name (rule X3), once in a step for all.
func (c *Core) lookAtOffers() {
	if c.flow.revivedAt.Equal(c.now) {
		return
	}
	c.flow.revivedAt = c.now
	c.flow.suppressed, c.flow.filtered, c.flow.refused, c.flow.lookUntil = false, false, false, c.now.Add(lookFor)
	c.call(CallRevive{})
	c.wakeAt(c.flow.lookUntil)
}

// offered takes new offers in and believes what they say of executors.
func (c *Core) offered(e cluster.Offers) {
	named := map[string][]string{} // executors, by agent
	var empty []offers.Offer
	for _, o := range e.Offers {
		c.stats.OffersReceived++
		a := c.agent(o.AgentID)
		if !a.registered { // it is back: what was said to it meanwhile was lost
			for _, x := range c.executorsOn[o.AgentID] {
				x.shutdownSent, x.shutdownTry = time.Time{}, 0
			}
		}
		a.registered = true
		a.host, a.unavailable, a.back, a.reserved = o.Hostname, o.Unavailable, o.AvailableAgain, app.Resources(o.Reserved)
		if !o.Unavailable.IsZero() {
			c.maintained[o.AgentID] = true
		}
		if o.AgentURL != "" {
			a.url = o.AgentURL
		}
		c.believeOffer(o)
		named[o.AgentID] = o.ExecutorIDs
		if nothingForUs(o) {
			empty = append(empty, offers.Offer{ID: o.ID})
			continue
		}
		c.pool.Add(offers.Offer{ID: o.ID, Agent: o.AgentID, Host: o.Hostname, Free: app.Resources(o.Resources), Received: c.now})
		c.matchAgain = true
	}
	for _, agent := range sortedKeys(named) {
		c.growCapacity(agent, named[agent])
		c.agentHere(agent)
	}
	c.decline(empty, c.opt.SuppressBeyond)
}

// growCapacity remembers the most that was ever seen free on an agent plus
// used there by us, by the executors that its offer names as well: it is at least so large.
func (c *Core) growCapacity(agentID string, runs []string) {
	a, free := c.agent(agentID), c.pool.Free(agentID)
	for _, x := range c.executorsOn[agentID] {
		free = free.Plus(x.used)
		if x.tasks > 0 || slices.Contains(runs, x.Info.ID) {
			free = free.Plus(app.Resources(x.Info.Resources))
		}
	}
	a.capacity, a.room = a.capacity.Max(free), a.room.Max(free)
}

// tendOffers keeps what the next seconds need and gives back the rest: offers
// are revived a little ahead of fires, held for at most OfferHold unless they
// are reserved, declined with a filter, and suppressed while nothing is due.
func (c *Core) tendOffers() {
	if !c.session.open {
		c.flow.wake = time.Time{}
		return
	}
	waits, hopeless := c.someWait()
	idle := c.draining || c.takeover != nil
	waits, hopeless = waits && !idle, hopeless && !idle
	next, fires := c.nextFire()
	soon := fires && !next.After(c.now.Add(c.opt.OfferAhead)) && c.fireWillLaunch()
	wanted := waits || soon && !idle
	c.flow.lookAt = time.Time{}
	if !waits {
		c.reviveRefused() // when it is needed, as all that was declined
		c.flow.unplaced, c.flow.unplacing, c.flow.fruitless = nil, nil, 0
	}
	if wanted {
		c.decline(c.offersOfGoing(), c.opt.SuppressBeyond)
		if waits {
			c.giveBackFruitless()
			c.lookTogether()
		} else {
			c.giveBack(c.tooOld(), 0)
			c.giveBack(c.beyondNeed(), c.opt.OfferHold)
		}
		c.revive(waits)
	} else {
		c.giveBack(c.allOffers(), c.refuseFor(next, fires))
		// What fits no agent seen so far waits for another one to be offered.
		looking := c.flow.lookUntil.After(c.now) && c.flow.lookUntil.Sub(c.now) <= lookFor
		if !c.flow.suppressed && !hopeless && !looking && (!fires || next.Sub(c.now) > c.opt.SuppressBeyond) {
			c.flow.suppressed = true
			c.call(CallSuppress{})
		}
	}
	switch wake := c.flow.wake; {
	case c.pool.Len() == 0:
		c.flow.wake = time.Time{}
	case wake.IsZero() || !wake.After(c.now) || wake.Sub(c.now) > c.opt.OfferHold:
		// Often enough that none is held for much longer than OfferHold.
		c.flow.wake = c.now.Add(c.opt.OfferHold / 5)
	}
	if at := c.flow.lookAt; !at.IsZero() && (c.flow.wake.IsZero() || at.Before(c.flow.wake)) {
		c.flow.wake = at
	}
}

// someWait reports whether something could be launched if there were room, and
// whether something waits that fits no agent: for that none is held.
func (c *Core) someWait() (waits, hopeless bool) {
	for _, e := range c.launchable {
		if e.KillReason != "" {
			continue
		}
		if e.neverFits {
			hopeless = true
			continue
		}
		if !e.launched() {
			if j := c.jobs[e.Job]; c.canLaunch(j) {
				return true, hopeless
			}
			continue
		}
		for i := range e.Shards {
			s := &e.Shards[i]
			if s.State == Waiting && c.ghostOf(e.Job, s.Item) == nil && (!s.NotBefore.After(c.now.Add(c.opt.OfferAhead)) || !stillWaits(s.NotBefore, c.now, c.opt.BackoffMost)) {
				return true, hopeless
			}
		}
	}
	return false, hopeless
}

// refuseFor is how long the resources of declined offers may stay away: until
// a little before they are needed.
func (c *Core) refuseFor(next time.Time, fires bool) time.Duration {
	if !fires {
		return c.opt.SuppressBeyond
	}
	return min(max(next.Add(-c.opt.OfferAhead).Sub(c.now), time.Second), c.opt.SuppressBeyond)
}

func (c *Core) tooOld() []offers.Offer {
	if c.now.Before(c.lastStep) {
		// The clock has stepped back: what came later than now counts from now.
		for _, o := range c.pool.OlderThan(c.lastStep.Add(time.Second)) {
			if o.Received.After(c.now) {
				o.Received = c.now
			}
			c.pool.Add(o)
		}
	}
	old := c.pool.OlderThan(c.now.Add(-c.opt.OfferHold))
	if c.reservation == nil {
		return old
	}
	gone := old[:0]
	for _, o := range old {
		if c.reservation.agents[o.Agent] && o.Received.After(c.now.Add(-c.opt.ReserveFor)) {
			c.pool.Add(o) // held for the one it is reserved for, but not from turn to turn (rule L2)
		} else {
			gone = append(gone, o)
		}
	}
	return gone
}

// beyondNeed takes out the offers that fires to come, or shards that run again in a moment, will hardly use: where none of our
// executors runs, but for the agent with the most room. Should that not do, all are
// revived at once. To spread shards, all agents are of use.
func (c *Core) beyondNeed() []offers.Offer {
	if c.opt.Strategy == offers.Spread || c.reservation != nil {
		return nil
	}
	roomiest, most := "", app.Resources{}
	var spare []string
	for _, a := range c.pool.Agents() {
		if slices.ContainsFunc(c.executorsOn[a.ID], func(x *executorRecord) bool { return !x.Closing }) {
			continue
		}
		spare = append(spare, a.ID)
		if roomiest == "" || a.Free.CPUMilli > most.CPUMilli {
			roomiest, most = a.ID, a.Free
		}
	}
	var gone []offers.Offer
	for _, id := range spare {
		if id != roomiest {
			gone = append(gone, c.pool.TakeAgent(id)...)
		}
	}
	return gone
}

func (c *Core) allOffers() []offers.Offer {
	return c.pool.OlderThan(c.now.Add(time.Hour))
}

// giveBack declines what is of use when something waits.
func (c *Core) giveBack(gone []offers.Offer, refuse time.Duration) {
	if len(gone) > 0 && refuse > 0 {
		c.flow.filtered = true
	}
	c.decline(gone, refuse)
}

// decline gives offers back that nobody will want again soon.
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

// declineAtLeast lets another framework have its turn.
const declineAtLeast = time.Second

// revive asks for offers if something keeps them away: at once when something
// waits and nothing is at hand, but not more than once in reviveEvery.
func (c *Core) revive(waits bool) {
	if !c.flow.suppressed && !c.flow.filtered {
		return
	}
	if c.pool.Len() > 0 && !c.flow.suppressed && !waits {
		return
	}
	if again := c.flow.revivedAt.Add(reviveEvery); c.now.Before(again) && again.Sub(c.now) <= reviveEvery {
		c.wakeAt(again)
		return
	}
	c.flow.suppressed, c.flow.filtered, c.flow.refused, c.flow.revivedAt = false, false, false, c.now
	c.call(CallRevive{})
}

const reviveEvery = 100 * time.Millisecond

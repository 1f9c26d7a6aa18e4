package core

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
)

// What waits for room that is not there needs no offers held for it (promise 6): Mesos adds what
// comes free on an agent to what was declined of it, and offers the sum. So after a match all is given
// back that nothing that waits can use, with filters that grow while nothing changes, and
// asked for again when something else begins to wait. An execution that would starve that way gets a
// reservation (rule L2).

// want is what shards wait for room for; all that want the same fit or fail together.
type want struct {
	shard, executor resources.Amount
	executorKey     string
	together        int // shards that start together, else 1
}

func wantOf(d *demand) want {
	w := want{shard: d.Shard, executor: d.ExecutorSize, executorKey: d.executorKey, together: 1}
	if d.Together {
		w.together = len(d.Items)
	}
	return w
}

// declineBackoffs are the filters for what nothing that waits can use, one after the other.
var declineBackoffs = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

const (
	// partHeld is how long what can take some of the shards that only start together is held,
	// once a match has left it: with a REVIVE all that is free comes at once.
	partHeld = 20 * time.Millisecond
	// gangReviveEvery is how often the ends of tasks have all be offered at once for those.
	gangReviveEvery = time.Second
)

// reviveRefused makes the next REVIVE bring back what was declined because nothing could use it: something has changed.
func (c *Core) reviveRefused() {
	c.flow.filtered = c.flow.filtered || c.flow.refused
	c.flow.refused = false
}

// detectNewDemand looks whether something waits that did not at the last match.
func (c *Core) detectNewDemand(ds []demand) {
	if !c.flow.refused {
		return
	}
	for i := range ds {
		w := wantOf(&ds[i])
		if _, known := c.flow.unplaced[w]; !known && c.flow.unplacing[w].IsZero() {
			c.reviveRefused()
			return
		}
	}
}

// recordUnplaced takes in what a match could not place, of which a round can have several.
func (c *Core) recordUnplaced(ds []demand, unplaced []offers.Unplaced, more bool) {
	f := &c.flow
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
			since = c.now
		}
		f.unplacing[w] = since
	}
	if !more {
		f.unplaced, f.unplacing = f.unplacing, nil
	}
}

// leaveLeftover: an ACCEPT leaves the rest of its agent to a filter.
func (c *Core) leaveLeftover(started []*executor) {
	f := &c.flow
	f.revivedFor = time.Time{} // what was held for fires to come may be used up
	c.needChanged()
	someWait, cheaper := false, false
	for _, left := range []map[want]time.Time{f.unplaced, f.unplacing} {
		for w := range left {
			someWait = true
			cheaper = cheaper || slices.ContainsFunc(started, func(x *executor) bool { return x.Key == w.executorKey })
		}
	}
	if someWait && !cheaper {
		f.refused = true // they did not fit
		return
	}
	f.filtered = true
}

// heldUntil is when an agent's offers are given back that a match has left.
func (c *Core) heldUntil(a offers.Agent) (until time.Time) {
	for w, since := range c.flow.unplaced {
		need := w.shard
		if !slices.ContainsFunc(c.executors.onAgent[a.ID], func(x *executor) bool { return x.Key == w.executorKey && !x.Closing }) {
			need = need.Plus(w.executor)
		}
		if !need.Fits(a.Free) {
			continue
		}
		for _, t := range []time.Time{c.pool.Oldest(a.ID).Add(partHeld), since.Add(c.opt.OfferHold)} {
			if t.After(until) {
				until = t
			}
		}
	}
	return until
}

// declineUnusable declines, after a match, what nothing that waits can use, and a little later
// what can take some shards of what only fits as a whole. What fires to come need is held beside that.
func (c *Core) declineUnusable() {
	f := &c.flow
	gone := c.tooOld() // also while a round goes on: it may go on for long
	if c.matchAgain || c.matchedUpTo != (launchKey{}) {
		if len(gone) > 0 {
			f.refused = true
			c.decline(gone, declineBackoffs[f.declineBackoff])
		}
		return // the round goes on
	}
	for _, a := range c.pool.Agents() {
		if f.need.needs(a.ID) || c.reservation != nil && c.reservation.agents[a.ID] {
			continue
		}
		if until := c.heldUntil(a); until.After(c.now) {
			c.flowAt(until)
			continue
		}
		gone = append(gone, c.pool.TakeAgent(a.ID)...)
	}
	if len(gone) == 0 {
		return
	}
	last := len(declineBackoffs) - 1
	filter := declineBackoffs[f.declineBackoff]
	f.refused = true
	c.decline(gone, filter)
	if !f.declineBackoffGrew.Add(filter).After(c.now) {
		f.declineBackoff, f.declineBackoffGrew = min(f.declineBackoff+1, last), c.now
	}
}

// flowAt has the offers looked at again at a time.
func (c *Core) flowAt(at time.Time) {
	if c.flow.nextLook.IsZero() || at.Before(c.flow.nextLook) {
		c.flow.nextLook = at
	}
}

// reviveForGangs has all be offered at once when a task has ended and shards wait that only start
// together: its agent is offered by itself, since it has more than was declined; those beside it are not.
func (c *Core) reviveForGangs() {
	f := &c.flow
	ended := f.taskEnded && f.refused
	f.taskEnded = false
	if !ended {
		return
	}
	for w := range f.unplaced {
		if w.together == 1 {
			continue
		}
		if next := f.together.Add(gangReviveEvery); next.After(c.now) {
			f.taskEnded = true
			c.flowAt(next)
			return
		}
		f.together = c.now
		c.reviveRefused()
		return
	}
}

// nothingForUs reports whether an offer has nothing that a task could use, such as one
// whose CPU and memory are revocable.
func nothingForUs(o cluster.Offer) bool { return o.Resources == resources.Amount{} }

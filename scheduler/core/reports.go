package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
)

// offered takes in new offers, and what they show of executors.
func (c *Core) offered(e cluster.Offers) {
	c.flow.timing.answered(c.now, c.opt.OfferAhead)
	c.flow.needChanged()
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
		c.flow.held.Add(offers.Offer{ID: o.ID, Agent: o.AgentID, Host: o.Hostname, Free: o.Resources, Reserved: reservedOf(o), Received: c.now})
		c.placement.changed()
	}
	for _, agent := range sortedKeys(named) {
		c.growCapacity(agent, named[agent])
		c.agentStillRegistered(agent)
	}
	c.flow.decline(empty, c.opt.RefuseMost)
}

// manageOffers holds what is needed of the offers and declines the others.
func (c *Core) manageOffers() {
	if !c.subscription.open {
		c.flow.wake = time.Time{}
		return
	}
	c.findNeed()
	o := outlook{
		idle: c.draining || c.subscription.takeover != nil, roundOpen: c.placement.roundOpen(), reservation: c.placement.reservation,
		maintained: c.agents.allInMaintenance(), runs: c.executors.takesTasks,
	}
	o.waits, o.hopeless = c.anyWaiting()
	o.nextFire, _ = c.fires.next()
	c.flow.manage(o)
}

// findNeed finds out which offers are needed, unless that is known.
func (c *Core) findNeed() {
	upTo := c.flow.backBy()
	if c.flow.needKnown(upTo) {
		return
	}
	switch ds, at, all := c.upcoming(upTo); {
	case all:
		c.flow.holdAll()
	case len(ds) > 0:
		agents := c.agentsOnOffer()
		c.flow.holdFor(offers.Match(ds, agents, c.opt.Strategy), agents, at)
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
		ds, at = append(ds, c.demandOf(name, with, a.executorKey, c.placement.itemsUpTo(j.cfg.ShardingTotalCount), maintained)), append(at, c.inTerm(fire))
		return false
	})
	return ds, at, all
}

// fewFires bounds how many fires to come are looked at in one step.
const fewFires = 1000

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

// checkExecutorsOnOffer compares our records with the executors that an offer names
// (rule X3).
func (c *Core) checkExecutorsOnOffer(o cluster.Offer) {
	for _, id := range o.ExecutorIDs {
		if x := c.executors.byID[id]; x == nil && c.subscription.takeover == nil {
			c.note(Note{Kind: NoteExecutor, Detail: fmt.Sprintf("%s runs on agent %s and is not in our records: shut down", id, o.AgentID), Problem: true})
			c.call(CallShutdown{ExecutorID: id, AgentID: o.AgentID})
		}
	}
	for _, x := range slices.Clone(c.executors.onAgent[o.AgentID]) {
		if x.pending > 0 || slices.Contains(o.ExecutorIDs, x.Info.ID) {
			continue
		}
		switch {
		case x.tasks == 0:
			// All its ACCEPTs were dealt with before this offer was made, whatever became
			// of them; if it is there, a later offer names it.
			c.dropExecutor(x)
		case x.confirmed:
			// It was there and is gone, and what ends its tasks is on its way. Its record stays until
			// they have ended: as long as one of them may live, nobody may take the executor for an unknown one.
			c.closeExecutor(x)
		}
	}
}

// acceptAnswered: answered 202, the tasks are with the master; refused, they
// never were (rules L3, L4).
func (c *Core) acceptAnswered(a AcceptAnswered) {
	if a.Session != c.subscription.number || !c.subscription.open {
		return // voided already
	}
	sent := c.placement.answered(a.Seq)
	if sent == nil {
		return
	}
	for _, id := range sent.executors {
		if x := c.executors.byID[id]; x != nil {
			x.pending--
			x.confirmed = false
			c.checkIdle(x)
		}
	}
	for _, id := range sent.tasks {
		ref, ok := c.executions.tasks[id]
		if !ok || ref.shard().acceptSeq != a.Seq {
			continue
		}
		s := ref.shard()
		s.acceptSeq = 0
		switch {
		case !s.live():
		case !a.OK:
			s.Cause = "the master refused the launch: " + a.Message
			c.endAttempt(ref, outcomeNeverStarted)
		case !s.KillSince.IsZero():
			c.sendKill(s)
		}
	}
}

// failure: an agent was removed, or an executor ended.
func (c *Core) failure(f cluster.Failure) {
	c.flow.needChanged()
	if f.ExecutorID == "" {
		c.flow.held.RemoveAgent(f.AgentID)
		c.agents.remove(f.AgentID)
		return
	}
	c.note(Note{Kind: NoteExecutor, Detail: fmt.Sprintf("%s ended (wait status %d)", f.ExecutorID, f.Status)})
	if x := c.executors.byID[f.ExecutorID]; x != nil {
		if x.pending > 0 || x.tasks > 0 {
			// An ACCEPT that was on its way has the agent start it once more under
			// this id: the record stays until what was launched has ended (X1, X2).
			c.closeExecutor(x)
			return
		}
		c.dropExecutor(x)
	}
}

func (c *Core) handleClusterEvent(e cluster.Event) {
	switch e := e.(type) {
	case cluster.Offers:
		c.offered(e)
	case cluster.Rescind:
		c.flow.held.Rescind(e.OfferID)
		c.flow.needChanged()
	case cluster.Update:
		c.stats.StatusUpdates++
		c.update(e)
	case cluster.Failure:
		c.failure(e)
	}
}

// nothingForUs reports whether an offer has nothing that a task could use, such as one
// whose CPU and memory are revocable.
func nothingForUs(o cluster.Offer) bool { return o.Resources == resources.Amount{} }

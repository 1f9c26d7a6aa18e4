package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// manageOffers holds what is needed of the offers and declines the others.
func (c *Core) manageOffers() {
	if !c.subscription.Open() {
		c.flow.wake = time.Time{}
		return
	}
	c.findNeed()
	o := outlook{
		idle: c.held != "" || c.Draining() || c.subscription.TakingOver(), roundOpen: c.placement.roundOpen(), reservation: c.placement.reservation,
		maintained: c.agents.AllInMaintenance(), runs: c.executors.TakesTasks,
	}
	o.waits, o.hopeless = c.anyWaiting()
	o.nextFire, _ = c.fires.next()
	c.flow.manage(o)
}

// anyWaiting reports whether a shard could be launched if an agent had the resources, and
// whether one waits that fits no agent: no offer is held for that one.
func (c *Core) anyWaiting() (waits, hopeless bool) {
	for _, e := range c.executions.Launchable() {
		if !e.Kill().IsZero() || c.st.HeldBack(e) {
			continue
		}
		if e.Unplaced().Never {
			hopeless = true
			continue
		}
		if c.starts.Wait(c.st.AppOf(e), e.ID()).Waits() {
			continue
		}
		if !e.Launched() {
			if j := c.config.Job(e.Job()); c.st.CanLaunch(j) {
				return true, hopeless
			}
			continue
		}
		for i := range e.NumShards() {
			s := e.Shard(i)
			if s.State() == executions.Waiting && !c.orphans.Blocks(e.Job(), s.Item()) && !s.NotBefore().After(c.Now()) {
				return true, hopeless
			}
		}
	}
	return false, hopeless
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
		c.flow.holdFor(offers.Match(ds, agents, c.Opt.Strategy), agents, at)
	}
}

// upcoming are the demands of launches that are due up to a moment, and when each is due, or all when there are
// too many. A fire whose job still runs then makes no demand: it is dropped, or waits for the end of that run.
// Shards that start together are demanded one by one, so that some of the resources are held while the others are still on their way.
func (c *Core) upcoming(upTo time.Time) (ds []offers.Demand, at []time.Time, all bool) {
	if c.fires.due != nil && !c.InTerm(c.fires.due.at).After(upTo) { // later than that after the clock was set back
		return nil, nil, true // the batch is being made, in this step and the next ones
	}
	maintained := c.agents.AllInMaintenance()
	for _, e := range c.executions.Launchable() {
		if !e.Launched() {
			break // executions with shards to requeue come first
		}
		if c.st.HeldBack(e) {
			continue
		}
		var items []int
		var first time.Time
		for i := range e.NumShards() {
			s := e.Shard(i)
			if s.State() != executions.Waiting || !e.Kill().IsZero() || !s.NotBefore().After(c.Now()) || s.NotBefore().After(upTo) || c.orphans.Blocks(e.Job(), s.Item()) {
				continue
			}
			items = append(items, s.Item())
			if first.IsZero() || s.NotBefore().Before(first) {
				first = s.NotBefore()
			}
		}
		if len(items) > 0 {
			ds, at = append(ds, c.demandOf(e.ID(), &e.Settings().App, &e.Settings().Job, e.Prepare().ExecutorKey(), items, maintained)), append(at, first)
		}
		if len(ds) >= fewFires {
			return nil, nil, true
		}
	}
	due := 0
	if c.fires.timetable.Soon(c.OnWall(upTo), func(string, time.Time) bool { due++; return due > fewFires }) {
		return nil, nil, true
	}
	c.fires.timetable.Soon(c.OnWall(upTo), func(name string, fire time.Time) bool {
		j := c.config.Job(name)
		if j == nil || !fire.After(j.Since()) || c.fires.cursor.covers(fire, name) {
			return false // the fire was made already, and the clock was set back since
		}
		if !c.st.CanLaunch(j) || len(c.executions.Queue(j.Name())) > 0 && !onlyEnding(c.executions.Queue(j.Name())) {
			return false
		}
		a := c.config.App(j.Config().AppName)
		if c.starts.Wait(a.Config(), name).Waits() {
			return false
		}
		ds, at = append(ds, c.demandOf(name, a.Config(), j.Config(), a.ExecutorKey(), c.placement.itemsUpTo(j.Config().ShardingTotalCount), maintained)), append(at, c.InTerm(fire))
		return false
	})
	return ds, at, false
}

// fewFires bounds how many fires to come are looked at in one step.
const fewFires = 1000

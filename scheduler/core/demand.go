package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
)

// demand is a Demand and the execution that it is made of.
type demand struct {
	offers.Demand
	exec        *execution
	with        *settings
	executorKey string
}

// demands are the next DemandsPerStep executions with shards that can be launched
// now, in the order of launchable, beginning behind those of the last call; more
// is set when there are others behind these.
func (c *Core) demands() (ds []demand, more bool) {
	maintained := c.agentsInMaintenance()
	from := 0
	if c.matchedUpTo == (launchKey{}) {
		c.roundOffers = c.stats.OffersReceived
	}
	if c.matchedUpTo != (launchKey{}) {
		from, _ = slices.BinarySearchFunc(c.launchable, c.matchedUpTo, compareLaunch)
		c.matchedUpTo = launchKey{}
	}
	for _, e := range c.launchable[from:] {
		if len(ds) >= c.opt.DemandsPerStep {
			c.matchedUpTo = e.launchKey
			return ds, true
		}
		if e.KillReason != "" {
			continue
		}
		d := demand{exec: e}
		var items []int
		if e.launched() {
			d.with, d.executorKey = e.Settings, e.prepare().executorKey
			for i := range e.Shards {
				s := &e.Shards[i]
				if s.State == Waiting && !s.NotBefore.After(c.now) && c.orphanOf(e.Job, s.Item) == nil {
					items = append(items, s.Item)
				}
			}
		} else {
			j := c.jobs[e.Job]
			if !c.canLaunch(j) {
				continue
			}
			a := c.apps[j.cfg.AppName]
			d.with, d.executorKey = &settings{App: a.cfg, Job: e.settingsOf(*j.cfg)}, a.executorKey
			items = c.itemsUpTo(j.cfg.ShardingTotalCount)
		}
		if len(items) == 0 {
			continue
		}
		a := c.apps[d.with.App.AppName]
		if wait := c.packageWait(a, e.ID); wait.waits() {
			e.unplaced = unplaced{matched: true, why: c.packageReason(wait)}
			continue
		}
		c.packageTried(a, e.ID)
		d.Demand = c.demandOf(e.ID, d.with, d.executorKey, items, maintained)
		d.Together = !e.launched()
		ds = append(ds, d)
	}
	return ds, false
}

// demandOf is what Match is to know of shards of one job with those settings; id names what they belong to.
func (c *Core) demandOf(id string, with *settings, key string, items []int, maintained map[string]string) offers.Demand {
	return offers.Demand{
		ID: id, Job: with.Job.JobName, App: with.App.AppName, Items: items,
		Shard: with.Job.Resources(), ExecutorSize: with.App.Resources(), Executor: key,
		Avoid: c.avoid(with.App.AppName, maintained),
	}
}

// itemsUpTo is 0 to n-1; demands only read it, so all share one list.
func (c *Core) itemsUpTo(n int) []int {
	for len(c.items) < n {
		c.items = append(c.items, len(c.items))
	}
	return c.items[:n:n]
}

// canLaunch reports whether the first execution of a job's queue may be launched.
func (c *Core) canLaunch(j *jobState) bool {
	return j != nil && j.cfg != nil && c.inactive(j) == active && c.orphanAmong(j.cfg) == nil
}

// orphanOf returns an earlier attempt of a shard that may still run and so
// blocks the next (rule E5), or nil.
func (c *Core) orphanOf(job string, item int) *orphan {
	return firstOrphan(c.orphansByJob[job], func(g *orphan) bool { return g.Item == item })
}

// orphanAmong returns one of any shard that a job has now, or nil.
func (c *Core) orphanAmong(cfg *jobs.Config) *orphan {
	return firstOrphan(c.orphansByJob[cfg.JobName], func(g *orphan) bool { return g.Item < cfg.ShardingTotalCount })
}

func firstOrphan(of map[string]*orphan, match func(*orphan) bool) (first *orphan) {
	for _, g := range of {
		if match(g) && (first == nil || g.TaskID < first.TaskID) {
			first = g
		}
	}
	return first
}

// block makes an orphan hold back later attempts of its shard.
func (c *Core) block(g *orphan) {
	c.needChanged()
	of := c.orphansByJob[g.Job]
	if of == nil {
		of = map[string]*orphan{}
		c.orphansByJob[g.Job] = of
	}
	of[g.TaskID] = g
}

// unblock lets the shard of an orphan that blocked it be launched again.
func (c *Core) unblock(g *orphan) {
	c.needChanged()
	delete(c.orphansByJob[g.Job], g.TaskID)
	if len(c.orphansByJob[g.Job]) == 0 {
		delete(c.orphansByJob, g.Job)
	}
	c.matchAgain = true
}

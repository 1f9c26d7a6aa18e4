package core

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// demands are the next DemandsPerStep executions with shards that can be launched
// now, in the order of launchable, beginning behind those of the last call; more
// is set when there are others behind these.
func (c *Core) demands() (ds []demand, more bool) {
	maintained := c.agents.AllInMaintenance()
	if c.placement.upTo == (executions.LaunchKey{}) {
		c.placement.roundOffers = c.Numbers.OffersReceived
	}
	line := c.executions.LaunchableFrom(c.placement.upTo)
	c.placement.upTo = executions.LaunchKey{}
	for _, e := range line {
		if len(ds) >= c.Opt.DemandsPerStep {
			c.placement.upTo = e.LaunchKey()
			return ds, true
		}
		if !e.Kill().IsZero() || c.st.HeldBack(e) {
			continue
		}
		d := demand{exec: e}
		var items []int
		if e.Launched() {
			d.with, d.executorKey, items = e.Settings(), e.Prepare().ExecutorKey(), c.itemsWaiting(e)
		} else {
			j := c.config.Job(e.Job())
			if !c.st.CanLaunch(j) {
				continue
			}
			a := c.config.App(j.Config().AppName)
			d.with, d.executorKey = &executions.Settings{App: *a.Config(), Job: e.SettingsOf(j.Config().WithoutNotifications())}, a.ExecutorKey()
			items = c.placement.itemsUpTo(j.Config().ShardingTotalCount)
		}
		if len(items) == 0 {
			continue
		}
		a := c.config.App(d.with.App.AppName)
		if wait := c.starts.Wait(a.Config(), e.ID()); wait.Waits() {
			c.executions.SetUnplaced(e, executions.Unplaced{Matched: true, Why: c.starts.WaitReason(wait)})
			c.recording.waits(e, e.Unplaced().Why)
			continue
		}
		if why := c.tasks.TooLarge(e, d.with); !why.IsZero() {
			c.executions.SetUnplaced(e, executions.Unplaced{Matched: true, Never: true, Why: why})
			c.recording.waits(e, why)
			continue
		}
		c.starts.Tried(a.Config(), e.ID())
		d.Demand = c.demandOf(e.ID(), &d.with.App, &d.with.Job, d.executorKey, items, maintained)
		d.Together, d.Bytes = !e.Launched(), c.tasks.Size(e, d.with).Each
		ds = append(ds, d)
	}
	return ds, false
}

// itemsWaiting are the shards of a launched execution that could be launched now.
func (c *Core) itemsWaiting(e *executions.Execution) (items []int) {
	for i := range e.NumShards() {
		s := e.Shard(i)
		if s.State() == executions.Waiting && !s.NotBefore().After(c.Now()) && !c.orphans.Blocks(e.Job(), s.Item()) {
			items = append(items, s.Item())
		}
	}
	return items
}

// demandOf is what Match is to know of shards of one job with those settings; id names what they belong to.
func (c *Core) demandOf(id string, a *app.Config, j *jobs.Config, key string, items []int, maintained map[string]reason.Reason) offers.Demand {
	return offers.Demand{
		ID: id, Job: j.JobName, App: a.AppName, Items: items,
		Shard: j.Resources(), ExecutorSize: c.st.ExecutorSize(a), Executor: key,
		Avoid: c.avoid(a, key, maintained),
	}
}

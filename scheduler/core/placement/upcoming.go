package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// anyWaiting reports whether a shard could be launched if an agent had the resources, and whether a waiting shard fits
// no agent. No offer is held for the latter.
func (pl *Placement) anyWaiting() (waits, hopeless bool) {
	for _, e := range pl.st.Executions.Launchable() {
		if !e.Kill().IsZero() || pl.st.HeldBack(e) {
			continue
		}
		if e.Unplaced().Never {
			hopeless = true
			continue
		}
		if pl.st.StartFailures.Wait(pl.st.AppOf(e), e.ID()).Waits() {
			continue
		}
		if !e.Launched() {
			if j := pl.st.Config.Job(e.Job()); pl.st.CanLaunch(j) {
				return true, hopeless
			}
			continue
		}
		for i := range e.NumShards() {
			s := e.Shard(i)
			if s.State() == executions.Waiting && !pl.st.Orphans.IsBlocked(e.Job(), s.Item()) &&
				!s.NotBefore().After(pl.st.Now()) {
				return true, hopeless
			}
		}
	}
	return false, hopeless
}

// findNeed determines which offers future launches need, unless that is known.
func (pl *Placement) findNeed() {
	upTo := pl.flow.backBy()
	if pl.flow.needKnown(upTo) {
		return
	}
	switch ds, at, all := pl.Upcoming(upTo); {
	case all:
		pl.flow.holdAll()
	case len(ds) > 0:
		agents := pl.recordAgentsOnOffer()
		pl.flow.holdFor(offers.Match(ds, agents, pl.st.Opt.Strategy), agents, at)
	}
}

// Upcoming returns the demands of the launches that are due up to a time of the term, and when each is due. If there
// are too many, it returns only all = true. A fire whose job will still be running makes no demand, because it is
// dropped or waits for the end of that run. Shards that start together make one demand each, so that some of the
// resources are held while the others are still on their way.
func (pl *Placement) Upcoming(upTo time.Time) (ds []offers.Demand, at []time.Time, all bool) {
	if pl.fires.Making(upTo) {
		return nil, nil, true // the batch is being made, in this step and the next ones
	}
	excluded := pl.st.Agents.Excluded()
	for _, e := range pl.st.Executions.Launchable() {
		if !e.Launched() {
			break // launched executions come first: the others have no shard that waits for a retry
		}
		if pl.st.HeldBack(e) {
			continue
		}
		var items []int
		var first time.Time
		for i := range e.NumShards() {
			s := e.Shard(i)
			if s.State() != executions.Waiting || !e.Kill().IsZero() || !s.NotBefore().After(pl.st.Now()) ||
				s.NotBefore().After(upTo) || pl.st.Orphans.IsBlocked(e.Job(), s.Item()) {
				continue
			}
			items = append(items, s.Item())
			if first.IsZero() || s.NotBefore().Before(first) {
				first = s.NotBefore()
			}
		}
		if len(items) > 0 {
			ds, at = append(ds, pl.DemandOf(e.ID(), &e.Settings().App, &e.Settings().Job, e.Prepare().ExecutorKey(),
				items, excluded)), append(at, first)
		}
		if len(ds) >= maxFutureFires {
			return nil, nil, true
		}
	}
	coming, ok := pl.fires.Upcoming(pl.st.OnWall(upTo), maxFutureFires)
	if !ok {
		return nil, nil, true
	}
	for _, fire := range coming {
		j := pl.st.Config.Job(fire.Job)
		if j == nil || !fire.At.After(j.Since()) || !pl.st.CanLaunch(j) || pl.st.Executions.FireMustWait(fire.Job) {
			continue
		}
		a := pl.st.Config.App(j.Config().AppName)
		if pl.st.StartFailures.Wait(a.Config(), fire.Job).Waits() {
			continue
		}
		items := pl.itemsUpTo(j.Config().ShardingTotalCount)
		ds = append(ds, pl.DemandOf(fire.Job, a.Config(), j.Config(), a.ExecutorKey(), items, excluded))
		at = append(at, pl.st.InTerm(fire.At))
	}
	return ds, at, false
}

// maxFutureFires bounds how many future fires are matched in one step.
const maxFutureFires = 1000

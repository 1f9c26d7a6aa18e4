package placement

import (
	"time"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// anyWaiting reports whether a shard could be launched if an agent had the resources (shardsWait), and whether a
// waiting shard fits no agent (someNeverFit). No offer is held for the latter. It stops at the first shard that could
// be launched.
func (pl *Placement) anyWaiting() (shardsWait, someNeverFit bool) {
	for _, e := range pl.st.Executions.Launchable() {
		if !e.Kill().IsZero() || pl.st.HeldBack(e) {
			continue
		}
		if e.Unplaced().Never {
			someNeverFit = true
			continue
		}
		if pl.st.StartFailures.Wait(pl.st.AppOf(e), e.ID()).MustWait() {
			continue
		}
		if !e.Launched() {
			if j := pl.st.Config.Job(e.Job()); pl.st.CanLaunch(j) {
				return true, someNeverFit
			}
			continue
		}
		for i := range e.NumShards() {
			s := e.Shard(i)
			if s.State() == executions.Waiting && !pl.st.Orphans.IsBlocked(e.Job(), s.Item()) &&
				!s.NotBefore().After(pl.st.Now()) {
				return true, someNeverFit
			}
		}
	}
	return false, someNeverFit
}

// findNeed determines which offers future launches need, unless the last result still holds.
func (pl *Placement) findNeed() {
	upTo := pl.flow.backBy()
	if pl.flow.needIsCurrent(upTo) {
		return
	}
	switch ds, dueAt, tooMany := pl.Upcoming(upTo); {
	case tooMany:
		pl.flow.holdAll()
	case len(ds) > 0:
		agents := pl.recordAgentsOnOffer()
		pl.flow.holdFor(offers.Match(ds, agents, pl.st.Opt.Strategy), agents, dueAt)
	}
}

// Upcoming returns the demands of the launches that are due up to a time of the term, and when each is due. If there
// are too many, it returns only tooMany = true. A fire whose job is still busy makes no demand, because it is dropped
// or waits for the end of that run. The shards of a fire are not marked as Together, so that some of the resources are
// held while the others are still on their way.
func (pl *Placement) Upcoming(upTo time.Time) (ds []offers.Demand, dueAt []time.Time, tooMany bool) {
	if pl.fires.Making(upTo) {
		return nil, nil, true // the batch is being made, in this step and the next ones
	}
	excluded := pl.st.Excluded()
	for _, e := range pl.st.Executions.Launchable() {
		if !e.Launched() {
			break // launched executions come first; only they have shards in a backoff
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
			ds = append(ds, pl.DemandOf(e.ID(), &e.Settings().App, &e.Settings().Job, e.Prepare().ExecutorKey(), items,
				excluded))
			dueAt = append(dueAt, first)
		}
		if len(ds) >= maxFutureLaunches {
			return nil, nil, true
		}
	}
	for _, m := range pl.moving {
		if s := m.Ref.Shard(); s.Live() || s.State() == executions.Waiting && s.NotBefore().After(upTo) {
			ds, dueAt = append(ds, pl.demandOfMoving(m.Ref, excluded)), append(dueAt, m.At)
		}
	}
	coming, ok := pl.fires.Upcoming(pl.st.OnWall(upTo), maxFutureLaunches)
	if !ok {
		return nil, nil, true
	}
	for _, fire := range coming {
		j := pl.st.Config.Job(fire.Job)
		if j == nil || !fire.At.After(j.Since()) || !pl.st.CanLaunch(j) || pl.st.Executions.FireMustWait(fire.Job) {
			continue
		}
		a := pl.st.Config.App(j.Config().AppName)
		if pl.st.StartFailures.Wait(a.Config(), fire.Job).MustWait() {
			continue
		}
		items := pl.itemsUpTo(j.Config().ShardingTotalCount)
		ds = append(ds, pl.DemandOf(fire.Job, a.Config(), j.Config(), a.ExecutorKey(), items, excluded))
		dueAt = append(dueAt, pl.st.InTerm(fire.At))
	}
	return ds, dueAt, false
}

// maxFutureLaunches bounds how many executions and how many fires are matched ahead.
const maxFutureLaunches = 1000

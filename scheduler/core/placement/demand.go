package placement

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// demands returns the demands of executions with shards that can be launched now, in the order of launches. One call
// returns at most Options.DemandsPerStep, so that a step stays short; the next call continues where this one ended.
// The calls that together cover all executions are a round: more is set except in its last call.
func (pl *Placement) demands() (ds []demand, more bool) {
	excluded := pl.st.Excluded()
	if pl.upTo == (executions.LaunchKey{}) {
		pl.roundOffers = pl.st.Numbers.OffersReceived
	}
	launchable := pl.st.Executions.LaunchableFrom(pl.upTo)
	pl.upTo = executions.LaunchKey{}
	for _, e := range launchable {
		if len(ds) >= pl.st.Opt.DemandsPerStep {
			pl.upTo = e.LaunchKey()
			return ds, true
		}
		if !e.Kill().IsZero() || pl.st.HeldBack(e) {
			continue
		}
		d := demand{exec: e}
		var items []int
		if e.Launched() {
			d.settings, d.executorKey, items = e.Settings(), e.Prepare().ExecutorKey(), pl.ItemsWaiting(e)
		} else {
			j := pl.st.Config.Job(e.Job())
			if !pl.st.CanLaunch(j) {
				continue
			}
			a := pl.st.Config.App(j.Config().AppName)
			d.settings = &executions.Settings{App: *a.Config(), Job: e.SettingsOf(j.Config().WithoutNotifications())}
			d.executorKey = a.ExecutorKey()
			items = pl.itemsUpTo(j.Config().ShardingTotalCount)
		}
		if len(items) == 0 {
			continue
		}
		a := pl.st.Config.App(d.settings.App.AppName)
		if wait := pl.st.StartFailures.Wait(a.Config(), e.ID()); wait.MustWait() {
			why := pl.st.StartFailures.WaitReason(wait)
			pl.st.Executions.SetUnplaced(e, executions.Unplaced{Matched: true, Why: why})
			continue
		}
		if why := pl.tasks.TooLarge(e, d.settings); !why.IsZero() {
			pl.st.Executions.SetUnplaced(e, executions.Unplaced{Matched: true, Never: true, Why: why})
			continue
		}
		pl.st.StartFailures.RecordTry(a.Config(), e.ID())
		d.Demand = pl.DemandOf(e.ID(), &d.settings.App, &d.settings.Job, d.executorKey, items, excluded)
		d.Together, d.Bytes = !e.Launched(), pl.tasks.Size(e, d.settings).TaskBytes
		ds = append(ds, d)
	}
	return ds, false
}

// ItemsWaiting returns the shards of a launched execution that could be launched now if an agent had room.
func (pl *Placement) ItemsWaiting(e *executions.Execution) (items []int) {
	for i := range e.NumShards() {
		s := e.Shard(i)
		if s.State() == executions.Waiting && !s.NotBefore().After(pl.st.Now()) &&
			!pl.st.Orphans.IsBlocked(e.Job(), s.Item()) {
			items = append(items, s.Item())
		}
	}
	return items
}

// DemandOf returns the demand that offers.Match places for some shards (items) of a job with the given settings. id is
// the execution or the job of the shards, and key the key of the app's executor.
func (pl *Placement) DemandOf(id string, a *app.Config, j *jobs.Config, key string, items []int,
	excluded map[string]reason.Reason) offers.Demand {
	return offers.Demand{
		ID: id, Job: j.JobName, App: a.AppName, Items: items,
		Shard: j.Resources(), ExecutorSize: pl.st.ExecutorSize(a), Executor: key,
		Avoid: pl.avoid(a, key, excluded),
	}
}

package views

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
)

// JobCheck is the result that a change of a job would have, if it were requested now.
type JobCheck struct {
	// Job is the view that the answer to the change would contain.
	Job JobView
	// Placement is the placement of the first run, with all its shards, for this job alone.
	Placement PlacementView
}

// PlacementView describes where shards would be placed.
type PlacementView struct {
	// Fits is set if all shards would be launched: on the offers at hand or, if Shards is empty, after offers were
	// requested.
	Fits bool `json:"fits"`
	// Shards lists, by item, where they would be placed on the offers at hand.
	Shards []PlacedShardView `json:"shards"`
	// Why is the reason why the shards would wait, as Explain would give it, or what Fits is based on.
	Why
}

// PlacedShardView is a shard and the agent that it would be launched on.
type PlacedShardView struct {
	Item     int    `json:"item"`
	Agent    string `json:"agent"`
	Hostname string `json:"hostname"`
}

// CheckJob returns the result that a RegisterJob or UpdateJob would have, or the *problem.Error with which it would be
// refused. It plans the change as the core does for a request, and changes nothing.
func (vs *Views) CheckJob(ch config.Change) (JobCheck, error) {
	p, err := vs.st.Config.Plan(ch)
	if err != nil {
		return JobCheck{}, err
	}
	j, err := vs.st.Config.Draft(p)
	if err != nil {
		return JobCheck{}, err
	}
	view := vs.jobView(j)
	if why := vs.st.Config.InactiveReason(j); !why.IsZero() {
		view.Note(reason.NothingUntilThatEnds(why))
	}
	return JobCheck{Job: view, Placement: vs.previewPlacement(j)}, nil
}

// previewPlacement matches all shards of a job with the offers at hand, as placement does at a launch.
func (vs *Views) previewPlacement(j *config.Job) PlacementView {
	v := PlacementView{Shards: []PlacedShardView{}}
	a := vs.st.Config.App(j.Config().AppName)
	if why := vs.noLaunches(); !why.IsZero() {
		v.Why = WhyOf(why)
		return v
	}
	if o, blocks := vs.st.Orphans.BlockingAmong(j.Name(), j.Config().ShardingTotalCount); blocks {
		v.Why = WhyOf(vs.orphanReason(&o))
		return v
	}
	if wait := vs.st.StartFailures.Wait(a.Config(), ""); wait.MustWait() {
		v.Why = WhyOf(vs.st.StartFailures.WaitReason(wait))
		return v
	}
	items := make([]int, j.Config().ShardingTotalCount)
	for i := range items {
		items[i] = i
	}
	d := vs.placement.DemandOf("", a.Config(), j.Config(), a.ExecutorKey(), items, vs.st.Excluded())
	d.Together = true
	held := vs.placement.AgentsOnOffer()
	if len(held) > 0 {
		result := offers.Match([]offers.Demand{d}, held, vs.st.Opt.Strategy)
		if len(result.Unplaced) == 0 {
			v.Fits = true
			for _, p := range result.Placements {
				v.Shards = append(v.Shards, PlacedShardView{p.Item, held[p.Agent].ID, held[p.Agent].Host})
			}
			return v
		}
		u := result.Unplaced[0]
		notOnOffer := vs.placement.NotOnOffer(held)
		why, _ := notOnOffer.ReasonOf(&u, d)
		v.Why = WhyOf(why)
	}
	return vs.previewByCapacity(v, d, held, *a.Config())
}

// previewByCapacity completes the answer from the capacities of agents, if the offers at hand have no room. Usually
// few offers are held, because they are requested only when a launch needs them.
func (vs *Views) previewByCapacity(v PlacementView, d offers.Demand, held []offers.Agent, a app.Config) PlacementView {
	agents := held
	onOffer := make(map[string]bool, len(held))
	for _, h := range held {
		onOffer[h.ID] = true
	}
	for _, id := range vs.st.Agents.IDs() {
		ag := vs.st.Agents.Get(id)
		if onOffer[id] || !ag.Registered() || ag.Closed() != "" || ag.Capacity().IsZero() ||
			len(id) > jobs.MaxAgentIDBytes {
			continue
		}
		use := vs.UseOf(ag)
		agents = append(agents, offers.Agent{ID: id, Host: ag.Host(), Free: use.total.Minus(use.used),
			Capacity: ag.Capacity(), Executors: vs.st.Executors.KeysOn(id, vs.st.TakesTasks)})
	}
	d.Together = false
	room := len(offers.Match([]offers.Demand{d}, agents, vs.st.Opt.Strategy).Placements)
	switch all := len(d.Items); {
	case len(agents) == 0:
		v.Why = WhyOf(vs.st.Agents.AllClosed().Or(reason.NoAgentSeen()))
	case room == all:
		v.Fits = true
		v.Why = WhyOf(reason.WouldFit(len(held) > 0, all))
	case len(held) == 0:
		need := reason.Need{Shards: all, Each: d.Shard.String(), App: a.AppName}
		if !d.ExecutorSize.IsZero() {
			need.Executor = d.ExecutorSize.String()
		}
		v.Why = WhyOf(reason.WouldNotFit(need, room))
	}
	return v
}

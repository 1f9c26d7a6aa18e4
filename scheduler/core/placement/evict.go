package placement

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// evictForDemand closes idle executors on one agent that a waiting demand can't use, if their room lets one of its
// shards fit, or all shards of a gang (rule X9: at once if a waiting shard needs the room). It does so for one of the
// first demands. agents are those with offers.
func (pl *Placement) evictForDemand(agents []offers.Agent, waiting []demand) {
	free := make(map[string]resources.Amount, len(agents))
	for _, a := range agents {
		free[a.ID] = a.Free
	}
	if len(waiting) == 0 || pl.st.Executors.Len() == pl.st.Executors.NumClosing() {
		return
	}
	agentIDs := pl.st.Agents.IDs()
	for i := range waiting[:min(len(waiting), max(evictPairs/(len(agentIDs)+1), evictForFirst))] {
		d := &waiting[i]
		needed := 1
		if d.Together {
			needed = len(d.Items)
		}
		fitNow, fitThen := 0, 0           // shards that fit on all agents now, and without the idle executors
		var toClose []*executors.Executor // the idle executors of the first agent where their end makes room
		for _, agentID := range agentIDs {
			if pl.st.IsExcluded(agentID) {
				continue
			}
			if r := pl.reservation; r.holds(agentID) && r.exec != d.ID {
				continue
			}
			size, space := d.ExecutorSize, free[agentID]
			var idle []*executors.Executor
			own := false // the agent has the executor that would get the shards, as executorFor chooses it
			for _, x := range pl.st.Executors.On(agentID) {
				switch {
				case !own && x.Key() == d.executorKey && pl.st.TakesTasks(x):
					own, size = true, resources.Amount{}
				case x.Tasks() == 0 && x.Pending() == 0 && !pl.st.Orphans.MayReturn(x.ID()) &&
					pl.evictable(x, d, waiting[:i]):
					space = space.Plus(x.Resources())
					idle = append(idle, x)
				}
			}
			now, then := free[agentID].Minus(size).Holds(d.Shard, needed), space.Minus(size).Holds(d.Shard, needed)
			fitNow, fitThen = fitNow+now, fitThen+then
			if then > now && toClose == nil {
				toClose = idle
			}
		}
		if fitNow >= needed || fitThen < needed {
			continue
		}
		for _, x := range toClose {
			pl.st.Executors.Close(x)
		}
		return // one agent at a time: its freed resources are offered, and matched
	}
}

// evictForDemand considers at least the first evictForFirst demands. It considers more while the product of demands
// and agents stays below evictPairs.
const (
	evictForFirst = 10
	evictPairs    = 100_000
)

// evictable reports whether an idle executor may be evicted for a demand: its agent is reserved for the demand, or
// none of the earlier demands (before) could use the executor. Later demands do not protect an executor; otherwise two
// apps could wait for each other's executors forever.
func (pl *Placement) evictable(x *executors.Executor, d *demand, before []demand) bool {
	if r := pl.reservation; r.holds(x.Agent()) && r.exec == d.ID {
		return true
	}
	return !slices.ContainsFunc(before, func(o demand) bool { return o.executorKey == x.Key() })
}

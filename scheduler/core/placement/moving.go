package placement

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// Moving is a shard of a daemon that is to run on another agent (rule M3). It is live, or its attempt was ended for
// the move and the next one is not due yet. Offers for it are requested at At, in the time of the term, and those that
// can hold it are held.
type Moving struct {
	Ref executions.TaskRef
	At  time.Time
}

// SetMoving replaces the shards that are to run on other agents. It is called before ManageOffers.
func (pl *Placement) SetMoving(moving []Moving) {
	same := func(a, b Moving) bool { return a.Ref == b.Ref && a.At.Equal(b.At) }
	if !slices.EqualFunc(pl.moving, moving, same) {
		pl.moving = moving
		pl.st.NeedChanged()
	}
}

// FirstWithRoom returns the index of the first of some live shards for which another agent has room on the offers at
// hand; -1 if there is none. matched is false if there is no offer, and therefore nothing is known.
func (pl *Placement) FirstWithRoom(live []executions.TaskRef) (index int, matched bool) {
	agents := pl.AgentsOnOffer()
	if len(agents) == 0 {
		return -1, false
	}
	ds := make([]offers.Demand, len(live))
	excluded := pl.st.Excluded()
	for i, ref := range live {
		ds[i] = pl.demandOfMoving(ref, excluded)
	}
	index = len(live)
	for _, p := range offers.Match(ds, agents, pl.st.Opt.Strategy).Placements {
		index = min(index, p.Demand)
	}
	if index == len(live) {
		return -1, true
	}
	return index, true
}

// demandOfMoving returns the demand of a live shard, with the settings with which it would be launched again.
func (pl *Placement) demandOfMoving(ref executions.TaskRef, excluded map[string]reason.Reason) offers.Demand {
	e := ref.Exec
	return pl.DemandOf(e.ID(), &e.Settings().App, &e.Settings().Job, e.Prepare().ExecutorKey(),
		[]int{ref.Shard().Item()}, excluded)
}

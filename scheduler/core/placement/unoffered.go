package placement

import (
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
)

// Unoffered has the agents without offers: those that take tasks, and those that the cluster has closed. They are
// looked up when ReasonOf first needs them.
type Unoffered struct {
	pl       *Placement
	onOffer  []offers.Agent
	agents   []*agents.Agent
	closed   []*agents.Agent
	lookedUp bool
}

// NotOnOffer returns the agents that are not among those on offer. It is valid until the next step.
func (pl *Placement) NotOnOffer(onOffer []offers.Agent) Unoffered {
	return Unoffered{pl: pl, onOffer: onOffer}
}

// ReasonOf returns why a demand was not placed, and whether no agent that takes tasks can ever hold it (never). It
// looks at the agents without offers only if no agent with offers can ever hold the demand.
func (u *Unoffered) ReasonOf(result *offers.Unplaced, d offers.Demand) (why reason.Reason, never bool) {
	if result.Never {
		open, closed := u.holders(d.Shard.Plus(d.ExecutorSize), d.Avoid)
		switch {
		case open != nil:
			return reason.HolderNotOnOffer(open.ID()), false
		case closed != nil:
			return reason.HolderClosed(closed.ID(), closed.Closed()), true
		}
	}
	return result.Reason, result.Never
}

// holders returns an agent that takes tasks and could hold need if it were empty; or else one that could hold need but
// takes no tasks now.
func (u *Unoffered) holders(need resources.Amount, avoid map[string]reason.Reason) (open, closed *agents.Agent) {
	u.lookUp()
	for _, a := range u.agents {
		if need.Fits(a.Capacity()) {
			return a, nil
		}
	}
	for _, a := range u.closed {
		if need.Fits(a.Capacity()) && avoid[a.ID()].IsZero() {
			return nil, a
		}
	}
	return nil, nil
}

// lookUp finds the agents without offers, once. Agents with maintenance or silent executors are left out.
func (u *Unoffered) lookUp() {
	if u.lookedUp {
		return
	}
	u.lookedUp = true
	on := make(map[string]bool, len(u.onOffer))
	for _, o := range u.onOffer {
		on[o.ID] = true
	}
	for _, id := range u.pl.st.Agents.IDs() {
		switch a := u.pl.st.Agents.Get(id); {
		case on[id] || u.pl.st.Agents.IsExcluded(id):
		case a.Closed() != "":
			u.closed = append(u.closed, a)
		case a.Registered():
			u.agents = append(u.agents, a)
		}
	}
}

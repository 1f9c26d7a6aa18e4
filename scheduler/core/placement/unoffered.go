package placement

import (
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
)

// Unoffered has the agents without offers: those that take tasks, those that the cluster has closed, and those whose
// machine is cordoned. They are looked up when ReasonOf first needs them.
type Unoffered struct {
	pl       *Placement
	onOffer  []offers.Agent
	agents   []*agents.Agent
	closed   []*agents.Agent
	cordoned []*agents.Agent
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
		open, closed, cordoned := u.holders(d.Shard.Plus(d.ExecutorSize), d.Avoid)
		switch {
		case open != nil:
			return reason.HolderNotOnOffer(open.ID()), false
		case closed != nil:
			return reason.HolderClosed(closed.ID(), closed.Closed()), true
		case cordoned != nil:
			return reason.HolderAvoided(cordoned.ID(), u.pl.st.Machines.Why(cordoned.Host())), true
		}
	}
	return result.Reason, result.Never
}

// holders returns an agent that takes tasks and could hold need if it were empty; or else one that could hold need but
// takes no tasks now: the cluster has closed it, or its machine is cordoned.
func (u *Unoffered) holders(
	need resources.Amount, avoid map[string]reason.Reason,
) (open, closed, cordoned *agents.Agent) {
	u.lookUp()
	for _, a := range u.agents {
		if need.Fits(a.Capacity()) {
			return a, nil, nil
		}
	}
	for _, a := range u.closed {
		if need.Fits(a.Capacity()) && avoid[a.ID()].IsZero() {
			return nil, a, nil
		}
	}
	for _, a := range u.cordoned {
		if need.Fits(a.Capacity()) {
			return nil, nil, a
		}
	}
	return nil, nil, nil
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
		case u.pl.st.Machines.IsCordoned(a.Host()):
			u.cordoned = append(u.cordoned, a)
		case a.Closed() != "":
			u.closed = append(u.closed, a)
		case a.Registered():
			u.agents = append(u.agents, a)
		}
	}
}

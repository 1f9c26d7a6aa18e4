package placement

import (
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
)

// Unoffered has the agents without offers. The first question looks them up.
type Unoffered struct {
	pl      *Placement
	onOffer []offers.Agent
	agents  []*agents.Agent
	closed  []*agents.Agent
	found   bool
}

// NotOnOffer returns the agents that are not among those on offer. It is valid until the next step.
func (pl *Placement) NotOnOffer(onOffer []offers.Agent) Unoffered {
	return Unoffered{pl: pl, onOffer: onOffer}
}

// ReasonOf returns why a demand was not placed, and whether no agent that takes tasks can ever hold it. never is false
// if an agent without offers could hold it.
func (e *Unoffered) ReasonOf(u *offers.Unplaced, d offers.Demand) (why reason.Reason, never bool) {
	if u.Never {
		open, closed := e.holders(d.Shard.Plus(d.ExecutorSize), d.Avoid)
		switch {
		case open != nil:
			return reason.HolderNotOnOffer(open.ID()), false
		case closed != nil:
			return reason.HolderClosed(closed.ID(), closed.Closed()), true
		}
	}
	return u.Reason, u.Never
}

// holders returns an agent that takes tasks and could hold need if it were empty; or else one that could hold need but
// takes no tasks now.
func (e *Unoffered) holders(need resources.Amount, avoid map[string]reason.Reason) (open, closed *agents.Agent) {
	e.find()
	for _, a := range e.agents {
		if need.Fits(a.Capacity()) {
			return a, nil
		}
	}
	for _, a := range e.closed {
		if need.Fits(a.Capacity()) && avoid[a.ID()].IsZero() {
			return nil, a
		}
	}
	return nil, nil
}

func (e *Unoffered) find() {
	if e.found {
		return
	}
	e.found = true
	on := make(map[string]bool, len(e.onOffer))
	for _, o := range e.onOffer {
		on[o.ID] = true
	}
	for _, id := range e.pl.st.Agents.IDs() {
		switch a := e.pl.st.Agents.Get(id); {
		case on[id] || e.pl.st.Agents.IsExcluded(id):
		case a.Closed() != "":
			e.closed = append(e.closed, a)
		case a.Registered():
			e.agents = append(e.agents, a)
		}
	}
}

package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
)

// closed takes note that the cluster has no tasks placed on an agent, or has them placed there again. Nothing of such an agent is on offer, so that this
// places nothing: it is what explain says in the place of "no agent can ever".
func (c *Core) closed(e cluster.Closed) {
	if len(e.AgentID) > jobs.MaxAgentIDBytes {
		return
	}
	a := c.agents.see(e.AgentID)
	if e.Why != "" {
		a.host = e.Hostname
		c.agents.attribute(a, e.Attributes)
		c.agents.total(a, e.Total)
		a.removedAt = time.Time{}
	}
	if a.closed != e.Why {
		a.closed = e.Why
		c.placement.changed() // for the reasons of what waits
	}
	c.agents.lookAtClosed()
}

// lookAtClosed finds out why nothing is on offer where no agent takes tasks.
func (as *agents) lookAtClosed() {
	as.allClosed = reason.Reason{}
	first, closed := "", 0
	for id, a := range as.byID {
		switch {
		case a.closed == "" && a.registered:
			return
		case a.closed != "":
			if closed++; first == "" || id < first {
				first = id
			}
		}
	}
	if closed > 0 {
		as.allClosed = reason.AgentsClosed(first, as.byID[first].closed, closed-1)
	}
}

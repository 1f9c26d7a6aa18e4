package core

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// closed takes note that the cluster has no tasks placed on an agent, or has them placed there again. Nothing of such an agent is on offer, so that this
// places nothing: it is what explain says in the place of "no agent can ever".
func (c *Core) closed(e cluster.Closed) {
	if len(e.AgentID) > jobs.MaxAgentIDBytes {
		return
	}
	if c.agents.ClosedNow(e) {
		c.MatchAgain() // for the reasons of what waits
	}
}

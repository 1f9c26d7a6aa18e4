package cluster

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// How many agents a page has: if it is not said, and at most.
const (
	someAgents = 100
	mostAgents = 500
	// lastPage is more than a cluster will ever have.
	lastPage = 1_000_000
)

// What the page of agents takes.
var (
	ofAgent       = request.Text("search", "Agents whose id or host name has this text in it, in any case.")
	agentPage     = request.Number("page", "Which page of agents, counted from 1.", 1, 1, lastPage)
	agentsPerPage = request.Number("per_page", "How many agents a page has.", someAgents, 1, mostAgents)
)

// cluster is what the leader knows of the cluster. It is read twice, so that nothing is sorted while the loop waits:
// an agent that went away in between is missing from the page.
func (h *Handlers) cluster(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	f := views.ClusterFilter{Search: ofAgent.Of(q), Page: agentPage.Of(q), PerPage: agentsPerPage.Of(q)}
	if err := q.Err(); err != nil {
		return nil, err
	}
	names, err := caller.See(c.Request.Context(), h.Scheduler, explain.Reader.AgentNames)
	if err != nil {
		return nil, err
	}
	ids, total := f.Of(names)
	v, err := caller.SeeOf(c.Request.Context(), h.Scheduler, explain.Reader.Cluster, ids)
	v.AgentsTotal, v.FrameworkName = total, h.FrameworkName
	return v, err
}

// agent is one agent with what runs there.
func (h *Handlers) agent(ctx context.Context, id string) (any, error) {
	return caller.SeeOf(ctx, h.Scheduler, explain.Reader.Agent, id)
}

package cluster

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

const (
	// defaultAgents and maxAgents are the default and the maximum number of agents on a page.
	defaultAgents = 100
	maxAgents     = 500
	// lastPage exceeds the number of pages that any cluster can have.
	lastPage = 1_000_000
)

// These are the parameters of the page of agents.
var (
	agentSearch   = request.Text("search", "Agents whose id or host name contains this text, ignoring case.")
	agentPage     = request.Number("page", "Page number, from 1.", 1, 1, lastPage)
	agentsPerPage = request.Number("per_page", "Number of agents per page.", defaultAgents, 1, maxAgents)
)

// cluster answers with the leader's view of the cluster and one page of agents. It reads the scheduler's state twice
// and sorts the agents in between, so that the scheduler's loop does not wait for the sorting. An agent that leaves
// the cluster in between is missing from the page.
func (h *Handlers) cluster(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	f := views.ClusterFilter{Search: agentSearch.Of(q), Page: agentPage.Of(q), PerPage: agentsPerPage.Of(q)}
	if err := q.Err(); err != nil {
		return nil, err
	}
	names, err := caller.Read(c.Request.Context(), h.Scheduler, explain.Reader.AgentNames)
	if err != nil {
		return nil, err
	}
	ids, total := f.Of(names)
	v, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Cluster, ids)
	v.AgentsTotal, v.FrameworkName = total, h.FrameworkName
	return v, err
}

// agent answers with one agent and its running tasks.
func (h *Handlers) agent(ctx context.Context, id string) (any, error) {
	return caller.ReadWith(ctx, h.Scheduler, explain.Reader.Agent, id)
}

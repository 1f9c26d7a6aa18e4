package api

import (
	"context"

	"github.com/gin-gonic/gin"

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
	ofAgent       = textParameter("search", "Agents whose id or host name has this text in it, in any case.")
	agentPage     = numberParameter("page", "Which page of agents, counted from 1.", 1, 1, lastPage)
	agentsPerPage = numberParameter("per_page", "How many agents a page has.", someAgents, 1, mostAgents)
)

// cluster is what the leader knows of the cluster. It is read twice, so that nothing is sorted while the loop waits:
// an agent that went away in between is missing from the page.
func (s *Server) cluster(c *gin.Context) (any, error) {
	q := queryOf(c)
	f := views.ClusterFilter{Search: ofAgent.of(q), Page: agentPage.of(q), PerPage: agentsPerPage.of(q)}
	if err := q.err(); err != nil {
		return nil, err
	}
	names, err := see(c.Request.Context(), s, explain.Reader.AgentNames)
	if err != nil {
		return nil, err
	}
	ids, total := f.Of(names)
	v, err := seeOf(c.Request.Context(), s, explain.Reader.Cluster, ids)
	v.AgentsTotal, v.FrameworkName = total, s.opts.FrameworkName
	return v, err
}

// agent is one agent with what runs there.
func (s *Server) agent(ctx context.Context, id string) (any, error) {
	return seeOf(ctx, s, explain.Reader.Agent, id)
}

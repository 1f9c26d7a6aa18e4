package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// clusterReader is what the API needs of a Scheduler for what it shows of the cluster as a whole.
type clusterReader interface {
	// Cluster has one page of the cluster's agents.
	Cluster(ctx context.Context, f core.ClusterFilter) (core.ClusterView, error)
	Agent(ctx context.Context, id string) (core.AgentDetail, error)
	// Schedules are those by which jobs fire now, in no order.
	Schedules(ctx context.Context) ([]core.ScheduleView, error)
	// Activity is what this leader has done in each minute that began at a moment or later, as far as it remembers.
	Activity(ctx context.Context, from time.Time) ([]search.Activity, error)
}

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

// cluster is what the leader knows of the cluster.
func (s *Server) cluster(c *gin.Context) (any, error) {
	q := queryOf(c)
	f := core.ClusterFilter{Search: ofAgent.of(q), Page: agentPage.of(q), PerPage: agentsPerPage.of(q)}
	if err := q.err(); err != nil {
		return nil, err
	}
	return s.opts.Scheduler.Cluster(c.Request.Context(), f)
}

// agent is one agent with what runs there.
func (s *Server) agent(ctx context.Context, id string) (any, error) {
	return s.opts.Scheduler.Agent(ctx, id)
}

// Cluster and Agent tell of all apps: rules of their routes demand a grant for all.
func (s scoped) Cluster(ctx context.Context, f core.ClusterFilter) (core.ClusterView, error) {
	if err := forAll(ctx); err != nil {
		return core.ClusterView{}, err
	}
	return s.all.Cluster(ctx, f)
}

func (s scoped) Agent(ctx context.Context, id string) (core.AgentDetail, error) {
	if err := forAll(ctx); err != nil {
		return core.AgentDetail{}, err
	}
	return s.all.Agent(ctx, id)
}

package api_test

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// Cluster answers with what it was asked for, as the total.
func (b *fakeScheduler) Cluster(_ context.Context, f core.ClusterFilter) (core.ClusterView, error) {
	state := "REGISTERED"
	return core.ClusterView{Subscribed: true, FrameworkID: f.Search, AgentsTotal: 1000*f.Page + f.PerPage,
		Agents: []core.AgentView{{ID: "S0", Hostname: "h", State: &state, Since: &noon}}, Executors: []core.ExecutorView{}, StartFailures: []core.StartFailureView{}}, nil
}

func (b *fakeScheduler) Agent(_ context.Context, id string) (core.AgentDetail, error) {
	if id != "S0" {
		return core.AgentDetail{}, refuse(core.NotFound, "agent_not_found", "there is no agent %q", id)
	}
	return core.AgentDetail{AgentView: core.AgentView{ID: id}, Executors: []core.ExecutorView{}, StartFailures: []core.StartFailureView{}, Running: []core.AgentTaskView{}}, nil
}

func (b *fakeScheduler) Schedules(context.Context) ([]core.ScheduleView, error) { return nil, nil }

// Activity has one minute.
func (b *fakeScheduler) Activity(context.Context, time.Time) ([]search.Activity, error) {
	return []search.Activity{{Time: noon.Add(-time.Minute), Results: true, Sampled: true, Loaded: true, Finished: 7, Running: 3}}, nil
}

// Activity has what is told, whatever is asked for.
func (h *fakeHistory) Activity(_ context.Context, from, until time.Time) ([]search.Activity, error) {
	return h.activity, h.ask([]any{from, until})
}

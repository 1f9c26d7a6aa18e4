package api_test

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

func (b *fakeScheduler) AgentNames() []core.AgentName {
	return []core.AgentName{{ID: "S0", Hostname: "h"}, {ID: "S1", Hostname: "h"}}
}

// Cluster shows the agents that it was asked for.
func (b *fakeScheduler) Cluster(ids []string) core.ClusterView {
	v := core.ClusterView{Subscribed: true, FrameworkID: "f1", Agents: []core.AgentView{}, Executors: []core.ExecutorView{}, StartFailures: []core.StartFailureView{}}
	for _, id := range ids {
		v.Agents = append(v.Agents, core.AgentView{ID: id, Hostname: "h", State: new("REGISTERED"), Since: &noon})
	}
	return v
}

func (b *fakeScheduler) Agent(id string) (core.AgentDetail, error) {
	if id != "S0" {
		return core.AgentDetail{}, refuse(core.NotFound, "agent_not_found", "there is no agent %q", id)
	}
	return core.AgentDetail{AgentView: core.AgentView{ID: id}, Executors: []core.ExecutorView{}, StartFailures: []core.StartFailureView{}, Running: []core.AgentTaskView{}}, nil
}

func (b *fakeScheduler) Schedules() []core.ScheduleView {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted++
	return b.fires
}

// Activity has one minute.
func (b *fakeScheduler) Activity(time.Time) []search.Activity {
	return []search.Activity{{Time: noon.Add(-time.Minute), Results: true, Sampled: true, Loaded: true, Finished: 7, Running: 3}}
}

// Activity has what is told, whatever is asked for.
func (h *fakeHistory) Activity(_ context.Context, from, until time.Time) ([]search.Activity, error) {
	return h.activity, h.ask([]any{from, until})
}

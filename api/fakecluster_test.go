package api_test

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

func (b *fakeScheduler) AgentNames() []views.AgentName {
	return []views.AgentName{{ID: "S0", Hostname: "h"}, {ID: "S1", Hostname: "h"}}
}

// Cluster returns the requested agents.
func (b *fakeScheduler) Cluster(ids []string) views.ClusterView {
	v := views.ClusterView{Subscribed: true, FrameworkID: "f1", Agents: []views.AgentView{},
		Executors: []views.ExecutorView{}, Machines: []views.MachineView{}, StartFailures: []views.StartFailureView{}}
	for _, id := range ids {
		v.Agents = append(v.Agents, views.AgentView{ID: id, Hostname: "h", State: new("REGISTERED"), Since: &noon})
	}
	return v
}

func (b *fakeScheduler) Agent(id string) (views.AgentDetail, error) {
	if id != "S0" {
		return views.AgentDetail{}, refuse(problem.NotFound, "agent_not_found", "there is no agent %q", id)
	}
	return views.AgentDetail{AgentView: views.AgentView{ID: id}, Executors: []views.ExecutorView{},
		StartFailures: []views.StartFailureView{}, Running: []views.AgentTaskView{}}, nil
}

func (b *fakeScheduler) Schedules() []config.ScheduleView {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted++
	return b.fires
}

// Activity returns one minute.
func (b *fakeScheduler) Activity(time.Time) []search.Activity {
	return []search.Activity{{Time: noon.Add(-time.Minute), Results: true, Sampled: true, Loaded: true, Finished: 7,
		Running: 3}}
}

// Activity returns the given minutes for every request.
func (h *fakeHistory) Activity(_ context.Context, from, until time.Time) ([]search.Activity, error) {
	return h.activity, h.ask([]any{from, until})
}

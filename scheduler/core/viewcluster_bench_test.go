package core

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// BenchmarkCluster measures how long a request for the names of all agents, for a page of 100 agents, or for one agent
// delays the loop, with 5,000 agents on which 100,000 tasks run.
func BenchmarkCluster(b *testing.B) {
	s := newStage(b)
	const agents, perAgent = 5_000, 20
	for i := range agents {
		id := fmt.Sprintf("0f8e1a2b-4c5d-4e6f-8a9b-0c1d2e3f4a5b-S%d", i)
		host := fmt.Sprintf("node-%04d.rack-%02d.example.com", i*7919%agents, i%40)
		s.core.agents.RecordOffer(cluster.Offer{AgentID: id, Hostname: host})
		s.core.agents.RaiseCapacity(id, resources.New(64, 256_000))
		s.core.placement.Offer(cluster.Offer{ID: fmt.Sprintf("O%d", i), AgentID: id, Hostname: host,
			Resources: resources.New(8, 8000)})
		x := s.core.executors.Start("my_app", "my_app", id,
			cluster.Executor{ID: fmt.Sprintf("my_app@-@%s@-@%d", id, i), Resources: resources.New(0.1, 64)})
		s.core.executors.RecordUpdate(x, true)
		job := fmt.Sprintf("job_%d", i)
		launched(s.core, executions.NewExecution{ID: job + "@20261121T080000Z", Job: job}, perAgent,
			func(item int) executions.NewTask {
				s.core.executors.Allot(x, resources.New(1, 512), false)
				task := fmt.Sprintf("%s@-@%d@-@READY@-@%s@-@0f8e1a2b-0000-4000-8000-000000000001", job, item, id)
				return executions.NewTask{TaskID: task, Agent: id, Executor: x.ID()}
			})
	}
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			s.core.views.AgentNames()
		}
	})
	b.Run("page", func(b *testing.B) {
		ids, _ := views.ClusterFilter{Page: 3, PerPage: 100}.Of(s.core.views.AgentNames())
		for b.Loop() {
			if v := s.core.views.Cluster(ids); len(v.Agents) != 100 {
				b.Fatal(len(v.Agents))
			}
		}
	})
	b.Run("agent", func(b *testing.B) {
		for b.Loop() {
			if v, err := s.core.views.Agent("0f8e1a2b-4c5d-4e6f-8a9b-0c1d2e3f4a5b-S77"); err != nil ||
				len(v.Running) != perAgent {
				b.Fatal(err)
			}
		}
	})
}

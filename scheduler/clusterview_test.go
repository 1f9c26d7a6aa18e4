package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestTheClusterIsShown: readers of a leading scheduler get the names of the agents, the cluster, and one agent.
func TestTheClusterIsShown(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		runToEnd(t, s.Scheduler)
		names, err := see(t.Context(), s.Scheduler,
			func(r explain.Reader, _ struct{}) ([]views.AgentName, error) { return r.AgentNames() }, struct{}{})
		if err != nil || len(names) != 1 || names[0].ID != "S1" {
			t.Fatalf("%+v, %v", names, err)
		}
		v, err := see(t.Context(), s.Scheduler, explain.Reader.Cluster, []string{"S1"})
		if err != nil || !v.Subscribed || v.FrameworkID == "" || len(v.Agents) != 1 || v.CPUs.Total == nil {
			t.Errorf("%+v, %v", v, err)
		}
		if one, err := see(t.Context(), s.Scheduler, explain.Reader.Agent, "S1"); err != nil ||
			*one.State != "REGISTERED" || one.ID != "S1" {
			t.Errorf("%+v, %v", one, err)
		}
	})
}

// patient is a cluster whose Subscribe takes longer than a call may.
type patient struct{ *scriptedCluster }

func (patient) SubscribeWithin() time.Duration { return 2 * time.Minute }

func (p patient) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	select {
	case <-time.After(time.Minute):
		return p.scriptedCluster.Subscribe(ctx, f)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestSubscriptionsThatTakeLong(t *testing.T) {
	leading(t, func(s *stage) { s.opt.Driver = patient{s.cluster} }, func(t *testing.T, s *stage) {
		if n := s.cluster.sessions; n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// A page of agents is found and read while the scheduler leads; one agent is found by its id.
func TestTheClusterIsShown(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		runToEnd(t, s.Scheduler)
		v, err := s.Cluster(context.Background(), core.ClusterFilter{Page: 1, PerPage: 10})
		if err != nil || !v.Subscribed || v.FrameworkID == "" || v.AgentsTotal != 1 || len(v.Agents) != 1 || v.CPUs.Total == nil {
			t.Fatalf("%+v, %v", v, err)
		}
		if one, err := s.Agent(context.Background(), v.Agents[0].ID); err != nil || *one.State != "REGISTERED" || one.ID != "S1" {
			t.Errorf("%+v, %v", one, err)
		}
		if none, err := s.Cluster(context.Background(), core.ClusterFilter{Search: "elsewhere", Page: 1, PerPage: 10}); err != nil || none.AgentsTotal != 0 || *none.CPUs.Total != *v.CPUs.Total {
			t.Errorf("%+v, %v", none, err)
		}
	})
	if _, err := scheduler.New(scheduler.Options{Framework: cluster.Framework{Name: "f"}}).Cluster(context.Background(), core.ClusterFilter{Page: 1, PerPage: 1}); err == nil {
		t.Error("a server that does not lead knows a cluster")
	}
}

// patient is a cluster to which one subscribes for longer than a call may take.
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

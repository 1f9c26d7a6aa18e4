package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestMaintenanceKeepsNewTasksAway checks that no task is placed on an agent whose maintenance has begun or begins
// soon. The offer is declined, and explain names the maintenance. Maintenance that is hours away does not matter.
func TestMaintenanceKeepsNewTasksAway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 1 })
	s.trigger()
	offer := func(agent string, begins time.Duration) {
		s.offerCount++
		s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{
			ID: fmt.Sprintf("O%d", s.offerCount), AgentID: agent, Hostname: agent, AgentURL: "http://" + agent,
			Resources: resources.New(8, 8000), Unavailable: s.now.Add(begins)}}}))
	}
	offer("S1", 30*time.Minute)
	x, err := s.core.views.Explain("my_job")
	if err != nil || len(s.accepts) > 0 || len(x.Waiting) != 1 ||
		!strings.Contains(x.Waiting[0].Reason, "its maintenance begins at 2026-11-21T08:30:00Z") {
		t.Fatalf("the task is placed, or explain names another reason: %+v, %v", x.Waiting, err)
	}
	if d := calls[step.CallDecline](s.last); len(d) != 1 {
		t.Errorf("the unusable offer is not declined: %+v", s.last.Calls)
	}
	offer("S1", -time.Minute)
	if x, _ = s.core.views.Explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "in maintenance since") {
		t.Errorf("for maintenance that has begun explain says: %s", x.Waiting[0].Reason)
	}
	offer("S2", 2*time.Hour)
	if len(s.accepts) != 1 || s.accepts[0].Launch.AgentID != "S2" {
		t.Error("no task is placed because of maintenance that is hours away")
	}
}

// TestAnAgentWhoseMaintenanceHasEndedIsUsedAgain checks for different maintenance windows whether an agent is used.
// Offers may name a window long after it has ended.
func TestAnAgentWhoseMaintenanceHasEndedIsUsedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begins, ends time.Duration // from now; ends is 0 if the end is not known
		used         bool
	}{
		"has ended":      {-2 * time.Hour, -time.Hour, true},
		"goes on":        {-2 * time.Hour, time.Hour, false},
		"without an end": {-2 * time.Hour, 0, false},
		"begins soon":    {time.Minute, time.Hour, false},
		"begins later":   {2 * time.Hour, 3 * time.Hour, true},
	} {
		s := newStage(t)
		s.app()
		s.job(oneShard)
		s.trigger()
		o := cluster.Offer{ID: "O1", AgentID: "S1", Hostname: "h",
			Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_000_000}, Unavailable: s.now.Add(test.begins)}
		if test.ends != 0 {
			o.AvailableAgain = s.now.Add(test.ends)
		}
		d := s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{o}}))
		if used := len(calls[step.CallLaunch](d)) > 0; used != test.used {
			t.Errorf("%s: the agent is used: %v, want %v", name, used, test.used)
		}
	}
}

// TestOffersOfAgentsInMaintenanceAreNotRequestedAgain checks that offers of agents in maintenance are declined
// although a shard waits, and that no REVIVE brings them back at once.
func TestOffersOfAgentsInMaintenanceAreNotRequestedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.runFor(time.Second)
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{ID: "O", AgentID: "S1",
		Resources: resources.Amount{CPUMilli: 4000, MemMilli: 4_000_000}, Unavailable: s.now.Add(time.Minute)}}}))
	if len(calls[step.CallDecline](s.last)) != 1 {
		t.Fatalf("the offer is not declined: %+v", s.last.Calls)
	}
	for range 20 {
		s.runFor(100 * time.Millisecond)
		if len(calls[step.CallRevive](s.last)) > 0 {
			t.Fatal("a REVIVE brings the declined offer back")
		}
	}
}

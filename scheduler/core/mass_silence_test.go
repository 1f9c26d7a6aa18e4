package core

import (
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestE4MassSilenceIsTheLeadersFault checks that while most agents are silent, only attempts on agents that the cluster
// reports as unreachable are given up. The fault is probably on the side of the leader.
func TestE4MassSilenceIsTheLeadersFault(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 7, func(j *jobs.Config) { j.Failover = true })
	silent := []string{"S1", "S2", "S3", "S4", "S5"}
	b.beatFor(5*time.Minute, silent...)
	if agents := b.givenUp(); len(agents) > 0 {
		t.Fatalf("given up on %v", agents)
	}
	b.update(b.launches[1], cluster.Unreachable, fromMaster(""), func(u *cluster.Update) {
		u.AgentID, u.UnreachableSince = "S2", b.now.Add(-time.Minute)
	})
	b.beatFor(10*time.Second, silent...)
	if agents := b.givenUp(); !slices.Equal(agents, []string{"S2"}) {
		t.Fatalf("given up on %v, want only the agent that is unreachable for the cluster", agents)
	}
	// S4 and S5 are heard again. S1 and S3 are no majority of the six agents that the cluster has not lost.
	b.beatFor(30*time.Second, "S1", "S2", "S3")
	if agents := b.givenUp(); !slices.Equal(agents, []string{"S1", "S2", "S3"}) {
		t.Errorf("given up on %v", agents)
	}
}

// TestE4AMasterThatDoesNotKnowTheTasksOfSilentAgents checks that while all agents are silent, attempts that a new
// master does not know are given up, but not before agents have had ten minutes to register with it.
func TestE4AMasterThatDoesNotKnowTheTasksOfSilentAgents(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 3, func(j *jobs.Config) { j.Failover = true })
	b.beatFor(time.Minute, b.agents...)
	b.resubscribe()
	notKnown := func() {
		for i, id := range b.agents {
			b.update(b.launches[i], cluster.Unknown, fromMaster(cluster.ReasonReconciliation),
				func(u *cluster.Update) { u.AgentID = id })
		}
	}
	notKnown()
	b.beatFor(9*time.Minute, b.agents...)
	notKnown()
	b.beatFor(time.Minute, b.agents...)
	if agents := b.givenUp(); len(agents) > 0 {
		t.Fatalf("given up on %v", agents)
	}
	b.beatFor(10*time.Second, b.agents...)
	notKnown()
	b.beatFor(10*time.Second, b.agents...)
	if agents := b.givenUp(); !slices.Equal(agents, b.agents) {
		t.Errorf("given up on %v, want all", agents)
	}
}

// TestE4AgentsThatTheClusterHasLostDoNotCount checks that agents that the cluster has lost do not count when most
// agents are silent, because their silence is no fault of the leader.
func TestE4AgentsThatTheClusterHasLostDoNotCount(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 5, func(j *jobs.Config) { j.Failover = true })
	for i, id := range []string{"S1", "S2", "S3"} {
		b.update(b.launches[i], cluster.Unreachable, fromMaster(""), func(u *cluster.Update) {
			u.AgentID, u.UnreachableSince = id, b.now
		})
	}
	b.beatFor(2*time.Minute, "S1", "S2", "S3")
	b.beatFor(70*time.Second, "S1", "S2", "S3", "S4")
	if agents := b.givenUp(); !slices.Equal(agents, []string{"S1", "S2", "S3", "S4"}) {
		t.Errorf("given up on %v", agents)
	}
}

// TestE4FewAreGivenUpAtOnce checks that the attempts on at most two silent agents are given up at once, and then those
// on one more agent every ten seconds.
func TestE4FewAreGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 9, func(j *jobs.Config) { j.Failover = true })
	silent := []string{"S1", "S2", "S3", "S4"}
	var counts []int
	b.beatFor(58*time.Second, silent...)
	for range 6 {
		b.beatFor(5*time.Second, silent...)
		counts = append(counts, len(b.givenUp()))
	}
	if !slices.Equal(counts, []int{2, 2, 3, 3, 4, 4}) && !slices.Equal(counts, []int{2, 3, 3, 4, 4, 4}) {
		t.Errorf("the numbers of agents given up, every 5 s, are %v", counts)
	}
}

// TestE4AnAgentThatIsBackIsNotUnreachable checks that an attempt whose agent has registered again counts as unreachable
// only because of its silent executor. So it is not given up while most agents are silent.
func TestE4AnAgentThatIsBackIsNotUnreachable(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 3, func(j *jobs.Config) { j.Failover = true })
	b.beatFor(30*time.Second, b.agents...)
	b.update(b.launches[0], cluster.Unreachable, fromMaster(""), func(u *cluster.Update) {
		u.AgentID, u.UnreachableSince = "S1", b.now
	})
	b.offer("S1", 1, 1000)
	b.beatFor(5*time.Minute, b.agents...)
	if agents := b.givenUp(); len(agents) > 0 {
		t.Errorf("given up on %v", agents)
	}
}

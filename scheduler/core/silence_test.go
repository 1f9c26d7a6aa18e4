package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// beating is a job with one shard on each of some agents, S1 and so on, whose executors send heartbeats.
type beating struct {
	*stage
	launches []cluster.TaskLaunch // by agent
	agents   []string
}

// startBeating starts such a job. Each shard takes a whole agent.
func startBeating(t *testing.T, agents int, change func(*jobs.Config)) *beating {
	t.Helper()
	b := &beating{stage: newStage(t)}
	b.app()
	b.job(func(j *jobs.Config) {
		j.ShardingTotalCount, j.CPUCount = agents, 2
		change(j)
	})
	b.trigger()
	var offers []cluster.Offer
	for i := range agents {
		id := fmt.Sprint("S", i+1)
		b.agents = append(b.agents, id)
		offers = append(offers, cluster.Offer{ID: "O" + id, AgentID: id, Hostname: id,
			Resources: resources.New(3, 8192)})
	}
	b.step(b.clusterEvent(cluster.Offers{Offers: offers}))
	b.launches = b.answerAccepts()
	if len(b.launches) != agents {
		t.Fatalf("%d launches", len(b.launches))
	}
	slices.SortFunc(b.launches, func(x, y cluster.TaskLaunch) int {
		return slices.Index(b.agents, agentOf(x)) - slices.Index(b.agents, agentOf(y))
	})
	for i, l := range b.launches {
		b.update(l, cluster.Running, func(u *cluster.Update) { u.AgentID = b.agents[i] })
	}
	b.beatFor(time.Second)
	return b
}

func agentOf(l cluster.TaskLaunch) string {
	id, _ := jobs.ParseTaskID(l.TaskID)
	return id.Agent
}

// beatFor lets a time pass in which the executors send heartbeats, except those of some agents.
func (b *beating) beatFor(d time.Duration, except ...string) {
	b.t.Helper()
	for end := b.now.Add(d); b.now.Before(end); {
		for i, id := range b.agents {
			if !slices.Contains(except, id) {
				b.beat(b.launches[i], id)
			}
		}
		b.runFor(min(wire.HeartbeatInterval, end.Sub(b.now)))
	}
}

func (b *beating) beat(l cluster.TaskLaunch, agent string) Decision {
	b.t.Helper()
	return b.step(b.clusterEvent(cluster.Message{AgentID: agent, ExecutorID: l.Executor.ID, Heartbeat: true}))
}

// lost returns the agents whose shards were given up, and the time since a moment at which that happened.
func (b *beating) lost() (agents []string) {
	for i, l := range b.launches {
		if isOrphan(b.core, l.TaskID) {
			agents = append(agents, b.agents[i])
		}
	}
	return agents
}

// TestE4SilenceIsNoticedSoonerThanByTheCluster: an attempt is given up when its executor has been silent for the time
// of its job, exactly, although the cluster knows of nothing. With failover the shard then runs elsewhere.
func TestE4SilenceIsNoticedSoonerThanByTheCluster(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{0, 15, 22, 300} {
		b := startBeating(t, 1, func(j *jobs.Config) { j.Failover, j.UnreachableSeconds = true, seconds })
		b.beatFor(10 * time.Minute)
		if len(b.lost()) > 0 {
			t.Fatal("given up while its executor was heard")
		}
		b.beat(b.launches[0], "S1")
		given := time.Duration(max(seconds, 0)) * time.Second
		if seconds == 0 {
			given = time.Minute
		}
		b.runFor(given - time.Millisecond)
		if len(b.lost()) > 0 {
			t.Fatalf("%d: given up too early", seconds)
		}
		// The silence itself is noticed by a sweep.
		b.runFor(time.Millisecond + max(0, 15*time.Second+step.SweepInterval-given))
		if len(b.lost()) != 1 {
			t.Fatalf("%d: not given up", seconds)
		}
		b.runFor(time.Second)
		b.offer("S1", 3, 8192)
		if len(b.accepts) > 0 {
			t.Fatal("launched on the silent agent")
		}
		b.offer("S2", 3, 8192)
		if got := b.answerAccepts(); len(got) != 1 {
			t.Fatalf("%d launches elsewhere", len(got))
		}
	}
}

// TestE4WithoutFailoverTheJobGoesOn: the shard is lost, and the next execution runs.
func TestE4WithoutFailoverTheJobGoesOn(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(*jobs.Config) {})
	b.runFor(61 * time.Second)
	for e := range b.core.executions.AllEnded() {
		if s := e.Shard(0); s.State() != executions.Lost ||
			s.Cause().String() != "agent S1 was silent for 1m0s, so the shard was given up; it may still run there" {
			t.Fatalf("%s: %s", s.State(), s.Cause())
		}
	}
	b.trigger()
	b.offer("S2", 3, 8192)
	if got := b.answerAccepts(); len(got) != 1 {
		t.Fatalf("%d launches of the next execution", len(got))
	}
}

// TestE4SilenceIsEnoughForANewMaster: an agent dies together with the master, and the next one says nothing of it.
func TestE4SilenceIsEnoughForANewMaster(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *beating){
		"a new session": func(b *beating) { b.unsubscribe(); b.runFor(10 * time.Second); b.resubscribe() },
		"a new leader":  func(b *beating) { b.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
			b.runFor(time.Second)
			change(b)
			b.runFor(58 * time.Second)
			if name == "a new leader" && len(b.lost()) > 0 {
				t.Fatal("given up too early")
			}
			b.runFor(2*time.Second + 2*step.SweepInterval)
			if len(b.lost()) != 1 {
				t.Fatal("not given up")
			}
			b.offer("S2", 3, 8192)
			if got := b.answerAccepts(); len(got) != 1 {
				t.Fatalf("%d launches elsewhere", len(got))
			}
			b.beat(b.launches[0], "S1")
			back := b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
			if len(calls[step.CallKill](back)) != 1 {
				t.Error("the replaced attempt is not killed")
			}
		})
	}
}

// TestE4WhatIsNotSilence: executors that never sent a heartbeat, a leader that stood still, a new leader, and no
// session.
func TestE4WhatIsNotSilence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pass func(*beating)
		then time.Duration // until it is given up
	}{
		"the leader stands still": {func(b *beating) { b.stepAfter(10 * time.Minute) }, time.Minute},
		"a new leader":            {func(b *beating) { b.runFor(50 * time.Second); b.restart() }, time.Minute},
		"no session": {func(b *beating) {
			b.unsubscribe()
			b.runFor(10 * time.Minute)
			b.resubscribe()
			b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
		}, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
			test.pass(b)
			b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
			b.runFor(test.then - 2*time.Second)
			if len(b.lost()) > 0 {
				t.Fatal("given up too early")
			}
			b.runFor(2*time.Second + 2*step.SweepInterval)
			if len(b.lost()) != 1 {
				t.Error("not given up")
			}
		})
	}
	t.Run("an executor of an earlier release", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		l := s.runJobOn("S1", func(j *jobs.Config) { j.Failover = true })
		s.runFor(10 * time.Minute)
		if isOrphan(s.core, l.TaskID) {
			t.Error("given up, although it never sends heartbeats")
		}
	})
}

// TestE4MassSilenceIsTheLeadersFault: while most agents are silent, only those are given up that the cluster calls
// unreachable.
func TestE4MassSilenceIsTheLeadersFault(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 7, func(j *jobs.Config) { j.Failover = true })
	silent := []string{"S1", "S2", "S3", "S4", "S5"}
	b.beatFor(5*time.Minute, silent...)
	if lost := b.lost(); len(lost) > 0 {
		t.Fatalf("given up: %v", lost)
	}
	b.update(b.launches[1], cluster.Unreachable, fromMaster(""), func(u *cluster.Update) {
		u.AgentID, u.UnreachableSince = "S2", b.now.Add(-time.Minute)
	})
	b.beatFor(10*time.Second, silent...)
	if lost := b.lost(); !slices.Equal(lost, []string{"S2"}) {
		t.Fatalf("given up: %v, want the one that the cluster calls unreachable", lost)
	}
	// Two are heard again: the other two, of six that the cluster has not lost, are no majority.
	b.beatFor(30*time.Second, "S1", "S2", "S3")
	if lost := b.lost(); !slices.Equal(lost, []string{"S1", "S2", "S3"}) {
		t.Errorf("given up: %v", lost)
	}
}

// TestE4AgentsThatTheClusterHasLostDoNotCount: they have nothing to do with a silence on this side.
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
	if lost := b.lost(); !slices.Equal(lost, []string{"S1", "S2", "S3", "S4"}) {
		t.Errorf("given up: %v", lost)
	}
}

// TestE4FewAreGivenUpAtOnce: two machines at once, then one every ten seconds.
func TestE4FewAreGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 9, func(j *jobs.Config) { j.Failover = true })
	silent := []string{"S1", "S2", "S3", "S4"}
	var counts []int
	b.beatFor(58*time.Second, silent...)
	for range 6 {
		b.beatFor(5*time.Second, silent...)
		counts = append(counts, len(b.lost()))
	}
	if !slices.Equal(counts, []int{2, 2, 3, 3, 4, 4}) && !slices.Equal(counts, []int{2, 3, 3, 4, 4, 4}) {
		t.Errorf("given up: %v", counts)
	}
}

// TestE5WhatTheMasterRemembersIsNoSignOfLife: the master still calls a task RUNNING whose machine is dead.
func TestE5WhatTheMasterRemembersIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	l, remembered := b.launches[0], fromMaster(cluster.ReasonReconciliation)
	b.runFor(30 * time.Second)
	b.update(l, cluster.Running, remembered)
	b.runFor(31 * time.Second)
	if len(b.lost()) != 1 {
		t.Fatal("not given up")
	}
	b.update(l, cluster.Running, remembered)
	if b.core.orphans.IsBlocked("my_job", 0) {
		t.Fatal("it blocks its shard because the master remembers it")
	}
	// The next leader listens itself before it believes the same.
	b.restart()
	b.update(l, cluster.Running, remembered)
	if !b.core.orphans.IsBlocked("my_job", 0) {
		t.Fatal("a new leader starts the shard before it has listened")
	}
	b.runFor(20 * time.Second)
	if b.core.orphans.IsBlocked("my_job", 0) {
		t.Error("it still blocks its shard")
	}
	// It is heard: the master is asked, and now its answer counts.
	b.beat(l, "S1")
	if !b.core.orphans.IsBlocked("my_job", 0) {
		t.Error("it is heard, and does not block its shard")
	}
	b.runFor(time.Second)
	if d := b.update(l, cluster.Running, remembered); len(calls[step.CallKill](d)) > 0 || isOrphan(b.core, l.TaskID) {
		t.Error("it is seen alive, and is not taken back")
	}
}

// TestE4AnAgentIsBackWithoutTheExecutor: the master calls an agent unreachable, then remembers the task again, but its
// executor stays silent. The attempt is given up for its silence, and blocks its shard when the executor is heard.
func TestE4AnAgentIsBackWithoutTheExecutor(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	l := b.launches[0]
	b.runFor(20 * time.Second)
	b.reportUnreachable(l)
	b.runFor(10 * time.Second)
	b.update(l, cluster.Running, fromMaster(cluster.ReasonReconciliation))
	b.runFor(40 * time.Second)
	if o, found := b.core.orphans.Get(l.TaskID); !found || !o.Silent {
		t.Fatalf("%+v, %v", o, found)
	}
	b.step(b.clusterEvent(cluster.Message{AgentID: "S1", ExecutorID: l.Executor.ID, Heartbeat: true}))
	if !b.core.orphans.IsBlocked("my_job", 0) {
		t.Error("its executor is heard, and its shard is not blocked")
	}
}

// TestE4AnUpdateOfOneTaskShowsThatItsExecutorLives: the other tasks of the executor are not given up, although its
// heartbeats are lost.
func TestE4AnUpdateOfOneTaskShowsThatItsExecutorLives(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.Failover = 2, true })
	id, l := s.launch()
	s.reportRunning(l)
	s.step(s.clusterEvent(cluster.Message{AgentID: "S1", ExecutorID: l[0].Executor.ID, Heartbeat: true}))
	s.runFor(50 * time.Second)
	s.update(l[0], cluster.Finished)
	s.runFor(45 * time.Second)
	if e := s.execution(id); e.Shards[1].State != executions.Running || isOrphan(s.core, l[1].TaskID) {
		t.Fatalf("45 s after its executor was heard: %+v", e.Shards[1])
	}
	s.runFor(20 * time.Second)
	if !isOrphan(s.core, l[1].TaskID) {
		t.Error("not given up 65 s after its executor was heard")
	}
}

// TestE4AnExecutorIsHeardAgain: nothing has happened.
func TestE4AnExecutorIsHeardAgain(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	b.runFor(57 * time.Second)
	says := func() bool {
		return strings.Contains(fmt.Sprintf("%+v", b.explain("my_job")), "has not answered since")
	}
	if !says() {
		t.Errorf("explain: %+v", b.explain("my_job"))
	}
	b.beatFor(5 * time.Minute)
	if len(b.lost()) > 0 || says() {
		t.Errorf("given up: %v, explain: %+v", b.lost(), b.explain("my_job"))
	}
}

// TestE4AnExecutorIsHeardAgainByTheNextLeader: the previous leader has stored that it was silent.
func TestE4AnExecutorIsHeardAgainByTheNextLeader(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	b.runFor(30 * time.Second)
	b.update(b.launches[0], cluster.Unreachable, func(u *cluster.Update) {
		u.Source, u.Reason = cluster.FromMaster, "AGENT_REMOVED"
	})
	b.restart()
	b.update(b.launches[0], cluster.Running, func(u *cluster.Update) {
		u.Source, u.Reason = cluster.FromMaster, "RECONCILIATION"
	})
	b.beatFor(5 * time.Minute)
	if len(b.lost()) > 0 {
		t.Errorf("given up: %v", b.lost())
	}
}

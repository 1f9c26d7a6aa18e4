package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// beating is a stage with a job that runs one shard on each of several agents, S1 and so on. Their executors send
// heartbeats.
type beating struct {
	*stage
	launches []cluster.TaskLaunch // in the order of agents
	agents   []string             // the ids
}

// startBeating runs a job on a number of agents, each of which has room for one shard only.
func startBeating(t *testing.T, agents int, change func(*jobs.Config)) *beating {
	t.Helper()
	b := &beating{stage: newStage(t)}
	b.app()
	b.job(func(j *jobs.Config) {
		j.ShardingTotalCount, j.CPUCount = agents, 2
		change(j)
	})
	b.trigger()
	b.agents = b.offerAgents(agents, 3, 8192)
	b.launches = b.answerAccepts()
	if len(b.launches) != agents {
		t.Fatalf("%d launches, want %d", len(b.launches), agents)
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

// agentOf returns the agent on which a task was launched.
func agentOf(l cluster.TaskLaunch) string {
	id, _ := jobs.ParseTaskID(l.TaskID)
	return id.Agent
}

// beatFor lets a duration pass in which the executors send heartbeats, except those of some agents.
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

// beat makes the executor of a task send a heartbeat.
func (b *beating) beat(l cluster.TaskLaunch, agent string) Decision {
	b.t.Helper()
	return b.step(b.clusterEvent(cluster.Message{AgentID: agent, ExecutorID: l.Executor.ID, Heartbeat: true}))
}

// givenUp returns the agents whose attempts were given up.
func (b *beating) givenUp() (agents []string) {
	for i, l := range b.launches {
		if isOrphan(b.core, l.TaskID) {
			agents = append(agents, b.agents[i])
		}
	}
	return agents
}

// TestE4SilenceIsNoticedSoonerThanByTheCluster checks that an attempt is given up when its executor has been silent for
// the unreachable time of the job, although the cluster has not noticed anything. With failover the shard must then run
// on another agent.
func TestE4SilenceIsNoticedSoonerThanByTheCluster(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{0, 15, 22, 300} {
		b := startBeating(t, 1, func(j *jobs.Config) { j.Failover, j.UnreachableSeconds = true, seconds })
		b.beatFor(10 * time.Minute)
		if len(b.givenUp()) > 0 {
			t.Fatal("given up while its executor was heard")
		}
		b.beat(b.launches[0], "S1")
		timeout := time.Duration(seconds) * time.Second
		if seconds == 0 {
			timeout = time.Minute // the default
		}
		b.runFor(timeout - time.Millisecond)
		if len(b.givenUp()) > 0 {
			t.Fatalf("unreachableSeconds %d: given up too early", seconds)
		}
		// The silence itself is noticed by a sweep.
		b.runFor(time.Millisecond + max(0, 15*time.Second+step.SweepInterval-timeout))
		if len(b.givenUp()) != 1 {
			t.Fatalf("unreachableSeconds %d: not given up", seconds)
		}
		b.runFor(time.Second)
		b.offer("S1", 3, 8192)
		if len(b.accepts) > 0 {
			t.Fatal("launched on the silent agent")
		}
		b.offer("S2", 3, 8192)
		if got := b.answerAccepts(); len(got) != 1 {
			t.Fatalf("%d launches on another agent, want 1", len(got))
		}
	}
}

// TestE4WithoutFailoverTheJobGoesOn checks that without failover the silent shard is lost, and the next execution runs.
func TestE4WithoutFailoverTheJobGoesOn(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(*jobs.Config) {})
	b.runFor(61 * time.Second)
	for e := range b.core.executions.AllEnded() {
		if s := e.Shard(0); s.State() != executions.Lost ||
			s.Cause().String() != "agent S1 was silent for 1m0s, so the shard was given up; it may still run there" {
			t.Fatalf("the shard is %s: %s", s.State(), s.Cause())
		}
	}
	b.trigger()
	b.offer("S2", 3, 8192)
	if got := b.answerAccepts(); len(got) != 1 {
		t.Fatalf("%d launches of the next execution, want 1", len(got))
	}
}

// TestE4SilenceIsEnoughForANewMaster checks an agent that dies just before a new session or term begins, in which the
// master reports nothing about it. Its attempt must be given up for its silence.
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
			if name == "a new leader" && len(b.givenUp()) > 0 {
				t.Fatal("given up too early")
			}
			b.runFor(2*time.Second + 2*step.SweepInterval)
			if len(b.givenUp()) != 1 {
				t.Fatal("not given up")
			}
			b.offer("S2", 3, 8192)
			if got := b.answerAccepts(); len(got) != 1 {
				t.Fatalf("%d launches on another agent, want 1", len(got))
			}
			b.beat(b.launches[0], "S1")
			back := b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
			if len(calls[step.CallKill](back)) != 1 {
				t.Error("the replaced attempt is not killed")
			}
		})
	}
}

// TestE4WhatIsNotSilence checks that an attempt is given up only after a further time if the core could not hear its
// executor: because the leader stood still, a new leader began, or there was no session. Executors that never sent a
// heartbeat do not count as silent.
func TestE4WhatIsNotSilence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happen func(*beating)
		then   time.Duration // how long after that the attempt is given up
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
			test.happen(b)
			b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
			b.runFor(test.then - 2*time.Second)
			if len(b.givenUp()) > 0 {
				t.Fatal("given up too early")
			}
			b.runFor(2*time.Second + 2*step.SweepInterval)
			if len(b.givenUp()) != 1 {
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
			t.Error("given up, although its executor never sends heartbeats")
		}
	})
}

// TestE5AStateThatTheMasterRemembersIsNoSignOfLife checks that a given-up attempt does not block its shard although
// the master still reports the task as RUNNING, which the master may only remember. Only a heartbeat shows that the
// executor is alive.
func TestE5AStateThatTheMasterRemembersIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	l, remembered := b.launches[0], fromMaster(cluster.ReasonReconciliation)
	b.runFor(30 * time.Second)
	b.update(l, cluster.Running, remembered)
	b.runFor(31 * time.Second)
	if len(b.givenUp()) != 1 {
		t.Fatal("not given up")
	}
	b.update(l, cluster.Running, remembered)
	if b.core.orphans.IsBlocked("my_job", 0) {
		t.Fatal("the orphan blocks its shard because the master remembers the task")
	}
	// The next leader first listens for heartbeats itself.
	b.restart()
	b.update(l, cluster.Running, remembered)
	if !b.core.orphans.IsBlocked("my_job", 0) {
		t.Fatal("a new leader does not block the shard until it has listened for heartbeats")
	}
	b.runFor(20 * time.Second)
	if b.core.orphans.IsBlocked("my_job", 0) {
		t.Error("the orphan still blocks its shard after the new leader has listened")
	}
	// After a heartbeat the master is asked, and now its answer counts.
	b.beat(l, "S1")
	if !b.core.orphans.IsBlocked("my_job", 0) {
		t.Error("the orphan does not block its shard after a heartbeat")
	}
	b.runFor(time.Second)
	if d := b.update(l, cluster.Running, remembered); len(calls[step.CallKill](d)) > 0 || isOrphan(b.core, l.TaskID) {
		t.Error("the attempt is not taken back although it was seen alive")
	}
}

// TestE4AnAgentIsBackWithoutTheExecutor checks an agent that is unreachable and comes back, while the executor of its
// task stays silent. The attempt must be given up for its silence, and must block its shard once the executor is heard.
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
		t.Fatalf("the attempt is not given up for its silence: %+v, %v", o, found)
	}
	b.step(b.clusterEvent(cluster.Message{AgentID: "S1", ExecutorID: l.Executor.ID, Heartbeat: true}))
	if !b.core.orphans.IsBlocked("my_job", 0) {
		t.Error("the orphan does not block its shard although its executor was heard")
	}
}

// TestE4AnUpdateOfOneTaskShowsThatItsExecutorLives checks that an update of one task counts as a sign of life for all
// tasks of its executor, if the heartbeats are lost.
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
		t.Fatalf("45 s after its executor was heard, the other task is given up: %+v", e.Shards[1])
	}
	s.runFor(20 * time.Second)
	if !isOrphan(s.core, l[1].TaskID) {
		t.Error("65 s after its executor was heard, the other task is not given up")
	}
}

// TestE4AnExecutorIsHeardAgain checks that explain shows how long an executor has been silent, and that nothing is left
// of this once it sends heartbeats again.
func TestE4AnExecutorIsHeardAgain(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	b.runFor(57 * time.Second)
	isExplained := func() bool {
		return strings.Contains(fmt.Sprintf("%+v", b.explain("my_job")), "has not answered since")
	}
	if !isExplained() {
		t.Errorf("explain: %+v", b.explain("my_job"))
	}
	b.beatFor(5 * time.Minute)
	if len(b.givenUp()) > 0 || isExplained() {
		t.Errorf("given up on %v, explain: %+v", b.givenUp(), b.explain("my_job"))
	}
}

// TestE4AnExecutorIsHeardAgainByTheNextLeader checks that an attempt is not given up if its agent was unreachable for
// the previous leader, who stored that, and the next leader hears its executor.
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
	if len(b.givenUp()) > 0 {
		t.Errorf("given up on %v", b.givenUp())
	}
}

// TestASilenceNamesTheExecutionsThatWaitForOffers checks that the step that finds the only agent silent names the
// executions that wait for offers as changed. Their reason changes, because the offers of the agent are declined.
func TestASilenceNamesTheExecutionsThatWaitForOffers(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(*jobs.Config) {})
	b.job(func(j *jobs.Config) { j.JobName = "other_job" })
	id := b.triggerJob("other_job").Replies[0].ExecutionID
	limit := b.now.Add(time.Minute)
	for before := b.execution(id).ReasonCode; ; {
		d := b.stepAfter(time.Second)
		after := b.execution(id).ReasonCode
		if after != before && !slices.Contains(d.Changed.Executions, id) {
			t.Fatalf("the reason changed from %s to %s, but %v is named", before, after, d.Changed)
		}
		if before = after; before == "agent_avoided" {
			return
		}
		if b.now.After(limit) {
			t.Fatalf("the reason is still %s", before)
		}
	}
}

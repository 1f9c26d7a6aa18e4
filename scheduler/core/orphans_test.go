package core

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestE5AnOrphanSeenAliveBlocksEvenWithFailover checks that an orphan that is seen alive is killed, and that no further
// attempt of its shard is launched until it has ended.
func TestE5AnOrphanSeenAliveBlocksEvenWithFailover(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withFailover)
	s.reportUnreachable(l[0])
	for s.core.orphans.Len() == 0 {
		s.stepAfter(30 * time.Second)
	}
	replaceAndLose(s)
	d := s.update(l[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
	if len(calls[step.CallKill](d)) != 1 {
		t.Fatal("an orphan that is seen alive is not killed")
	}
	s.stepAfter(10 * time.Second)
	s.offer("S3", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatal("a third attempt is launched while the first runs on an agent that is back")
	}
	s.update(l[0], cluster.Killed)
	s.offer("S3", 8, 8192)
	if got := s.answerAccepts(); len(got) != 1 {
		t.Fatalf("%d launches after the orphan's end, want 1", len(got))
	}
}

// replaceAndLose runs the waiting shard on another agent, and loses this attempt together with its executor.
func replaceAndLose(s *stage) {
	s.t.Helper()
	for _, l := range runElsewhere(s) {
		s.update(l, cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
	}
}

// TestE5AnOrphanSeenAliveBlocksUntilItsAgentIsUnreachableAgain checks that an orphan that was seen alive blocks its
// shard until its agent has been unreachable for the time of rule E4 again, also under a new leader, who must ask the
// master first.
func TestE5AnOrphanSeenAliveBlocksUntilItsAgentIsUnreachableAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withFailover)
	s.reportUnreachable(l[0])
	s.runFor(3 * time.Minute)
	if s.core.orphans.Len() != 1 {
		t.Fatal("the attempt was not abandoned")
	}
	replaceAndLose(s)
	s.update(l[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	s.runFor(10 * time.Second)
	s.reportUnreachable(l[0])
	s.offer("S2", 8, 8192)
	s.runFor(100 * time.Second)
	s.restart()
	s.runFor(time.Minute)
	s.offer("S2", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatal("launched beside an orphan that was alive just now, and about which the new leader has no answer yet")
	}
	s.reportUnreachable(l[0])
	s.runFor(10 * time.Second)
	s.offer("S2", 8, 8192)
	if got := s.answerAccepts(); len(got) != 1 {
		t.Fatalf("%d launches, want the shard's next attempt", len(got))
	}
}

// TestE5AnAnswerUnderAnotherFrameworkIDReleasesNoOrphan checks that the master is not asked about an orphan of a former
// framework, and that its answers do not release the orphan. Under another framework id it does not know the task.
func TestE5AnAnswerUnderAnotherFrameworkIDReleasesNoOrphan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJobOn("S1", func(*jobs.Config) {})
	s.step(s.clusterEvent(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: cluster.Unreachable,
		Source: cluster.FromMaster, UnreachableSince: s.now}))
	s.runFor(11 * time.Minute) // abandoned
	s.removeFramework()
	for _, call := range calls[step.CallReconcile](s.last) {
		for _, ref := range call.Tasks {
			if ref.TaskID == l.TaskID {
				t.Error("the master is asked about the orphan under the wrong framework id")
			}
		}
	}
	for _, state := range []cluster.State{cluster.Gone, cluster.Unknown, cluster.Unreachable} {
		s.step(s.clusterEvent(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: state, Source: cluster.FromMaster,
			Reason: cluster.ReasonReconciliation}))
	}
	s.step(Request{Token: 2, Event: operator.ReconcileRequested{Explicit: true}})
	s.runFor(5 * time.Minute)
	if s.core.orphans.Len() != 1 || !s.core.orphans.IsBlocked("my_job", 0) {
		t.Fatalf("want one orphan that blocks its shard, got %v", s.core.orphans.All())
	}
	s.trigger()
	if _, launched := s.launchedWithin(5*time.Minute, "S1", cluster.Gone); !launched {
		t.Error("not launched although the orphan's agent has been registered for long")
	}
}

// TestE5ABlockingOrphanDoesNotExpire lets the retention of orphans pass, of which only the clock may say so. An orphan
// that blocks its shard stays until its end is known, because a later attempt would run beside it. One that blocks
// nothing is forgotten.
func TestE5ABlockingOrphanDoesNotExpire(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		away bool // its agent is unreachable, so that it blocks nothing after a while
		kept int
	}{"it blocks its shard": {false, 1}, "it blocks nothing": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			l := s.runJobOn("S1", func(*jobs.Config) {})
			s.reportUnreachable(l)
			s.runFor(11 * time.Minute) // abandoned
			if !test.away {
				s.update(l, cluster.Running, fromMaster(cluster.ReasonReconciliation))
				s.removeFramework()
			}
			s.skew += s.opt.OrphanRetention + time.Hour
			s.restart()
			s.runFor(time.Second)
			if test.away {
				s.reportUnreachable(l)
				s.runFor(11 * time.Minute)
			}
			if got := s.core.orphans.Len(); got != test.kept {
				t.Errorf("%d orphans are kept, want %d: %+v", got, test.kept, s.core.orphans.All())
			}
		})
	}
}

// TestNoOffersAreHeldForAShardThatAnOrphanBlocks checks that an offer is declined if the only waiting shard is blocked
// by an orphan.
func TestNoOffersAreHeldForAShardThatAnOrphanBlocks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runJobOn("S1", func(j *jobs.Config) { j.Failover = true })
	s.removeFramework()
	s.runFor(10 * time.Second)
	s.offer("S2", 4, 1000)
	if s.core.placement.Held().Len() > 0 || len(calls[step.CallDecline](s.last)) != 1 {
		t.Errorf("the offer is not declined: %+v", s.last.Calls)
	}
}

// TestE5HowLongAStagedOrphanBlocksItsShard checks how long an orphan blocks its shard if the master reports it as
// STAGING, as it may do for days if the executor never takes the task. The time counts from the first such answer
// under a new leader.
func TestE5HowLongAStagedOrphanBlocksItsShard(t *testing.T) {
	t.Parallel()
	const stagingTimeout = 10 * time.Minute // that of a live attempt
	staged := fromMaster(cluster.ReasonReconciliation)
	for name, test := range map[string]struct {
		abandon func(*stage, cluster.TaskLaunch)
		// then is what happens to the orphan after the master has reported it to the next leader as STAGING.
		then  func(*stage, cluster.TaskLaunch)
		holds time.Duration // how long the orphan blocks its shard after that answer
	}{
		"it was given up for that": {stuckStaged, nil, 0},
		"it was given up because its agent was away": {func(s *stage, l cluster.TaskLaunch) {
			s.reportUnreachable(l)
			s.runFor(3 * time.Minute)
			replaceAndLose(s)
		}, nil, stagingTimeout + time.Minute},
		"an earlier release gave it up": {func(s *stage, l cluster.TaskLaunch) {
			stuckStaged(s, l)
			path := store.Under(store.PathOrphan, l.TaskID)
			var o orphans.Orphan
			if err := json.Unmarshal(s.stored[path], &o); err != nil || o.Staged.IsZero() {
				s.t.Fatalf("%s: %s, %v", path, s.stored[path], err)
			}
			o.Staged = time.Time{}
			s.stored[path] = store.Encode(o)
		}, nil, stagingTimeout + time.Minute},
		"it runs": {stuckStaged, func(s *stage, l cluster.TaskLaunch) {
			if d := s.update(l, cluster.Running); len(calls[step.CallKill](d)) != 1 {
				s.t.Error("the orphan is not killed when it runs")
			}
		}, time.Hour},
		"its agent was away meanwhile": {stuckStaged, func(s *stage, l cluster.TaskLaunch) {
			s.reportUnreachable(l)
			s.update(l, cluster.Staging, staged)
		}, stagingTimeout + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(oneShard, withFailover)
			l := s.startWithCPUs(8)[0]
			s.update(l, cluster.Staging, staged)
			test.abandon(s, l)
			if s.core.orphans.Len() != 1 {
				t.Fatal("the attempt was not given up")
			}
			s.restart()
			s.runFor(time.Second)
			s.offer("S2", 8, 8192)
			if len(s.accepts) > 0 {
				t.Fatal("launched before the master answered about the orphan")
			}
			x := s.explain("my_job")
			const why = "never got beyond STAGING on agent S1, and the cluster has not yet confirmed"
			if name == "it was given up for that" && !strings.Contains(x.Waiting[0].Reason, why) {
				t.Errorf("explain shows %+v", x.Waiting)
			}
			if d := s.update(l, cluster.Staging, staged); len(calls[step.CallKill](d)) != 1 {
				t.Error("the staged orphan is not killed")
			}
			if test.then != nil {
				test.then(s, l)
			}
			begin := s.now
			for s.offer("S2", 8, 8192); len(s.accepts) == 0 && s.now.Sub(begin) < time.Hour; s.offer("S2", 8, 8192) {
				s.runFor(30 * time.Second)
				if test.holds < time.Hour && s.now.Sub(begin)%(5*time.Minute) == 0 {
					s.update(l, cluster.Staging, staged)
				}
			}
			if held := s.now.Sub(begin); held < test.holds || held > test.holds+time.Minute {
				t.Errorf("the orphan blocked its shard for %s, want %s", held, test.holds)
			}
		})
	}
}

// stuckStaged lets time pass until a task that stays in STAGING is abandoned.
func stuckStaged(s *stage, l cluster.TaskLaunch) {
	s.t.Helper()
	for begin := s.now; s.core.orphans.Len() == 0 && s.now.Sub(begin) < time.Hour; s.runFor(30 * time.Second) {
		s.update(l, cluster.Staging, fromMaster(cluster.ReasonReconciliation))
	}
}

// TestF8ARemovedTaskBlocksForItsTimeOnly checks until when a removed task blocks its shard under the next leader. It
// blocks for as long as the task may take to end, and no longer if the clock was set back meanwhile.
func TestF8ARemovedTaskBlocksForItsTimeOnly(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ now, until time.Time }{
		"the clock was right": {since.Add(3 * time.Second), since.Add(10 * time.Second)},
		"it was set back":     {since.Add(-2 * time.Hour), since.Add(-2*time.Hour + 10*time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New(step.DefaultOptions())
			orphan := store.Encode(orphans.Orphan{TaskID: "t", Job: "j", Agent: "S1", Since: since, Blocks: true,
				Until: since.Add(10 * time.Second)})
			entry := registry.Entry{Path: store.Under(store.PathOrphan, "t"), Value: orphan}
			if err := c.Load(tt.now, Stored{Entries: []registry.Entry{entry}}); err != nil {
				t.Fatal(err)
			}
			if got, _ := c.orphans.Get("t"); !got.Until.Equal(tt.until) {
				t.Errorf("the orphan blocks until %v, want %v", got.Until, tt.until)
			}
		})
	}
}

package scheduler

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
)

// What real Mesos does otherwise than one would think: removed frameworks, filters, ExecutorInfo, old answers.

// removed has the framework torn down and subscribes with the next id.
func (s *stage) removed() {
	s.t.Helper()
	s.step(SessionEnded{Session: s.core.session.number, Removed: true, Reason: "Framework has been removed"})
	for range 10 {
		if len(calls[CallSubscribe](s.last)) > 0 {
			s.subscribed()
			return
		}
		s.after(time.Second)
	}
	s.t.Fatal("it does not subscribe again")
}

// masterSays is the master's answer to the question whether an agent is registered.
func (s *stage) masterSays(agent string, state cluster.State) {
	s.t.Helper()
	question := s.core.agent(agent).question
	if question == "" {
		s.t.Fatalf("nothing was asked about agent %s", agent)
	}
	s.step(s.told(cluster.Update{TaskID: question, AgentID: agent, State: state, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}))
}

// runsOn has one shard run on an agent, and returns its launch.
func (s *stage) runsOn(agent string, change func(*jobs.Config)) cluster.TaskLaunch {
	s.t.Helper()
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1; change(j) })
	s.trigger()
	s.offer(agent, 4, 1000)
	l := s.accepted()
	if len(l) != 1 {
		s.t.Fatalf("%d launched", len(l))
	}
	s.run(l)
	return l[0]
}

// launchedWithin offers another agent every 10 s, has the master answer for the first, and says
// when something was launched.
func (s *stage) launchedWithin(d time.Duration, agent string, answer cluster.State) (after time.Duration, launched bool) {
	s.t.Helper()
	for begin := s.now; s.now.Sub(begin) < d; {
		s.until(10 * time.Second)
		if answer != "" && s.core.agent(agent).question != "" {
			s.masterSays(agent, answer)
		}
		s.offer("S2", 4, 1000)
		if len(s.accepted()) > 0 {
			return s.now.Sub(begin), true
		}
	}
	return 0, false
}

func TestT7TheShardsOfARemovedFrameworkWait(t *testing.T) {
	t.Parallel()
	wait := DefaultCoreOptions().RemovedWait + DefaultCoreOptions().KillGrace
	for _, tt := range []struct {
		name     string
		failover bool
		answer   cluster.State // about the first agent
		earliest time.Duration // 0: never
	}{
		{"its agent is registered", false, cluster.Gone, wait},
		{"its agent is registered, failover", true, cluster.Gone, wait},
		{"its agent is away", false, cluster.Unreachable, 0},
		{"its agent is away, failover", true, cluster.Unreachable, 2 * time.Minute},
		{"the master is silent about its agent", false, "", 0},
		{"the master is silent about its agent, failover", true, "", 0},
		{"its agent is marked as gone", false, cluster.GoneByOperator, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.runsOn("S1", func(j *jobs.Config) { j.Failover = tt.failover })
			s.removed()
			if !tt.failover {
				s.trigger() // its execution has failed, the next one's shard waits for it
			}
			after, launched := s.launchedWithin(15*time.Minute, "S1", tt.answer)
			switch {
			case launched != (tt.earliest > 0):
				t.Errorf("launched again: %v", launched)
			case launched && (after < tt.earliest || after > tt.earliest+45*time.Second):
				t.Errorf("launched again after %s, want %s or a little more", after, tt.earliest)
			}
		})
	}
}

// What was unreachable already has waited a part of its 2 minutes (E4), with failover; without it waits as long as it takes.
func TestT7AnUnreachableTaskOfARemovedFrameworkStillHoldsItsShard(t *testing.T) {
	t.Parallel()
	for _, failover := range []bool{true, false} {
		s := newStage(t)
		l := s.runsOn("S1", func(j *jobs.Config) { j.Failover = failover })
		s.step(s.told(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: cluster.Unreachable, Source: cluster.FromMaster, UnreachableSince: s.now}))
		s.until(time.Minute)
		s.removed()
		if !failover {
			s.trigger()
		}
		after, launched := s.launchedWithin(10*time.Minute, "S1", cluster.Unreachable)
		if launched != failover || launched && (after < 50*time.Second || after > 90*time.Second) {
			t.Errorf("failover %v: launched %v after %s, want the rest of its 2 minutes, or never", failover, launched, after)
		}
	}
}

// What the master says of a task under another framework id is not about the task.
func TestE5AnAnswerUnderAnotherFrameworkIDReleasesNoGhost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runsOn("S1", func(*jobs.Config) {})
	s.step(s.told(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: cluster.Unreachable, Source: cluster.FromMaster, UnreachableSince: s.now}))
	s.until(11 * time.Minute) // given up
	s.removed()
	for _, call := range calls[CallReconcile](s.last) {
		for _, ref := range call.Tasks {
			if ref.TaskID == l.TaskID {
				t.Error("it is asked about under an id that it does not have")
			}
		}
	}
	for _, state := range []cluster.State{cluster.Gone, cluster.Unknown, cluster.Unreachable} {
		s.step(s.told(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: state, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation}))
	}
	s.step(ReconcileAsked{Token: 2, Explicit: true})
	s.until(5 * time.Minute)
	if len(s.core.ghosts) != 1 || s.core.ghostOf("my_job", 0) == nil {
		t.Fatalf("ghosts %v", s.core.ghosts)
	}
	s.trigger()
	if _, launched := s.launchedWithin(5*time.Minute, "S1", cluster.Gone); !launched {
		t.Error("not launched though its agent has been registered for long")
	}
}

// An agent that was away when its framework was removed hears of it only from the master that knows of
// it: Mesos does not write down which it has removed.
func TestT7ANewMasterMayKnowNothingOfTheRemoval(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runsOn("S1", func(*jobs.Config) {})
	s.removed()
	s.trigger()
	s.until(10 * time.Second)
	s.masterSays("S1", cluster.Gone)
	s.step(SessionEnded{Session: s.core.session.number, Reason: "the master is gone"})
	s.until(time.Second)
	s.step(SessionBegan{Session: s.core.session.number, MasterID: "master-2"})
	if _, launched := s.launchedWithin(10*time.Minute, "S1", cluster.Gone); launched {
		t.Fatal("launched beside what may run")
	}
	if x, err := s.core.Explain("my_job", s.now); err != nil || !strings.Contains(x.Waiting[0].Reason, "the master that removed it leads no more") || !strings.Contains(x.Waiting[0].Reason, "/forget") {
		t.Errorf("%+v, %v", x, err)
	}
	s.step(ForgetAsked{Token: 3, TaskID: l.TaskID})
	if _, launched := s.launchedWithin(time.Minute, "S1", ""); !launched {
		t.Error("an operator's word does not help")
	}
}

// Two signs that an agent is registered tell nothing of the time between, if that is long.
func TestT7AnAgentThatWasAwayMeanwhileWaitsAnew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runsOn("S1", func(*jobs.Config) {})
	s.removed()
	s.until(10 * time.Second)
	for _, state := range []cluster.State{cluster.Gone, cluster.Gone, cluster.Gone, cluster.Gone, cluster.Gone, cluster.Unreachable, cluster.Gone} {
		s.masterSays("S1", state)
		s.until(20 * time.Second)
	}
	s.masterSays("S1", cluster.Gone)
	s.until(3 * time.Minute)
	s.masterSays("S1", cluster.Gone)
	if len(s.core.ghosts) != 1 {
		t.Error("the ghost is over")
	}
}

// Every beginning of the write of a removal leaves a state from which nothing runs twice.
func TestT5TheWriteOfARemovalMayBeCutOffAnywhere(t *testing.T) {
	t.Parallel()
	for _, failover := range []bool{false, true} {
		for cut := 0; ; cut++ {
			s := newStage(t)
			l := s.runsOn("S1", func(j *jobs.Config) { j.Failover = failover })
			before := maps.Clone(s.stored)
			s.step(SessionEnded{Session: s.core.session.number, Removed: true, Reason: "Framework has been removed"})
			writes := s.last.Writes
			s.stored = before
			for _, w := range writes[:min(cut, len(writes))] {
				if w.Delete {
					delete(s.stored, w.Path)
				} else {
					s.stored[w.Path] = w.Value
				}
			}
			s.restart()
			if string(s.stored[pathFramework]) != s.core.frameworkID {
				t.Fatalf("cut %d: subscribed as %s, stored is %s", cut, s.core.frameworkID, s.stored[pathFramework])
			}
			if ref, ok := s.core.tasks[l.TaskID]; ok && ref.shard().live() {
				s.removed() // still under the old id, which the master does not know
			}
			if s.core.ghostOf("my_job", 0) == nil || len(s.core.executors) > 0 {
				t.Errorf("failover %v, after %d of %d writes: ghosts %v, executors %v", failover, cut, len(writes), s.core.ghosts, slices.Collect(maps.Keys(s.core.executors)))
			}
			if !failover && s.core.ended.byID["my_job@trigger-1"] == nil && len(s.core.executions) > 0 {
				t.Errorf("after %d of %d writes its execution is still open", cut, len(writes))
			}
			if cut >= len(writes) {
				break
			}
		}
	}
}

func TestX1AnExecutorThatTheMasterKnowsOtherwiseIsReplaced(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.\n------\nExisting ExecutorInfo:\n…",
		"Task has invalid ExecutorInfo (existing ExecutorInfo with same ExecutorID is not compatible).",
	} {
		s := newStage(t)
		first := s.runsOn("S1", func(*jobs.Config) {})
		x := first.Executor.ID
		s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "other_job", 2 })
		s.step(TriggerAsked{Token: 2, Job: "other_job"})
		s.offer("S1", 4, 1000, x)
		refused := s.accepted()
		for _, l := range refused {
			if l.Executor.ID != x {
				t.Fatalf("launched on %s", l.Executor.ID)
			}
			s.update(l, cluster.Error, fromMaster(cluster.ReasonTaskInvalid), func(u *cluster.Update) { u.Message = message })
		}
		s.until(time.Second)
		s.offer("S1", 4, 1000, x)
		again := s.accepted()
		if len(refused) != 2 || len(again) != 2 || again[0].Executor.ID == x || again[1].Executor.ID != again[0].Executor.ID {
			t.Fatalf("refused %d, then %+v", len(refused), again)
		}
		if n := s.core.tasks[again[0].TaskID].shard().Errors; n > 0 {
			t.Errorf("%d errors are counted", n)
		}
		if len(calls[CallShutdown](s.last))+len(calls[CallKill](s.last)) > 0 || s.core.tasks[first.TaskID].shard().State != Running {
			t.Errorf("the task on it is touched: %+v", s.last.Calls)
		}
		s.update(first, cluster.Finished)
		s.until(time.Second)
		if c := s.core.executors[x]; c == nil || !c.Closing || c.shutdownTry == 0 {
			t.Errorf("with nothing left to do it is not told to end: %+v", c)
		}
	}
}

func TestX1ASecondRejectionInARowBlamesTheExecutor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.runsOn("S1", func(*jobs.Config) {})
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "other_job", 1 })
	s.step(TriggerAsked{Token: 2, Job: "other_job"})
	for i := range 3 {
		s.until(5 * time.Second)
		s.offer("S1", 4, 1000, first.Executor.ID)
		l := s.accepted()
		if len(l) != 1 || (l[0].Executor.ID == first.Executor.ID) != (i < 2) {
			t.Fatalf("try %d: %+v", i+1, l)
		}
		s.update(l[0], cluster.Error, fromMaster(cluster.ReasonTaskInvalid), func(u *cluster.Update) { u.Message = "words of a later Mesos" })
	}
	if s.core.tasks[first.TaskID].shard().State != Running {
		t.Error("the task on it is touched")
	}
}

func TestX1AnExecutorOfAnotherRoleIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, now string
		same        bool
	}{{"blue", "blue", true}, {"", "*", true}, {"*", "", true}, {"blue", "green", false}, {"", "blue", false}} {
		s := newStage(t)
		s.opt.Role = tt.before
		s.restart()
		first := s.runsOn("S1", func(*jobs.Config) {})
		s.opt.Role = tt.now
		s.restart()
		s.update(first, cluster.Running, fromMaster(cluster.ReasonReconciliation))
		s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "other_job", 1 })
		s.step(TriggerAsked{Token: 2, Job: "other_job"})
		s.offer("S1", 4, 1000, first.Executor.ID)
		l := s.accepted()
		if len(l) != 1 || (l[0].Executor.ID == first.Executor.ID) != tt.same {
			t.Errorf("role %q, then %q: launched %+v", tt.before, tt.now, l)
		}
		if ref := s.core.tasks[first.TaskID]; ref.shard().State != Running || len(calls[CallShutdown](s.last)) > 0 {
			t.Errorf("role %q, then %q: what ran on it is touched", tt.before, tt.now)
		}
	}
}

// Mesos clears filters when it sees the connection of a framework end. That of a leader whose host
// froze is still open when the next one takes over.
func TestT6TheFirstNeedOfANewLeaderRevives(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1; j.Cron = "0 0/2 * * * ?" })
	s.until(time.Minute)
	s.restart()
	fire := time.Date(2026, 11, 21, 8, 2, 0, 0, time.UTC)
	for len(calls[CallRevive](s.last)) == 0 {
		if s.now.After(fire) {
			t.Fatal("a fire is due, and nothing was asked for")
		}
		s.now = s.last.Wake
		s.step()
	}
	s.now = fire.Add(time.Second)
	s.restart()
	if asked := calls[CallRevive](s.last); len(asked) > 0 {
		return // for the run that waits
	}
	s.trigger()
	if len(calls[CallRevive](s.last)) != 1 {
		t.Errorf("a run waits, and nothing is asked for: %+v", s.last.Calls)
	}
}

// Mesos 1.4 says UNKNOWN where later ones say GONE.
func TestRUnknownToItsAgentMeansGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runsOn("S1", func(*jobs.Config) {})
	s.restart()
	answer := cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: cluster.Unknown, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation, Message: "Reconciliation: Task is unknown"}
	s.step(s.told(answer))
	if len(s.core.executions) != 1 {
		t.Fatal("an agent that is not registered counts as away, not its task as over")
	}
	answer.Message = "Reconciliation: Task is unknown to the agent"
	s.step(s.told(answer))
	if len(s.core.executions) != 0 {
		t.Error("its execution is still open")
	}
}

// An offer of an agent whose CPU and memory are all revocable has nothing in it for us.
func TestAnOfferOfNothingIsGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.step(s.told(cluster.Offers{Offers: []cluster.Offer{{ID: "O", AgentID: "S1"}}}))
	if d := calls[CallDecline](s.last); len(d) != 1 || d[0].Refuse != s.opt.RefuseMost || s.core.pool.Len() > 0 {
		t.Errorf("%+v", d)
	}
	revives := 0
	for end := s.now.Add(5 * time.Second); s.now.Before(end); {
		s.until(50 * time.Millisecond)
		revives += len(calls[CallRevive](s.last))
	}
	if revives > 1 {
		t.Errorf("%d REVIVEs bring it back", revives)
	}
}

// scarceCluster is three agents of 8 CPUs of which others use 4, with Mesos' filters.
type scarceCluster struct {
	*stage
	filters  map[string]time.Time
	revived  bool
	held     map[string]time.Duration // by agent
	declines int
}

// play lets offers come and go, by a master that allocates each second.
func (s *scarceCluster) play(d time.Duration) {
	s.t.Helper()
	const tick = 50 * time.Millisecond
	for i := 0; i < int(d/tick); i++ {
		for end := s.now.Add(tick); s.now.Before(end); s.hear() {
			next := end
			if wake := s.last.Wake; wake.After(s.now) && wake.Before(end) {
				next = wake
			}
			s.now = next
			s.step()
		}
		for _, a := range []string{"S1", "S2", "S3"} {
			mine := s.core.pool.Free(a)
			if !mine.IsZero() {
				s.held[a] += tick
			} else if (s.revived || i%20 == 0) && !s.now.Before(s.filters[a]) && !s.core.flow.suppressed {
				s.offer(a, 4, 4000)
				s.hear()
			}
		}
		s.revived = false
	}
}

func (s *scarceCluster) hear() {
	for _, call := range s.last.Calls {
		switch call := call.(type) {
		case CallDecline:
			s.declines++
			for _, a := range []string{"S1", "S2", "S3"} {
				if s.core.pool.Free(a).IsZero() && !s.now.Before(s.filters[a]) {
					s.filters[a] = s.now.Add(call.Refuse)
				}
			}
		case CallRevive:
			clear(s.filters)
			s.revived = true
		}
	}
	s.last.Calls = nil
}

func newScarceCluster(t *testing.T, cpus float64, shards int) *scarceCluster {
	t.Helper()
	s := &scarceCluster{stage: newStage(t), filters: map[string]time.Time{}, held: map[string]time.Duration{}}
	s.opt.ReserveAfter = time.Hour // rule L2 apart
	s.restart()
	s.app()
	for _, a := range []string{"S1", "S2", "S3"} {
		s.offer(a, 8, 8000)
	}
	s.until(time.Second)
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = shards, cpus })
	s.trigger()
	s.hear()
	return s
}

func TestWhatDoesNotFitHoldsNoOffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cpus   float64
		shards int
		most   time.Duration // an agent's offers are held, of 5 minutes
	}{
		{"one large shard", 6, 1, time.Second},
		{"shards of which some would fit", 1, 20, 12 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScarceCluster(t, tt.cpus, tt.shards)
			s.play(5 * time.Minute)
			if len(s.accepts) > 0 {
				t.Fatalf("launched %+v", s.accepts)
			}
			for a, held := range s.held {
				if held > tt.most {
					t.Errorf("agent %s is held for %s of 5 minutes, want %s at most", a, held, tt.most)
				}
			}
			if s.declines > 150 {
				t.Errorf("%d times given back", s.declines)
			}
			if x, err := s.core.Explain("my_job", s.now); err != nil || !strings.Contains(x.Waiting[0].Reason, "short by") {
				t.Errorf("%+v, %v", x.Waiting[0], err)
			}
			// What fits and begins to wait gets its offers at once.
			s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "small_job", 1 })
			s.step(TriggerAsked{Token: 2, Job: "small_job"})
			s.hear()
			s.play(300 * time.Millisecond)
			if l := s.accepted(); len(l) != 1 || !strings.HasPrefix(l[0].TaskID, "small_job") {
				t.Errorf("launched %+v", l)
			}
		})
	}
}

func TestL1TheEndOfATaskHasAllOfferedAtOnceForWhatStartsTogether(t *testing.T) {
	t.Parallel()
	s := newScarceCluster(t, 1, 5)
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.CPUCount = "first_job", 1, 1 })
	s.filters["S3"], s.filters["S2"] = s.now.Add(time.Hour), s.now.Add(time.Hour)
	s.step(TriggerAsked{Token: 2, Job: "first_job"})
	s.offer("S1", 3, 3000)
	l := s.accepted()
	if len(l) != 1 {
		t.Fatalf("launched %+v", l)
	}
	s.run(l)
	s.until(20 * time.Second)
	s.offer("S1", 1.5, 2000, l[0].Executor.ID)
	s.until(8 * time.Second)
	if s.core.pool.Len() > 0 {
		t.Fatal("what does not help is held")
	}
	s.update(l[0], cluster.Finished)
	if len(calls[CallRevive](s.last)) != 1 {
		t.Errorf("nothing is asked for: %+v", s.last.Calls)
	}
}

func TestAShardThatAGhostHoldsHasNoOffersHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runsOn("S1", func(j *jobs.Config) { j.Failover = true })
	s.removed()
	s.until(10 * time.Second)
	s.offer("S2", 4, 1000)
	if s.core.pool.Len() > 0 || len(calls[CallDecline](s.last)) != 1 {
		t.Errorf("%+v", s.last.Calls)
	}
}

// Maintained agents' offers are declined though something waits, and not asked for again at once.
func TestOffersOfAgentsAboutToGoAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.until(time.Second)
	s.step(s.told(cluster.Offers{Offers: []cluster.Offer{{ID: "O", AgentID: "S1", Resources: resources.Amount{CPUMilli: 4000, MemMilli: 4_000_000}, Unavailable: s.now.Add(time.Minute)}}}))
	if len(calls[CallDecline](s.last)) != 1 {
		t.Fatalf("%+v", s.last.Calls)
	}
	for range 20 {
		s.until(100 * time.Millisecond)
		if len(calls[CallRevive](s.last)) > 0 {
			t.Fatal("they are asked for again")
		}
	}
}

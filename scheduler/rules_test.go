package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/wire"
)

func oneShard(j *jobs.Config)     { j.ShardingTotalCount = 1 }
func withFailover(j *jobs.Config) { j.Failover = true }
func withMisfire(j *jobs.Config)  { j.Misfire = true }
func hourly(j *jobs.Config)       { j.Cron = "0 0 * * * ?" }

// start triggers the job and launches it on an agent with so many CPUs.
func (s *stage) start(cpus float64) []cluster.TaskLaunch {
	s.t.Helper()
	s.trigger()
	s.offer("S1", cpus, 8192)
	return s.accepted()
}

func (s *stage) unreachable(l cluster.TaskLaunch) {
	s.t.Helper()
	s.update(l, cluster.Unreachable, fromMaster(""), func(u *cluster.Update) { u.UnreachableSince = s.now })
}

func TestE4NobodyIsGivenUpBeforeTheMasterWasAsked(t *testing.T) {
	t.Parallel()
	t.Run("unreachable under the last leader", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(oneShard, withFailover)
		l := s.start(8)
		s.run(l)
		s.unreachable(l[0])
		s.now = s.now.Add(3 * time.Minute)
		s.restart()
		s.until(time.Second)
		s.offer("S2", 8, 8192)
		if len(s.accepts) > 0 {
			t.Fatal("a second attempt was launched before the master was asked about the first")
		}
		s.update(l[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
		s.until(time.Minute)
		if len(s.accepts) > 0 {
			t.Fatal("a second attempt was launched beside the running first")
		}
	})
	t.Run("staged under the last leader", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.app()
		s.job(oneShard)
		id := s.trigger()
		s.offer("S1", 8, 8192)
		l := s.accepted()
		s.update(l[0], cluster.Staging, fromMaster(cluster.ReasonReconciliation))
		s.now = s.now.Add(30 * time.Minute)
		s.restart()
		s.until(6 * time.Second)
		s.update(l[0], cluster.Running)
		if v := s.execution(id); v.State != Running {
			t.Fatalf("%+v", v)
		}
	})
}

func TestD15AFaultyAppDocumentKillsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	s.run(s.start(8))
	s.stored[pathApps+"/my_app"] = []byte("{ slip")
	s.restart()
	if got := calls[CallKill](s.last); len(got) > 0 {
		t.Fatalf("%d kills", len(got))
	}
	x, err := s.core.Explain("my_job")
	if err != nil || len(x.Running) != 3 {
		t.Fatalf("%+v, %v", x, err)
	}
	if _, err := s.core.planDeleteApp("my_app", true); err != nil {
		t.Fatalf("an app with a faulty document can't be deleted: %v", err)
	}
}

func TestF2ARegisteredAgainJobFiresFromThenOn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(hourly, withMisfire)
	s.run(s.start(8))
	s.until(59*time.Minute + 50*time.Second)
	s.apply(s.core.planDeregisterJob("my_job"))
	s.until(30 * time.Second)
	s.job(hourly, withMisfire)
	s.until(time.Second)
	if _, ok := s.stored[pathJobState+"/my_job"]; !ok {
		t.Error("since when it fires is not stored")
	}
	if s.core.executions["my_job@20261121T090000Z"] != nil {
		t.Error("it fired for a time before it was registered")
	}
}

func TestK2TheFirstFireOfARegisteredAgainJobWaitsForTheOldTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds)
	l := s.start(8)
	s.run(l)
	s.apply(s.core.planDeregisterJob("my_job"))
	s.job(everyFiveSeconds)
	s.until(6 * time.Second)
	x, err := s.core.Explain("my_job")
	if err != nil || len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, "ended first") {
		t.Fatalf("%+v, %v", x, err)
	}
	for _, one := range l {
		s.update(one, cluster.Killed)
	}
	s.until(200 * time.Millisecond)
	s.offer("S1", 8, 8192)
	if got := s.accepted(); len(got) != 3 {
		t.Fatalf("%d launches once the old tasks are over, want 3", len(got))
	}
}

func TestL2OneThatNeverFitsTogetherTakesNoTurn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.offer("S1", 8, 8192)
	s.step(s.told(cluster.Rescind{OfferID: "O1"}))
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 100 })
	s.trigger()
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "big", 7 })
	s.after(time.Millisecond, TriggerRequested{Token: 2, Job: "big"})
	for range 10 {
		s.offer("S1", 2, 2048)
		s.step(s.told(cluster.Rescind{OfferID: fmt.Sprintf("O%d", s.offerN)}))
		s.until(10 * time.Second)
	}
	s.offer("S1", 2, 2048)
	if r := s.core.reservation; r == nil || s.core.executions[r.exec].Job != "big" {
		t.Fatalf("reservation %+v, want one for big", r)
	}
}

func TestReasonCountsWhatWeUseOurselves(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 6 })
	l := s.start(8)
	s.run(l)
	s.restart()
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "two", 3 })
	s.step(TriggerRequested{Token: 2, Job: "two"})
	for _, one := range l {
		s.update(one, cluster.Running, fromMaster(cluster.ReasonReconciliation))
	}
	s.offer("S1", 1.5, 1024, l[0].Executor.ID)
	for _, e := range s.core.launchable {
		if e.unplaced.never {
			t.Fatalf("3 CPUs would fit the agent of 8 that is busy with our own tasks; reason %q", e.unplaced.why)
		}
	}
}

func TestE2OnlyLossesOnAgentsThatStayedCount(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withFailover)
	id := s.trigger()
	for i := range 6 {
		agent := fmt.Sprint("S", i)
		s.offer(agent, 8, 8192)
		l := s.accepted()
		s.run(l)
		s.unreachable(l[0])
		s.step(s.told(cluster.Failure{AgentID: agent}))
		s.until(3 * time.Minute)
	}
	if v := s.execution(id); v.State != Running {
		t.Fatalf("%s: %s; six agents were lost, the shard is not to blame", v.State, v.Reason)
	}
}

func TestT3ARepeatedKeyWritesWhatItAccepts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.EndedKept = 1
	s.restart()
	s.app()
	s.job(oneShard, withMisfire)
	id := s.step(TriggerRequested{Token: 1, Job: "my_job", Key: "k"}).Replies[0].ExecutionID
	s.offer("S1", 8, 8192)
	l := s.accepted()
	s.run(l)
	s.finish(l)
	l = s.start(8)
	s.run(l)
	// One batch ends an execution, which pushes that of the key out, and repeats the key.
	d := s.step(s.told(cluster.Update{TaskID: l[0].TaskID, AgentID: "S1", State: cluster.Finished, Source: cluster.FromExecutor, UUID: []byte("x")}),
		TriggerRequested{Token: 3, Job: "my_job", Key: "k"})
	if got := d.Replies[0].ExecutionID; got != id || d.Replies[0].Err != nil {
		t.Fatalf("the key gave %q, want %q again", got, id)
	}
	if s.core.executions[id] != nil {
		t.Fatal("it runs a second time")
	}
	s.restart()
	if d := s.step(TriggerRequested{Token: 4, Job: "my_job", Key: "k"}); d.Replies[0].ExecutionID != id || s.core.executions[id] != nil {
		t.Fatalf("after a restart: %+v", d.Replies)
	}
	s.until(25 * time.Hour)
	if len(s.core.keys) != 0 {
		t.Fatal("keys are kept for ever")
	}
}

func TestT3AKeyIsAnsweredEvenWhenTheJobIsDisabled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.step(TriggerRequested{Token: 1, Job: "my_job", Key: "k"}).Replies[0].ExecutionID
	s.apply(s.core.planDisableJob("my_job", true))
	if d := s.step(TriggerRequested{Token: 2, Job: "my_job", Key: "k"}); d.Replies[0].Err != nil || d.Replies[0].ExecutionID != id {
		t.Fatalf("%+v", d.Replies[0])
	}
}

func TestX2ShutdownDoesNotOvertakeTheLastAcknowledgement(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.step(Drain{})
	d := s.update(l[0], cluster.Killed)
	if len(calls[CallAcknowledge](d)) != 1 || len(calls[CallShutdown](d)) > 0 {
		t.Fatalf("calls %+v", d.Calls)
	}
	s.until(time.Second)
	if s.core.executors[l[0].Executor.ID].shutdownTry == 0 {
		t.Fatal("no SHUTDOWN afterwards")
	}
}

func TestX9AnExecutorWhoseTaskEndsBeforeItsAnswerIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepts[0].Accept.Tasks
	s.run(l)
	s.finish(l)
	s.accepted()
	s.until(10 * time.Minute)
	if len(s.core.executors) > 0 && len(s.core.closing) == 0 {
		t.Fatal("its executor is never shut down")
	}
}

func TestL6AFetchFromAnotherLeadersAddressBlamesNoAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorBinary = "http://old/executor"
	s.restart()
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.opt.ExecutorBinary = "http://new/executor"
	s.restart()
	s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonContainerLaunchFailed))
	if n := len(s.core.apps["my_app"].starts); n > 0 {
		t.Fatal("the agent is blamed")
	}
	s.until(time.Second)
	s.offer("S1", 8, 8192)
	again := s.accepted()
	if len(again) != 1 || again[0].Executor.BinaryURI != "http://new/executor" || again[0].Executor.ID == l[0].Executor.ID {
		t.Fatalf("%+v, want a new executor from the new address", again)
	}
}

func TestL6AnAgentWhereTheExecutorFailsIsAvoidedThenGivenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	for i := range 5 {
		s.until(time.Minute)
		s.offer("S1", 8, 8192)
		l := s.accepted()
		if len(l) != 1 {
			t.Fatalf("try %d: %d launches", i+1, len(l))
		}
		s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonContainerLaunchFailed), func(u *cluster.Update) { u.Message = "no such file" })
		if i == 0 {
			s.until(300 * time.Millisecond)
			s.offer("S1", 8, 8192)
			x, err := s.core.Explain("my_job")
			if err != nil || len(s.accepts) > 0 || len(x.Waiting) != 1 || !strings.Contains(x.Waiting[0].Reason, "failed to start there") {
				t.Fatalf("%+v, %v", x, err)
			}
		}
	}
	if v := s.execution(id); v.State != Failed || !strings.Contains(v.Reason, "no such file") {
		t.Fatalf("%+v", v)
	}
}

func TestK1AKillIsRepeatedThoughTheClockSteppedBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.run(s.start(8))
	s.now = s.now.Add(time.Hour)
	s.apply(s.core.planDisableJob("my_job", true))
	s.skew += -time.Hour
	n := 0
	for range 60 {
		n += len(calls[CallKill](s.after(10 * time.Second)))
	}
	if n == 0 {
		t.Fatal("the kill is not sent again for an hour")
	}
}

func TestE1ARefusedAcceptCountsAsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	for range 6 {
		s.until(20 * time.Second)
		s.offer("S1", 8, 8192)
		number := s.core.session.number
		for _, a := range s.accepts {
			s.step(AcceptAnswered{Session: number, Seq: a.Seq, Message: "503"}, SessionEnded{Session: number})
		}
		s.accepts = nil
		s.now = s.now.Add(20 * time.Second)
		s.step()
		s.subscribed()
	}
	if v := s.execution(id); v.State == Failed {
		t.Fatal(v.Reason)
	}
}

func TestOffersAreAskedForWhereNoGhostBlocks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	l := s.start(8)
	s.run(l)
	s.finish(l[:2])
	s.unreachable(l[2])
	s.until(11 * time.Minute)
	if len(s.core.orphans) != 1 {
		t.Fatalf("%d ghosts, want one of item 2 (E5)", len(s.core.orphans))
	}
	s.apply(s.core.planUpdateJob("my_job", func(j jobs.Config) (jobs.Config, error) {
		j.ShardingTotalCount = 2
		return j, nil
	}))
	s.trigger()
	if s.core.flow.suppressed {
		t.Fatal("no offers are asked for, though items 0 and 1 can run")
	}
}

func TestE5AGhostBlocksUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.start(8)
	s.run(l)
	s.unreachable(l[0])
	s.until(11 * time.Minute)
	s.trigger()
	s.offer("S2", 8, 8192)
	x, err := s.core.Explain("my_job")
	if err != nil || len(s.accepts) > 0 || len(x.Waiting) != 1 || !strings.Contains(x.Waiting[0].Reason, "/forget") {
		t.Fatalf("%+v, %v", x, err)
	}
	if d := s.step(ForgetRequested{Token: 5, TaskID: l[0].TaskID}); d.Replies[0].Err != nil {
		t.Fatal(d.Replies[0].Err)
	}
	s.offer("S2", 8, 8192)
	if got := s.accepted(); len(got) != 1 {
		t.Fatalf("%d launches after the operator's word, want 1", len(got))
	}
}

func TestRecordsKeepToTheCommitLimit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = 100, 0.01 })
	s.trigger()
	s.offer("S1", 80, 81920)
	l := s.accepted()
	s.run(l)
	for i, one := range l {
		cause := strings.Repeat([]string{"\x01", "\xff", "\"", "<"}[i%4], 4000)
		s.update(one, cluster.Failed, func(u *cluster.Update) { u.Data, _ = wire.Status{Cause: cause}.Encode() })
	}
	for path, value := range s.stored {
		if len(value) > 500_000 {
			t.Fatalf("%s has %d bytes", path, len(value))
		}
	}
}

func TestTheSameEventsGiveTheSameDecisions(t *testing.T) {
	t.Parallel()
	var first []string
	for i := range 5 {
		s := newStage(t)
		s.app()
		for k := range 20 {
			name := fmt.Sprint("j", k)
			s.job(oneShard, func(j *jobs.Config) { j.JobName = name })
			s.step(TriggerRequested{Token: 1, Job: name})
		}
		s.apply(s.core.planDisableApp("my_app", true))
		var order []string
		for e := range s.core.ended.all() {
			order = append(order, e.Job)
		}
		if i == 0 {
			first = order
		} else if !slices.Equal(first, order) {
			t.Fatalf("%q, then %q", first, order)
		}
	}
}

func TestF8ABackoffSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 5 })
	l := s.start(8)
	s.run(l)
	s.update(l[0], cluster.Failed)
	s.restart()
	if wake := s.wake(); wake.IsZero() || wake.Sub(s.now) > s.opt.BackoffFirst {
		t.Fatalf("wakes at %s, not when the shard may be tried again", wake)
	}
	s.until(250 * time.Millisecond)
	s.offer("S1", 8, 8192)
	if got := s.accepted(); len(got) != 1 {
		t.Fatalf("%d launches", len(got))
	}
}

func TestF4NoFiresWhileTheClockIsBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds, withMisfire)
	s.until(11 * time.Second)
	made := s.core.Stats().Fires
	s.skew += -time.Hour
	s.step()
	s.until(30 * time.Minute)
	if got := s.core.Stats().Fires; got != made {
		t.Fatalf("%d fires made behind the mark", got-made)
	}
	x, err := s.core.Explain("my_job")
	if err != nil || len(x.Notes) == 0 || !strings.Contains(x.Notes[0], "clock") {
		t.Fatalf("explain does not speak of the clock: %+v, %v", x, err)
	}
	s.until(31 * time.Minute)
	if got := s.core.Stats().Fires; got == made {
		t.Fatal("no fires once the clock has passed the mark")
	}
}

func TestF3MissedFires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		misfire bool
		away    time.Duration
		want    int
	}{
		{false, 30 * time.Second, 1}, // all late: the first waits, the others are dropped
		{true, 30 * time.Second, 6},  // all late, all wait
		{false, 7 * time.Minute, 1},  // missed but for the last minute
		{true, 7 * time.Minute, 84},  // 84 in all, late ones among them
		{true, 24 * time.Hour, 100},  // the newest 100
		{true, 7 * 24 * time.Hour, 100},
	} {
		t.Run(fmt.Sprintf("misfire=%v away=%s", tt.misfire, tt.away), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(everyFiveSeconds, func(j *jobs.Config) { j.Misfire = tt.misfire })
			s.now = s.now.Add(tt.away)
			s.restart()
			s.until(10 * time.Millisecond)
			if got := len(s.core.executions); got != tt.want {
				t.Fatalf("%d executions wait, want %d", got, tt.want)
			}
		})
	}
}

func TestS5AnEndWithoutCauseIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{cluster.ReasonReconciliation, cluster.ReasonAgentReregistered} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(oneShard)
			id := s.trigger()
			s.offer("S1", 8, 8192)
			l := s.accepted()
			s.run(l)
			s.update(l[0], cluster.Failed, fromMaster(reason))
			s.until(14 * time.Minute)
			if v := s.execution(id); v.State != Running {
				t.Fatalf("%s before the agent said why: %s", v.State, v.Reason)
			}
			exit := 3
			s.update(l[0], cluster.Failed, func(u *cluster.Update) {
				u.Data, _ = wire.Status{Cause: "the disk was full", ExitStatus: &exit}.Encode()
			})
			if v := s.execution(id); v.State != Failed || v.Shards[0].FailureCause != "the disk was full" || *v.Shards[0].ExitStatus != 3 {
				t.Fatalf("%+v", v)
			}
		})
	}
}

func TestS5AnEndWhoseCauseNeverComesIsTaken(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepted()
	s.run(l)
	s.update(l[0], cluster.Finished, fromMaster(cluster.ReasonReconciliation))
	s.until(16 * time.Minute)
	if v := s.execution(id); v.State != Finished {
		t.Fatalf("%+v", v)
	}
}

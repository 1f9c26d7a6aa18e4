package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestE5AnAttemptIsTakenBackUnlessItWasReplaced: its agent was away for longer than it may be, and is back.
func TestE5AnAttemptIsTakenBackUnlessItWasReplaced(t *testing.T) {
	t.Parallel()
	back := func(s *stage, l cluster.TaskLaunch) Decision {
		return s.update(l, cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
	}
	nothing := func(*stage) {}
	for name, test := range map[string]struct {
		job       func(*jobs.Config)
		meanwhile func(*stage) // after it was given up
		taken     bool
	}{
		"nothing has replaced it":           {oneShard, nothing, true},
		"its shard waits for room":          {withFailover, nothing, true},
		"a daemon's shard waits for room":   {func(j *jobs.Config) { j.JobExecutionType, j.Cron = jobs.Daemon, "" }, nothing, true},
		"a new leader leads":                {oneShard, (*stage).restart, true},
		"the next execution waits for room": {oneShard, func(s *stage) { s.trigger() }, true},
		"the job is paused":                 {oneShard, func(s *stage) { s.step(Request{Token: 3, Event: operator.PauseRequested{Job: "my_job", Paused: true}}) }, true},
		"its executor was idle for an hour": {oneShard, func(s *stage) { s.runFor(time.Hour) }, true},
		"its shard runs elsewhere":          {withFailover, func(s *stage) { runElsewhere(s) }, false},
		"the next execution runs":           {oneShard, func(s *stage) { s.trigger(); runElsewhere(s) }, false},
		"the next execution has ended":      {oneShard, func(s *stage) { s.trigger(); s.offer("S2", 8, 8192); s.reportFinished(s.answerAccepts()) }, false},
		"its job was deregistered":          {oneShard, func(s *stage) { s.apply(s.core.planDeregisterJob("my_job")) }, false},
		"its job is another one of that name": {oneShard, func(s *stage) {
			s.apply(s.core.planDeregisterJob("my_job"))
			s.job(oneShard)
		}, false},
		"its job was disabled for a while": {oneShard, func(s *stage) {
			s.apply(s.core.planDisableJob("my_job", true))
			s.apply(s.core.planDisableJob("my_job", false))
		}, false},
		"the end of its execution is wanted": {withFailover, func(s *stage) { s.step(Request{Token: 3, Event: operator.KillRequested{ExecutionID: s.created[0]}}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(oneShard, test.job)
			if len(s.created) == 0 {
				s.trigger()
			}
			s.offer("S1", 8, 8192)
			l := s.answerAccepts()
			s.reportRunning(l)
			id := s.created[0]
			s.reportUnreachable(l[0])
			s.runFor(time.Minute)
			if !isOrphan(s.core, l[0].TaskID) {
				t.Fatal("it was not given up")
			}
			test.meanwhile(s)
			d := back(s, l[0])
			killed := len(calls[step.CallKill](d)) > 0
			if killed == test.taken || isOrphan(s.core, l[0].TaskID) == test.taken {
				t.Fatalf("killed: %v, orphans %v", killed, orphanIDs(s.core))
			}
			if !test.taken {
				return
			}
			e := s.execution(id)
			if e.State != executions.Running || e.Shards[0].State != executions.Running ||
				e.Shards[0].TaskID != l[0].TaskID || e.Shards[0].Attempt != 1 {
				t.Fatalf("%+v", e)
			}
			// It is not given up again at once, no other attempt starts beside it, and its end counts.
			s.runFor(30 * time.Second)
			s.offer("S2", 8, 8192)
			if len(s.accepts) > 0 {
				t.Fatal("another attempt starts beside it")
			}
			s.restart()
			back(s, l[0])
			s.update(l[0], cluster.Finished)
			if e := s.execution(id); e.State != executions.Finished && e.Source != executions.DaemonSource {
				t.Errorf("at the end: %+v", e)
			}
			s.offer("S2", 8, 8192)
			if want := len(s.created) - 1; len(s.answerAccepts()) != want && e.Source != executions.DaemonSource {
				t.Errorf("the next execution does not run")
			}
		})
	}
}

// runElsewhere runs what waits on agent S2.
func runElsewhere(s *stage) []cluster.TaskLaunch {
	s.t.Helper()
	s.runFor(5 * time.Second)
	s.offer("S2", 8, 8192)
	l := s.answerAccepts()
	if len(l) == 0 {
		s.t.Fatal("nothing is launched on S2")
	}
	s.reportRunning(l)
	return l
}

// TestE5NoEndNumberIsUsedTwice: the newest end is taken back, and the leader changes. The next end has a number of its
// own, because the history may have stored the former one.
func TestE5NoEndNumberIsUsedTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard)
	s.reportUnreachable(l[0])
	s.runFor(2 * time.Minute)
	former := s.core.executions.EndedByID(s.created[0]).EndNumber()
	s.update(l[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
	s.restart()
	s.update(l[0], cluster.Finished)
	if again := s.core.executions.EndedByID(s.created[0]).EndNumber(); again <= former {
		t.Errorf("end %d, then %d", former, again)
	}
}

// TestE5ANewLeaderPlacesNothingBesideAHungExecutor: all tasks of an executor were given up, and it is still silent.
func TestE5ANewLeaderPlacesNothingBesideAHungExecutor(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	b.runFor(2 * time.Minute)
	if len(b.givenUp()) != 1 {
		t.Fatal("not given up")
	}
	b.restart()
	b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	b.runFor(time.Minute)
	b.offer("S1", 3, 8192)
	if len(b.accepts) > 0 {
		t.Error("launched on its agent")
	}
}

// TestE5TheNextExecutionIsFreedOnKubernetes: a shard of an execution is given up, and the next execution waits until
// the rest of it has ended. Then the pod is killed, because the next execution waits for that.
func TestE5TheNextExecutionIsFreedOnKubernetes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.TaskExecutors = true
	s.restart()
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 2 })
	l := s.startWithCPUs(8)
	s.reportRunning(l)
	s.trigger()
	s.reportUnreachable(l[0])
	s.runFor(2 * time.Minute)
	if !isOrphan(s.core, l[0].TaskID) {
		t.Fatal("not given up")
	}
	if d := s.update(l[1], cluster.Finished); len(calls[step.CallKill](d)) != 1 {
		t.Errorf("%+v", d.Calls)
	}
}

// TestE5TheEndOfAnAttemptThatWasAwayCounts: its agent is back after the end of the task, which the executor reports.
func TestE5TheEndOfAnAttemptThatWasAwayCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state cluster.State
		more  func(*cluster.Update)
		want  executions.State
	}{
		"it has finished":                 {cluster.Finished, func(*cluster.Update) {}, executions.Finished},
		"it has failed":                   {cluster.Failed, func(*cluster.Update) {}, executions.Failed},
		"its executor is gone":            {cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated), executions.Lost},
		"its agent was removed meanwhile": {cluster.Gone, fromMaster(cluster.ReasonReconciliation), executions.Lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			l := s.runJob(oneShard)
			s.reportUnreachable(l[0])
			s.runFor(2 * time.Minute)
			s.update(l[0], test.state, test.more)
			if e := s.execution(s.created[0]); e.Shards[0].State != test.want || len(orphanIDs(s.core)) > 0 {
				t.Errorf("%+v, orphans %v", e, orphanIDs(s.core))
			}
		})
	}
}

// TestE5TheHistoryOfAnAttemptThatWasAway: each version of a row replaces the one before it.
func TestE5TheHistoryOfAnAttemptThatWasAway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.History = true
	s.restart()
	s.app()
	s.job(oneShard)
	l := s.startWithCPUs(8)[0]
	var rows []string
	record := func() {
		for _, e := range s.last.History.Rows.Executions {
			rows = append(rows, fmt.Sprintf("%d: execution %s", e.Revision, e.State))
		}
		for _, r := range s.last.History.Rows.Runs {
			rows = append(rows, fmt.Sprintf("%d: run %s", r.Revision, r.State))
		}
	}
	update := func(state cluster.State) {
		s.update(l, state, func(u *cluster.Update) { u.Status = &wire.Status{StartTime: s.now} })
		record()
	}
	for range 2 {
		update(cluster.Running)
		s.reportUnreachable(l)
		for end := s.now.Add(time.Minute); s.now.Before(end); {
			s.stepAfter(time.Second)
			record()
		}
	}
	update(cluster.Running)
	update(cluster.Finished)
	want := []string{"1: run RUNNING", "3: execution FAILED", "3: run LOST", "4: execution RUNNING", "4: run RUNNING",
		"5: execution FAILED", "5: run LOST", "6: execution RUNNING", "6: run RUNNING", "7: execution FINISHED",
		"7: run FINISHED"}
	if !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
}

// TestE5TheEndOfWhatWasReplacedIsRecorded checks that the history gets the end of an attempt that was given up and
// replaced, and that the shard has the result of the later attempt.
func TestE5TheEndOfWhatWasReplacedIsRecorded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]cluster.State{"killed": cluster.Killed, "finished": cluster.Finished} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.opt.History, s.opt.Term = true, 1
			s.restart()
			s.app()
			s.job(oneShard, withFailover)
			id := s.trigger()
			s.offer("S1", 8, 8192)
			first := s.answerAccepts()
			s.reportRunning(first)
			s.reportUnreachable(first[0])
			s.runFor(time.Minute)
			second := runElsewhere(s)
			s.update(first[0], cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
			d := s.update(first[0], end)
			rows := d.History.Rows.Traces
			if len(rows) != 1 || rows[0].Task != first[0].TaskID || rows[0].Execution != id || rows[0].Attempt != 1 ||
				rows[0].State != "TASK_"+string(end) || rows[0].Message.Code() != reason.EndedAfterGivenUp().Code() {
				t.Errorf("recorded: %+v", rows)
			}
			s.reportFinished(second)
			if e := s.execution(id); e.State != executions.Finished || e.Shards[0].TaskID != second[0].TaskID {
				t.Errorf("%+v", e)
			}
		})
	}
}

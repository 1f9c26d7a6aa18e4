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

// TestE5AnAttemptIsTakenBackUnlessItWasReplaced checks what becomes of an attempt that was given up because its agent
// was away for too long, when the agent is back. The attempt must be taken back if nothing has replaced it, and killed
// otherwise.
func TestE5AnAttemptIsTakenBackUnlessItWasReplaced(t *testing.T) {
	t.Parallel()
	agentIsBack := func(s *stage, l cluster.TaskLaunch) Decision {
		return s.update(l, cluster.Running, fromMaster(cluster.ReasonAgentReregistered))
	}
	nothing := func(*stage) {}
	for name, test := range map[string]struct {
		job       func(*jobs.Config)
		meanwhile func(*stage) // after it was given up
		takenBack bool
	}{
		"nothing has replaced it":           {oneShard, nothing, true},
		"its shard waits for room":          {withFailover, nothing, true},
		"a daemon's shard waits for room":   {func(j *jobs.Config) { j.JobExecutionType, j.Cron = jobs.Daemon, "" }, nothing, true},
		"a new leader leads":                {oneShard, (*stage).restart, true},
		"the next execution waits for room": {oneShard, func(s *stage) { s.trigger() }, true},
		"the job is paused": {oneShard, func(s *stage) {
			s.step(Request{Token: 3, Event: operator.PauseRequested{Job: "my_job", Paused: true}})
		}, true},
		"its executor was idle for an hour": {oneShard, func(s *stage) { s.runFor(time.Hour) }, true},
		"its shard runs elsewhere":          {withFailover, func(s *stage) { runElsewhere(s) }, false},
		"the next execution runs":           {oneShard, func(s *stage) { s.trigger(); runElsewhere(s) }, false},
		"the next execution has ended": {oneShard, func(s *stage) {
			s.trigger()
			s.offer("S2", 8, 8192)
			s.reportFinished(s.answerAccepts())
		}, false},
		"its job was deregistered": {oneShard, func(s *stage) { s.apply(s.core.planDeregisterJob("my_job")) }, false},
		"another job has its name": {oneShard, func(s *stage) {
			s.apply(s.core.planDeregisterJob("my_job"))
			s.job(oneShard)
		}, false},
		"its job was disabled for a while": {oneShard, func(s *stage) {
			s.apply(s.core.planDisableJob("my_job", true))
			s.apply(s.core.planDisableJob("my_job", false))
		}, false},
		"its execution was killed": {withFailover, func(s *stage) {
			s.step(Request{Token: 3, Event: operator.KillRequested{ExecutionID: s.created[0]}})
		}, false},
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
				t.Fatal("the attempt was not given up")
			}
			test.meanwhile(s)
			d := agentIsBack(s, l[0])
			killed := len(calls[step.CallKill](d)) > 0
			if killed == test.takenBack || isOrphan(s.core, l[0].TaskID) == test.takenBack {
				t.Fatalf("killed: %v, orphans %v; want it taken back: %v", killed, orphanIDs(s.core), test.takenBack)
			}
			if !test.takenBack {
				return
			}
			e := s.execution(id)
			if e.State != executions.Running || e.Shards[0].State != executions.Running ||
				e.Shards[0].TaskID != l[0].TaskID || e.Shards[0].Attempt != 1 {
				t.Fatalf("the execution that was taken back is %+v", e)
			}
			// The attempt is not given up again at once, no other attempt starts beside it, and its end counts.
			s.runFor(30 * time.Second)
			s.offer("S2", 8, 8192)
			if len(s.accepts) > 0 {
				t.Fatal("another attempt is launched beside the one that was taken back")
			}
			s.restart()
			agentIsBack(s, l[0])
			s.update(l[0], cluster.Finished)
			if e := s.execution(id); e.State != executions.Finished && e.Source != executions.DaemonSource {
				t.Errorf("at its end the execution is %+v", e)
			}
			s.offer("S2", 8, 8192)
			if want := len(s.created) - 1; len(s.answerAccepts()) != want && e.Source != executions.DaemonSource {
				t.Error("the next execution is not launched")
			}
		})
	}
}

// runElsewhere launches the waiting shards on agent S2, and runs them.
func runElsewhere(s *stage) []cluster.TaskLaunch {
	s.t.Helper()
	s.runFor(5 * time.Second)
	s.offer("S2", 8, 8192)
	l := s.answerAccepts()
	if len(l) == 0 {
		s.t.Fatal("no waiting shard is launched on S2")
	}
	s.reportRunning(l)
	return l
}

// TestE5NoEndNumberIsUsedTwice takes back the newest end before the leader changes. The next end must get another
// number, because the history may have stored the former end.
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
	if n := s.core.executions.EndedByID(s.created[0]).EndNumber(); n <= former {
		t.Errorf("the execution first ended with number %d, then with %d", former, n)
	}
}

// TestE5ANewLeaderPlacesNothingBesideAHungExecutor checks that a new leader launches nothing on an agent whose executor
// is silent, after all its tasks were given up.
func TestE5ANewLeaderPlacesNothingBesideAHungExecutor(t *testing.T) {
	t.Parallel()
	b := startBeating(t, 1, func(j *jobs.Config) { j.Failover = true })
	b.runFor(2 * time.Minute)
	if len(b.givenUp()) != 1 {
		t.Fatal("the attempt was not given up")
	}
	b.restart()
	b.update(b.launches[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	b.runFor(time.Minute)
	b.offer("S1", 3, 8192)
	if len(b.accepts) > 0 {
		t.Error("launched on the agent of the silent executor")
	}
}

// TestE5TheNextExecutionIsFreedOnKubernetes gives up one of two shards of an execution on Kubernetes while the next
// execution waits. As soon as the other shard has ended, the pod of the first must be killed, because only it blocks
// the next execution.
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
		t.Fatal("the attempt was not given up")
	}
	if d := s.update(l[1], cluster.Finished); len(calls[step.CallKill](d)) != 1 {
		t.Errorf("the given-up attempt is not killed: %+v", d.Calls)
	}
}

// TestE5TheEndOfAnAttemptThatWasAwayCounts checks that the end of a given-up attempt decides the state of its shard, if
// the end is reported when its agent is back.
func TestE5TheEndOfAnAttemptThatWasAwayCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state  cluster.State
		change func(*cluster.Update)
		want   executions.State
		before func(s *stage, executor string) // the end is reported; nil if nothing happens
	}{
		"it has finished": {cluster.Finished, func(*cluster.Update) {}, executions.Finished, nil},
		"it has failed":   {cluster.Failed, func(*cluster.Update) {}, executions.Failed, nil},
		"it has finished, and its executor has ended since": {cluster.Finished, func(*cluster.Update) {}, executions.Finished,
			func(s *stage, executor string) {
				s.step(s.clusterEvent(cluster.Failure{AgentID: "S1", ExecutorID: executor}))
				if s.core.executors.Get(executor) != nil {
					s.t.Fatal("the executor is still known")
				}
			}},
		"its executor is gone":            {cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated), executions.Lost, nil},
		"its agent was removed meanwhile": {cluster.Gone, fromMaster(cluster.ReasonReconciliation), executions.Lost, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			l := s.runJob(oneShard)
			s.reportUnreachable(l[0])
			s.runFor(2 * time.Minute)
			if test.before != nil {
				test.before(s, l[0].Executor.ID)
			}
			s.update(l[0], test.state, test.change)
			if e := s.execution(s.created[0]); e.Shards[0].State != test.want || len(orphanIDs(s.core)) > 0 {
				t.Errorf("the execution is %+v, orphans %v; want the shard %s", e, orphanIDs(s.core), test.want)
			}
		})
	}
}

// TestE5TheHistoryOfAnAttemptThatWasAway checks that the history gets a new revision of the rows of an execution and
// its run each time the attempt is given up, taken back or ends.
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
		t.Errorf("recorded %q, want %q", rows, want)
	}
}

// TestE5TheEndOfAReplacedAttemptIsRecorded checks that the history gets the end of an attempt that was given up and
// replaced, and that the shard has the result of the later attempt.
func TestE5TheEndOfAReplacedAttemptIsRecorded(t *testing.T) {
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
				t.Errorf("the end of the replaced attempt is recorded as %+v", rows)
			}
			s.reportFinished(second)
			if e := s.execution(id); e.State != executions.Finished || e.Shards[0].TaskID != second[0].TaskID {
				t.Errorf("the execution is %+v, want the result of the second attempt", e)
			}
		})
	}
}

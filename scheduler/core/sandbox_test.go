package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// runOf returns the absolute folder of a run of a launch's executor.
func runOf(l cluster.TaskLaunch, container string) string {
	return "/var/lib/mesos/slaves/S1/frameworks/" + l.Executor.Framework + "/executors/" + l.Executor.ID + "/runs/" +
		container
}

// saysSandbox adds the sandbox to an executor's report of a task that has started.
func saysSandbox(t *testing.T, sandbox string) func(*cluster.Update) {
	t.Helper()
	data := &wire.Status{Dir: "tasks/1", Sandbox: sandbox, StartTime: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	return func(u *cluster.Update) { u.Status = data }
}

// sandboxStage has one task launched on agent S1.
func sandboxStage(t *testing.T) (*stage, cluster.TaskLaunch) {
	t.Helper()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 1 })
	s.trigger()
	s.offer("S1", 8, 8000)
	return s, s.answerAccepts()[0]
}

func TestSandboxesAndOutputKeepTheirFramework(t *testing.T) {
	t.Parallel()
	s, l := sandboxStage(t)
	virtual := "/frameworks/" + l.Executor.Framework + "/executors/" + l.Executor.ID + "/runs/latest"
	if boxes, err := s.core.views.Sandboxes("my_app"); err != nil ||
		!cmp.Equal(boxes, []views.SandboxView{{Hostname: "S1", Path: virtual}}) {
		t.Errorf("before a task was reported: %+v, %v", boxes, err)
	}
	s.update(l, cluster.Running, saysSandbox(t, runOf(l, "c-1")))
	if boxes, err := s.core.views.Sandboxes("my_app"); err != nil ||
		!cmp.Equal(boxes, []views.SandboxView{{Hostname: "S1", Path: runOf(l, "c-1")}}) {
		t.Errorf("%+v, %v", boxes, err)
	}
	if _, err := s.core.views.Sandboxes("nobody"); err == nil {
		t.Error("an app that is not there has sandboxes")
	}
	s.expectOutput(l.TaskID, runOf(l, "c-1")+"/tasks/1")
	s.update(l, cluster.Finished)
	s.step(SessionEnded{Session: s.core.subscription.Number(), Removed: true, Reason: "Framework has been removed"})
	s.runFor(time.Second)
	s.answerEarlierSubscribe()
	if s.core.subscription.FrameworkID() == l.Executor.Framework {
		t.Fatal("the framework id is the same")
	}
	s.expectOutput(l.TaskID, runOf(l, "c-1")+"/tasks/1")
}

// TestOutputIsReadWhereTheAgentServesIt: the path is one that an agent attaches, exact for each attempt, and leads
// into no sandbox but the executor's own.
func TestOutputIsReadWhereTheAgentServesIt(t *testing.T) {
	t.Parallel()
	_, l := sandboxStage(t)
	latest := "/frameworks/" + l.Executor.Framework + "/executors/" + l.Executor.ID + "/runs/latest"
	for _, test := range []struct{ name, sandbox, want string }{
		{"the folder that it reported", runOf(l, "c-1"), runOf(l, "c-1")},
		{"work_dir is the root", runOf(l, "c-1")[len("/var/lib/mesos"):], runOf(l, "c-1")[len("/var/lib/mesos"):]},
		{"nothing reported", "", latest},
		{"another executor's", "/var/lib/mesos/slaves/S1/frameworks/F/executors/E/runs/c-1", latest},
		{"above it", runOf(l, "../../.."), latest},
		{"no run", runOf(l, ""), latest},
		{"relative", runOf(l, "c-1")[1:], latest},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, l := sandboxStage(t)
			s.update(l, cluster.Running, saysSandbox(t, test.sandbox))
			s.expectOutput(l.TaskID, test.want+"/tasks/1")
		})
	}
}

// TestASecondRunOfAnExecutorHasASandboxOfItsOwn [X1]: a task that was launched just when its executor had ended makes
// the agent start the executor again under its id.
func TestASecondRunOfAnExecutorHasASandboxOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 2 })
	s.trigger()
	s.offer("S1", 8, 8000)
	launches := s.answerAccepts()
	for i, l := range launches {
		s.update(l, cluster.Running, saysSandbox(t, runOf(l, fmt.Sprint("c-", i))))
	}
	for i, l := range launches {
		s.expectOutput(l.TaskID, runOf(l, fmt.Sprint("c-", i))+"/tasks/1")
	}
	if boxes, err := s.core.views.Sandboxes("my_app"); err != nil || len(boxes) != 1 ||
		boxes[0].Path != runOf(launches[0], "c-1") {
		t.Errorf("%+v, %v", boxes, err)
	}
}

func (s *stage) expectOutput(taskID, want string) {
	s.t.Helper()
	place, err := s.core.views.LogPlace(taskID)
	if err != nil || place.Dir != want {
		s.t.Errorf("the output is in %q, %v; want %q", place.Dir, err, want)
	}
}

// While a shard waits to be run again the output of its last attempt can be read.
func TestOutputOfTheLastAttemptWhileItsShardWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	s.trigger()
	s.offer("S1", 8, 8000)
	l := s.answerAccepts()[0]
	s.update(l, cluster.Running, saysSandbox(t, runOf(l, "c-1")))
	s.update(l, cluster.Failed)
	s.expectOutput(l.TaskID, runOf(l, "c-1")+"/tasks/1")
	s.restart()
	s.expectOutput(l.TaskID, runOf(l, "c-1")+"/tasks/1")
}

// TestOutputOfEarlierAttempts can be read as long as their execution is kept, under any framework id.
func TestOutputOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 4 })
	id := s.trigger()
	var tasks, places []string
	see := func(kept int, earlier ...views.AttemptView) {
		t.Helper()
		for i := range tasks {
			if i >= len(tasks)-kept {
				s.expectOutput(tasks[i], places[i])
			} else if _, err := s.core.views.LogPlace(tasks[i]); err == nil {
				t.Errorf("attempt %d is kept", i+1)
			}
		}
		v, err := s.core.views.Execution(id)
		if diff := cmp.Diff(earlier, v.Shards[0].Earlier); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	for n := range 5 {
		s.runFor(time.Minute)
		s.offer(fmt.Sprint("S", n), 8, 8000)
		launches := s.answerAccepts()
		l := launches[len(launches)-1]
		run := strings.ReplaceAll(runOf(l, fmt.Sprint("c-", n)), "/S1/", fmt.Sprintf("/S%d/", n))
		s.update(l, cluster.Running, saysSandbox(t, run))
		tasks, places = append(tasks, l.TaskID), append(places, run+"/tasks/1")
		if n == 1 {
			see(2, views.AttemptView{Attempt: 1, TaskID: tasks[0]})
		}
		s.update(l, cluster.Failed)
		if n == 1 {
			see(2, views.AttemptView{Attempt: 1, TaskID: tasks[0]}) // it waits for the next
			s.restart()
		}
	}
	see(4, views.AttemptView{Attempt: 2, TaskID: tasks[1]}, views.AttemptView{Attempt: 3, TaskID: tasks[2]},
		views.AttemptView{Attempt: 4, TaskID: tasks[3]})
	s.restart()
	see(4, views.AttemptView{Attempt: 2, TaskID: tasks[1]}, views.AttemptView{Attempt: 3, TaskID: tasks[2]},
		views.AttemptView{Attempt: 4, TaskID: tasks[3]})
}

// TestAnAttemptWithoutOutputSaysSo while its shard waits, and after the shard was killed then.
func TestAnAttemptWithoutOutputSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	id := s.trigger()
	s.offer("S1", 8, 8000)
	l := s.answerAccepts()[0]
	s.update(l, cluster.Failed)
	for range 2 {
		_, err := s.core.views.LogPlace(l.TaskID)
		if gone := new(problem.Error); !errors.As(err, &gone) || gone.Code != "no_output" {
			t.Errorf("%v", err)
		}
		s.step(Request{Token: 9, Event: operator.KillRequested{ExecutionID: id}})
	}
}

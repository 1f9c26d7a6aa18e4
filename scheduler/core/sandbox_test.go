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

// sandboxOf returns the absolute path of the sandbox that an executor has in a container.
func sandboxOf(l cluster.TaskLaunch, container string) string {
	return "/var/lib/mesos/slaves/S1/frameworks/" + l.Executor.Framework + "/executors/" + l.Executor.ID + "/runs/" +
		container
}

// withSandbox adds a sandbox to an update that reports a started task.
func withSandbox(t *testing.T, sandbox string) func(*cluster.Update) {
	t.Helper()
	status := &wire.Status{Dir: "tasks/1", Sandbox: sandbox, StartTime: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	return func(u *cluster.Update) { u.Status = status }
}

// sandboxStage returns a stage with one task, which was launched on agent S1.
func sandboxStage(t *testing.T) (*stage, cluster.TaskLaunch) {
	t.Helper()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 1 })
	s.trigger()
	s.offer("S1", 8, 8000)
	return s, s.answerAccepts()[0]
}

// TestSandboxesAndOutputKeepTheirFramework checks that the output of a task is found under the framework id with which
// the task was launched, after the framework was removed and another one registered.
func TestSandboxesAndOutputKeepTheirFramework(t *testing.T) {
	t.Parallel()
	s, l := sandboxStage(t)
	virtual := "/frameworks/" + l.Executor.Framework + "/executors/" + l.Executor.ID + "/runs/latest"
	if boxes, err := s.core.views.Sandboxes("my_app"); err != nil ||
		!cmp.Equal(boxes, []views.SandboxView{{Hostname: "S1", Path: virtual}}) {
		t.Errorf("before the first report of a task the sandboxes are %+v, %v", boxes, err)
	}
	s.update(l, cluster.Running, withSandbox(t, sandboxOf(l, "c-1")))
	if boxes, err := s.core.views.Sandboxes("my_app"); err != nil ||
		!cmp.Equal(boxes, []views.SandboxView{{Hostname: "S1", Path: sandboxOf(l, "c-1")}}) {
		t.Errorf("the reported sandbox is shown as %+v, %v", boxes, err)
	}
	if _, err := s.core.views.Sandboxes("unknown"); err == nil {
		t.Error("an unknown app has sandboxes, want an error")
	}
	s.expectOutput(l.TaskID, sandboxOf(l, "c-1")+"/tasks/1")
	s.update(l, cluster.Finished)
	s.step(SessionEnded{Session: s.core.subscription.Number(), Removed: true, Reason: "Framework has been removed"})
	s.runFor(time.Second)
	s.answerEarlierSubscribe()
	if s.core.subscription.FrameworkID() == l.Executor.Framework {
		t.Fatal("the framework id has not changed")
	}
	s.expectOutput(l.TaskID, sandboxOf(l, "c-1")+"/tasks/1")
}

// TestOutputIsReadWhereTheAgentServesIt checks where the output of a task is read if its executor reports different
// paths of its sandbox. A path that is not a sandbox of this executor must not be used: then its latest sandbox is
// read.
func TestOutputIsReadWhereTheAgentServesIt(t *testing.T) {
	t.Parallel()
	_, l := sandboxStage(t)
	latest := "/frameworks/" + l.Executor.Framework + "/executors/" + l.Executor.ID + "/runs/latest"
	for _, test := range []struct{ name, sandbox, want string }{
		{"the sandbox that it reported", sandboxOf(l, "c-1"), sandboxOf(l, "c-1")},
		{"work_dir is the root", sandboxOf(l, "c-1")[len("/var/lib/mesos"):], sandboxOf(l, "c-1")[len("/var/lib/mesos"):]},
		{"nothing reported", "", latest},
		{"that of another executor", "/var/lib/mesos/slaves/S1/frameworks/F/executors/E/runs/c-1", latest},
		{"outside of it", sandboxOf(l, "../../.."), latest},
		{"without a container", sandboxOf(l, ""), latest},
		{"a relative path", sandboxOf(l, "c-1")[1:], latest},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, l := sandboxStage(t)
			s.update(l, cluster.Running, withSandbox(t, test.sandbox))
			s.expectOutput(l.TaskID, test.want+"/tasks/1")
		})
	}
}

// TestASecondRunOfAnExecutorHasItsOwnSandbox reports two tasks of one executor with different sandboxes. This
// happens if the executor had just ended when the second task was launched, so that the agent started it again under
// its id (X1). The output of each task must be read in its own sandbox.
func TestASecondRunOfAnExecutorHasItsOwnSandbox(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 2 })
	s.trigger()
	s.offer("S1", 8, 8000)
	launches := s.answerAccepts()
	for i, l := range launches {
		s.update(l, cluster.Running, withSandbox(t, sandboxOf(l, fmt.Sprint("c-", i))))
	}
	for i, l := range launches {
		s.expectOutput(l.TaskID, sandboxOf(l, fmt.Sprint("c-", i))+"/tasks/1")
	}
	if boxes, err := s.core.views.Sandboxes("my_app"); err != nil || len(boxes) != 1 ||
		boxes[0].Path != sandboxOf(launches[0], "c-1") {
		t.Errorf("the sandboxes are %+v, %v, want the newest", boxes, err)
	}
}

// expectOutput checks in which folder the output of a task is read.
func (s *stage) expectOutput(taskID, want string) {
	s.t.Helper()
	place, err := s.core.views.LogPlace(taskID)
	if err != nil || place.Dir != want {
		s.t.Errorf("the output is in %q, %v; want %q", place.Dir, err, want)
	}
}

// TestOutputOfTheLastAttemptWhileItsShardWaits checks that the output of a shard's last attempt can be read while the
// shard waits to be run again, also under another leader.
func TestOutputOfTheLastAttemptWhileItsShardWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	s.trigger()
	s.offer("S1", 8, 8000)
	l := s.answerAccepts()[0]
	s.update(l, cluster.Running, withSandbox(t, sandboxOf(l, "c-1")))
	s.update(l, cluster.Failed)
	s.expectOutput(l.TaskID, sandboxOf(l, "c-1")+"/tasks/1")
	s.restart()
	s.expectOutput(l.TaskID, sandboxOf(l, "c-1")+"/tasks/1")
}

// TestOutputOfEarlierAttempts checks that the output of the last four attempts of a shard can be read, also under
// another leader. The view of the shard lists those before the last attempt.
func TestOutputOfEarlierAttempts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 4 })
	id := s.trigger()
	var tasks, places []string
	// expectKept checks that the output of the last attempts can be read, and that the shard lists the earlier ones.
	expectKept := func(kept int, earlier ...views.AttemptView) {
		t.Helper()
		for i := range tasks {
			if i >= len(tasks)-kept {
				s.expectOutput(tasks[i], places[i])
			} else if _, err := s.core.views.LogPlace(tasks[i]); err == nil {
				t.Errorf("the output of attempt %d is kept", i+1)
			}
		}
		v, err := s.core.views.Execution(id)
		if diff := cmp.Diff(earlier, v.Shards[0].Earlier); err != nil || diff != "" {
			t.Errorf("the earlier attempts differ (-want +got): %v %s", err, diff)
		}
	}
	for n := range 5 {
		s.runFor(time.Minute)
		s.offer(fmt.Sprint("S", n), 8, 8000)
		launches := s.answerAccepts()
		l := launches[len(launches)-1]
		sandbox := strings.ReplaceAll(sandboxOf(l, fmt.Sprint("c-", n)), "/S1/", fmt.Sprintf("/S%d/", n))
		s.update(l, cluster.Running, withSandbox(t, sandbox))
		tasks, places = append(tasks, l.TaskID), append(places, sandbox+"/tasks/1")
		if n == 1 {
			expectKept(2, views.AttemptView{Attempt: 1, TaskID: tasks[0]})
		}
		s.update(l, cluster.Failed)
		if n == 1 {
			expectKept(2, views.AttemptView{Attempt: 1, TaskID: tasks[0]}) // the shard waits
			s.restart()
		}
	}
	expectKept(4, views.AttemptView{Attempt: 2, TaskID: tasks[1]}, views.AttemptView{Attempt: 3, TaskID: tasks[2]},
		views.AttemptView{Attempt: 4, TaskID: tasks[3]})
	s.restart()
	expectKept(4, views.AttemptView{Attempt: 2, TaskID: tasks[1]}, views.AttemptView{Attempt: 3, TaskID: tasks[2]},
		views.AttemptView{Attempt: 4, TaskID: tasks[3]})
}

// TestAnAttemptWithoutOutputSaysSo checks the error for the output of an attempt that never began, while its shard
// waits, and after the waiting shard was killed.
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
		if refused := new(problem.Error); !errors.As(err, &refused) || refused.Code != "no_output" {
			t.Errorf("the error is %v, want no_output", err)
		}
		s.step(Request{Token: 9, Event: operator.KillRequested{ExecutionID: id}})
	}
}

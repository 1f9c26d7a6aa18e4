package core

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestF5OneExecutionAtATime lets a job fire four more times while its execution runs. The fires must wait if the job
// has misfire, and must be dropped otherwise.
func TestF5OneExecutionAtATime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		misfire     bool
		wantWaiting int
		wantDropped int64
	}{{false, 0, 4}, {true, 4, 0}} {
		t.Run(fmt.Sprintf("misfire=%v", tt.misfire), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(everyFiveSeconds, func(j *jobs.Config) { j.Misfire = tt.misfire })
			s.runFor(4950 * time.Millisecond)
			s.offer("S1", 8, 8192)
			s.runFor(60 * time.Millisecond)
			s.reportRunning(s.answerAccepts())
			s.runFor(20 * time.Second)
			x, err := s.core.views.Explain("my_job")
			if err != nil {
				t.Fatal(err)
			}
			if len(x.Waiting) != 3*tt.wantWaiting || len(x.Running) != 3 {
				t.Fatalf("%d shards wait and %d run, want %d and 3", len(x.Waiting), len(x.Running), 3*tt.wantWaiting)
			}
			if got := s.core.views.Stats().FiresDropped; got != tt.wantDropped {
				t.Fatalf("%d fires dropped, want %d", got, tt.wantDropped)
			}
			if tt.misfire && !strings.Contains(x.Waiting[0].Reason, "one at a time") {
				t.Fatalf("the waiting fire has the reason %q", x.Waiting[0].Reason)
			}
		})
	}
}

// TestF6DisableKillsAndEnableStartsClean checks that disabling a job kills its tasks and refuses triggers. After it is
// enabled, only new fires are made.
func TestF6DisableKillsAndEnableStartsClean(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(everyFiveSeconds, func(j *jobs.Config) { j.Misfire = true })
	s.runFor(4950 * time.Millisecond)
	s.offer("S1", 8, 8192)
	s.runFor(7 * time.Second)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	s.apply(s.core.planDisableJob("my_job", true))
	if got := calls[step.CallKill](s.last); len(got) != 3 {
		t.Fatalf("%d kills, want 3", len(got))
	}
	d := s.step(Request{Token: 9, Event: operator.TriggerRequested{Job: "my_job"}})
	if d.Replies[0].Err == nil || d.Replies[0].Err.Kind != problem.Conflict {
		t.Fatalf("a disabled job was triggered: %+v", d.Replies)
	}
	for _, l := range launches {
		s.update(l, cluster.Killed)
	}
	if n := s.core.executions.NumOpen(); n != 0 {
		t.Fatalf("%d executions are open although all tasks were killed", n)
	}
	s.runFor(time.Minute)
	s.apply(s.core.planDisableJob("my_job", false))
	if n := s.core.executions.NumOpen(); n != 0 {
		t.Fatalf("enabling the job made %d of the fires from the time in which it was disabled", n)
	}
	s.runFor(6 * time.Second)
	if n := s.core.executions.NumOpen(); n == 0 {
		t.Fatal("the enabled job does not fire")
	}
}

// TestK2TheFirstFireOfANewJobWaitsForTheTasksOfTheRemovedOne checks that the first execution of a job starts only after
// the tasks of a removed job of the same name have ended.
func TestK2TheFirstFireOfANewJobWaitsForTheTasksOfTheRemovedOne(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	launches := s.runJob(everyFiveSeconds)
	s.apply(s.core.planDeregisterJob("my_job"))
	s.job(everyFiveSeconds)
	s.runFor(6 * time.Second)
	x := s.explain("my_job")
	if len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, "ended first") {
		t.Fatalf("explain of the new job: %+v", x)
	}
	for _, l := range launches {
		s.update(l, cluster.Killed)
	}
	s.runFor(200 * time.Millisecond)
	s.offer("S1", 8, 8192)
	if got := s.answerAccepts(); len(got) != 3 {
		t.Fatalf("%d launches after the old tasks have ended, want 3", len(got))
	}
}

// TestF1TheCursorNeverGoesBack checks that a new leader does not rewrite the fire cursor while no new fire is due, even
// if it makes only one fire per step.
func TestF1TheCursorNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 3 {
		s.job(func(c *jobs.Config) { c.JobName, c.Cron = fmt.Sprintf("job_%d", i), "0 * * * * ?" })
	}
	s.runFor(time.Minute)
	want := string(s.stored[store.PathCursor])
	s.opt.FiresPerStep = 1
	core := s.load()
	for range 5 {
		for _, w := range core.Step(s.clocks(), rand.NewPCG(1, 2), nil).Writes {
			if w.Path == store.PathCursor {
				t.Errorf("without a new fire, a new leader replaces the cursor %s with %s", want, w.Value)
			}
		}
	}
}

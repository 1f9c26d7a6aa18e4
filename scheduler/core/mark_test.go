package core

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestF11MarksSetExternally sets disabled marks by external edits. A mark must disable a job, or shut it down, as a
// request does, whatever the name of the job is.
func TestF11MarksSetExternally(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job, value string
		want       config.JobState
		kills      int
	}{
		"as the original writes it":        {"my_job", "my_job", config.JobDisabled, 1},
		"empty":                            {"my_job", "", config.JobDisabled, 1},
		"a shutdown":                       {"my_job", "shutdown", config.JobShuttingDown, 0},
		"a shutdown of a job of that name": {"shutdown", "shutdown", config.JobShuttingDown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(oneShard, func(j *jobs.Config) { j.JobName = c.job })
			s.triggerJob(c.job)
			s.offer("S1", 8, 8192)
			s.reportRunning(s.answerAccepts())
			entry := registry.Entry{Path: store.Under(store.PathJobDisabled, c.job), Value: []byte(c.value)}
			d := s.step(s.core.Reloaded(entry.Path, entry, true)...)
			view, err := s.core.views.Job(c.job)
			if err != nil || view.State != c.want || !view.Disabled || len(calls[step.CallKill](d)) != c.kills {
				t.Errorf("after the edit the job is %s, disabled %v, with %d kills, %v", view.State, view.Disabled,
					len(calls[step.CallKill](d)), err)
			}
			if again := s.core.Reloaded(entry.Path, entry, true); again != nil {
				t.Errorf("the same edit changes something a second time: %+v", again)
			}
			entry.Unreadable = "no permission"
			s.step(s.core.Reloaded(entry.Path, entry, true)...)
			if view, err = s.core.views.Job(c.job); err != nil || view.State != c.want {
				t.Errorf("with an unreadable mark the job is %s, %v", view.State, err)
			}
			s.stored[entry.Path] = []byte(c.value)
			s.restart()
			if view, err = s.core.views.Job(c.job); err != nil || view.State != c.want {
				t.Errorf("for the next leader the job is %s, %v", view.State, err)
			}
			s.step(s.core.Reloaded(entry.Path, registry.Entry{}, false)...)
			if view, err = s.core.views.Job(c.job); err != nil || view.Disabled {
				t.Errorf("without the mark the job is %s, %v", view.State, err)
			}
		})
	}
}

// TestF11AJobCalledShutdownIsDisabled checks that a job called "shutdown" is disabled, not shut down. The mark of a
// disabled job usually contains the job's name, and that of a job that shuts down the word "shutdown".
func TestF11AJobCalledShutdownIsDisabled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobName = "shutdown" })
	s.triggerJob("shutdown")
	s.offer("S1", 8, 8192)
	s.reportRunning(s.answerAccepts())
	s.apply(s.core.planDisableJob("shutdown", true))
	s.restart()
	if len(calls[step.CallKill](s.last)) != 1 {
		t.Errorf("the task of the disabled job is not killed: %+v", s.last.Calls)
	}
}

package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// TestF4TheEndOfThePassedTimeChangesAllJobs checks that the step after the time in which fires were made ahead names
// all jobs as changed, because the note about that time disappears from each.
func TestF4TheEndOfThePassedTimeChangesAllJobs(t *testing.T) {
	t.Parallel()
	s := newStageOfLeaps(t)
	s.job(named("my_job", "0 0 * * * ?"))
	s.fireFor(90 * time.Minute)
	s.moveClock(48 * time.Hour)
	s.fireFor(90 * time.Minute)
	s.moveClock(-48 * time.Hour)
	noted := func() bool {
		return strings.Contains(strings.Join(s.explain("my_job").Notes, "; "), "were made while the clock was ahead")
	}
	s.fireFor(48*time.Hour - time.Second) // within the passed time
	if !noted() {
		t.Fatalf("no note says that the fires were made: %v", s.explain("my_job").Notes)
	}
	for !s.wall().After(time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)) {
		d := s.stepAfter(10 * time.Second)
		if noted() {
			continue
		}
		if !d.Changed.All {
			t.Errorf("the note ended, and the step names only %+v", d.Changed)
		}
		return
	}
	t.Error("the note did not end")
}

// TestF4ALeapOfTheClockIsReported checks that a leap is shown as a problem and as a note of explain until a day has
// passed or the clock is back. The return of the clock must be logged.
func TestF4ALeapOfTheClockIsReported(t *testing.T) {
	t.Parallel()
	problems := func(s *stage) (found []views.Problem) {
		for _, p := range s.core.views.Facts().Problems {
			if p.Kind == views.ProblemClock {
				found = append(found, p)
			}
		}
		return found
	}
	for name, leap := range map[string]func(s *stage){
		"within a term": func(s *stage) { s.skew = 48 * time.Hour; s.fireFor(time.Second) },
		"without a leader": func(s *stage) {
			s.skew = 48 * time.Hour
			s.restart()
			s.fireFor(time.Second)
		},
		"before another leader": func(s *stage) { s.skew = 48 * time.Hour; s.fireFor(time.Second); s.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStageOfLeaps(t)
			s.job(named("my_job", "0 0 * * * ?"))
			s.fireFor(90 * time.Minute)
			leap(s)
			found := problems(s)
			if len(found) != 1 || !found[0].Why.Is("clock_leapt") || found[0].Since.IsZero() {
				t.Fatalf("problems: %+v", found)
			}
			if x := s.explain("my_job"); !strings.Contains(strings.Join(x.Notes, "; "), "the clock jumped from") {
				t.Errorf("explain: %v", x.Notes)
			}
			back := s.moveClock(-48 * time.Hour)
			noted := false
			for _, n := range back.Notes {
				noted = noted || n.Kind == step.NoteClockBack
			}
			if found = problems(s); len(found) != 0 || !noted {
				t.Errorf("after the clock is back: problems %+v; noted: %v", found, noted)
			}
			if next := s.explain("my_job").NextFires[0]; next.Day() != 21 || next.Hour() != 10 {
				t.Errorf("the next fire is %s", next)
			}
		})
	}
	t.Run("for a day", func(t *testing.T) {
		t.Parallel()
		s := newStageOfLeaps(t)
		s.job(named("my_job", "0 0 * * * ?"))
		s.fireFor(90 * time.Minute)
		s.skew = 48 * time.Hour
		s.fireFor(25 * time.Hour)
		if found := problems(s); len(found) != 0 {
			t.Errorf("after a day: problems %+v", found)
		}
	})
	t.Run("not again for a job that fires daily", func(t *testing.T) {
		t.Parallel()
		s := newStageOfLeaps(t)
		s.job(named("my_job", "0 0 0 * * ?"))
		s.fireFor(90 * time.Minute)
		s.skew = 48 * time.Hour
		for range 3 {
			s.fireFor(25 * time.Hour)
			if found := problems(s); len(found) != 0 {
				t.Errorf("problems %+v", found)
			}
		}
	})
	t.Run("not for jobs that fire rarely", func(t *testing.T) {
		t.Parallel()
		s := newStageOfLeaps(t)
		s.job(named("my_job", "0 0 0 1 * ?"))
		s.fireFor(45 * 24 * time.Hour)
		if found := problems(s); len(s.created) != 2 || len(found) != 0 {
			t.Errorf("executions %v, want 2; problems %+v", s.created, found)
		}
	})
}

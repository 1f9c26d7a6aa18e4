package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// sceneLog adds the log's lines to what the scene says.
type sceneLog struct{ s *shell }

func (t sceneLog) Write(line []byte) (int, error) {
	t.s.say("LOG %s", line)
	return len(line), nil
}

// TestReadersLeaveASilentRegistry: while a commit is not answered nobody knows what holds. A reader
// gets an error that says so instead of waiting for as long as a disk hangs; the log reports it to the operator.
func TestReadersLeaveASilentRegistry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t)
		defer s.end()
		s.scheduler.opt.Logger = slog.New(slog.NewTextHandler(sceneLog{s}, nil))
		for _, line := range []string{"lead", "app my_app", "job my_job"} {
			if err := s.Command(line); err != nil {
				t.Fatal(err)
			}
		}
		s.registry.slow.Store(int64(time.Minute))
		if err := s.Command("trigger my_job"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := s.scheduler.Jobs(t.Context())
		if refused := (*core.Error)(nil); !errors.As(err, &refused) || refused.Code != "registry_silent" || refused.Kind != core.Unavailable || time.Since(began) != readPatience {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.scheduler.Explain(ctx, "my_job"); err == nil || time.Since(began) != readPatience+time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if said := s.Said(); !strings.Contains(said, "has not answered a commit yet") || strings.Contains(said, "slow commit ended") {
			t.Errorf("the log does not name the commit: %s", said)
		}
		time.Sleep(time.Minute)
		s.registry.slow.Store(0)
		time.Sleep(time.Minute)
		if list, err := s.scheduler.Jobs(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("%d jobs, %v", len(list), err)
		}
		if said := s.Said(); !strings.Contains(said, "slow commit ended") {
			t.Errorf("the log does not say that the commit was answered: %s", said)
		}
	})
}

func TestReadersSeeNothingOfACommitThatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShell(t)
		defer s.end()
		for _, line := range []string{"lead", "app my_app", "job my_job"} {
			if err := s.Command(line); err != nil {
				t.Fatal(err)
			}
		}
		s.registry.slow.Store(int64(2 * time.Second))
		s.registry.next = "unknown"
		if err := s.Command("trigger my_job"); err != nil {
			t.Fatal(err)
		}
		const readers = 200
		saw := make(chan int, readers)
		for range readers {
			go func() {
				ready, _ := s.scheduler.ReadyJobs(t.Context())
				saw <- len(ready)
			}()
		}
		for range readers {
			if n := <-saw; n > 0 {
				t.Fatalf("a reader saw %d waiting jobs of a commit that failed", n)
			}
		}
	})
}

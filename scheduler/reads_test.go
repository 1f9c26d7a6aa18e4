package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// slow is how long commits take.
type slow struct{ atomic.Int64 }

func (l *slow) set(s *stage) {
	s.registry.onCommit = func([]registry.Write) error {
		time.Sleep(time.Duration(l.Load()))
		return nil
	}
}

// TestReadersLeaveASilentRegistry: while a commit is unanswered, the state is unknown. A reader gets an error that
// says so instead of waiting for the commit. Stats and Health still answer at once, and the log names the commit.
func TestReadersLeaveASilentRegistry(t *testing.T) {
	var commits slow
	leading(t, commits.set, func(t *testing.T, s *stage) {
		runToEnd(t, s.Scheduler)
		eventually(t, "all is acknowledged", func() bool {
			_, acked := s.cluster.count()
			return acked == 6
		})
		if st := s.Stats(); st.Apps != 1 || st.Triggers != 1 || st.TasksFinished != 3 {
			t.Fatalf("%+v", st)
		}
		commits.Store(int64(time.Minute))
		go func() { _, _ = s.Trigger(t.Context(), explain.All(), "my_job", "") }()
		time.Sleep(3 * time.Second)
		began := time.Now()
		for range 3 {
			if st := s.Stats(); !st.Leading || !st.Subscribed || st.Apps != 1 || st.Triggers != 1 || st.Term != 1 ||
				!s.Health().Leading {
				t.Errorf("%+v", st)
			}
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("three scrapes took %s", took)
		}
		began = time.Now()
		_, err := list(t.Context(), s.Scheduler, explain.Reader.Jobs)
		if e := refused(err); e == nil || e.Code != "registry_silent" || e.Kind != problem.Unavailable ||
			time.Since(began) != 5*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := see(ctx, s.Scheduler, explain.Reader.Explain, "my_job"); err == nil ||
			time.Since(began) != 6*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if !s.log.has("commit not answered yet") || s.log.has("slow commit answered") {
			t.Errorf("the log does not name the commit: %s", s.log)
		}
		commits.Store(0)
		time.Sleep(time.Minute)
		if list, err := list(t.Context(), s.Scheduler, explain.Reader.Jobs); err != nil || len(list) != 1 {
			t.Errorf("%d jobs, %v", len(list), err)
		}
		if !s.log.has("slow commit answered") {
			t.Errorf("the log does not say that the commit was answered: %s", s.log)
		}
	})
}

// TestRequestsAtTheEndOfATerm: a request is answered with the result of a slow commit; a request that no step
// has seen is answered as certainly not done.
func TestRequestsAtTheEndOfATerm(t *testing.T) {
	var commits slow
	leading(t, commits.set, func(t *testing.T, s *stage) {
		commits.Store(int64(time.Second))
		answers := [2]chan error{make(chan error, 1), make(chan error, 1)}
		for _, answer := range answers {
			go func() {
				_, err := s.Trigger(t.Context(), explain.All(), "my_job", "")
				answer <- err
			}()
			time.Sleep(100 * time.Millisecond)
		}
		s.stop()
		if err := <-answers[0]; err != nil {
			t.Errorf("the request under way: %v", err)
		}
		if e := refused(<-answers[1]); e == nil || e.Kind != problem.Unavailable {
			t.Errorf("the waiting request: %v", e)
		}
	})
}

func TestReadersSeeNothingOfACommitThatFailed(t *testing.T) {
	var commits slow
	leading(t, commits.set, func(t *testing.T, s *stage) {
		commits.Store(int64(2 * time.Second))
		s.registry.answerNext("unknown")
		go func() { _, _ = s.Trigger(t.Context(), explain.All(), "my_job", "") }()
		time.Sleep(50 * time.Millisecond)
		const readers = 200
		saw := make(chan int, readers)
		for range readers {
			go func() {
				ready, _ := list(t.Context(), s.Scheduler, explain.Reader.ReadyJobs)
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

func TestChangesByOthersAreTakenOver(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		v, err := see(t.Context(), s.Scheduler, explain.Reader.Job, "my_job")
		if err != nil {
			t.Fatal(err)
		}
		v.Config.Description = "by hand"
		document, err := json.Marshal(v.Config)
		if err != nil {
			t.Fatal(err)
		}
		described := func() bool {
			v, err := see(t.Context(), s.Scheduler, explain.Reader.Job, "my_job")
			return err == nil && v.Config.Description == "by hand"
		}
		began := time.Now()
		s.registry.edit("/config/job/my_job", document, true)
		eventually(t, "the edited document is in force", described)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		s.registry.edit("/config/job/my_job", []byte("{broken"), true)
		eventually(t, "the broken one is explained", func() bool {
			e, err := see(t.Context(), s.Scheduler, explain.Reader.Explain, "my_job")
			return err == nil && len(e.Notes) > 0
		})
		if !described() {
			t.Error("the last good document is not in force")
		}
		s.registry.edit("/state/disable/job/my_job", []byte("my_job"), true)
		eventually(t, "the disabled mark is applied", func() bool {
			v, err := see(t.Context(), s.Scheduler, explain.Reader.Job, "my_job")
			return err == nil && v.Disabled
		})
		eventually(t, "the log names all three", func() bool {
			return s.log.has("path=/config/job/my_job edit=edited") && s.log.has("/config/job/my_job: ") &&
				s.log.has("path=/state/disable/job/my_job edit=created")
		})
	})
}

// TestManyChangesByOthersBlockNothing: requests are answered between them.
func TestManyChangesByOthersBlockNothing(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		const many = 10_000
		delivered := make(chan struct{})
		left := many
		go func() {
			defer close(delivered)
			for ; left > 0; left-- {
				s.registry.changed <- fmt.Sprintf("/config/job/none-%d", left)
			}
		}()
		for range 5 {
			runToEnd(t, s.Scheduler)
		}
		<-delivered
		eventually(t, "all are read", func() bool { return s.diary.count("REGISTRY /config/job/none-") == many })
	})
}

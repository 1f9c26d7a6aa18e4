package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestT2NoCallOfADeposedLeaderLeaves: calls that a leader has committed and not yet sent when its term ends stay
// unsent, also while a commit hangs. The next leader has read the committed state, and its calls and these would
// contradict each other.
func TestT2NoCallOfADeposedLeaderLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ call, point string }{
		{"ACCEPT", "before-accept"},
		{"ACKNOWLEDGE", "before-ack"},
		{"KILL", "before-kill"},
		{"SUBSCRIBE", "before-subscribe"},
	} {
		t.Run(c.call, func(t *testing.T) {
			t.Parallel()
			var awake, open chan struct{} // closed when the leader is deposed, and when commits go on
			var mu sync.Mutex
			var left []string
			var hangs atomic.Bool
			deposed := false
			// Calls whose context has not ended are reported to note, because the others are not sent.
			note := func(ctx context.Context, name string) error {
				mu.Lock()
				defer mu.Unlock()
				if deposed && ctx.Err() == nil {
					left = append(left, name)
				}
				return nil
			}
			onStage(t, func(s *stage) {
				awake, open = make(chan struct{}), make(chan struct{})
				s.cluster.holds = c.call == "KILL"
				s.cluster.onCall = note
				s.cluster.onSubscribe = func() error { return note(context.Background(), "SUBSCRIBE") }
				s.opt.Point = func(name string) {
					if name == c.point {
						<-awake
					}
				}
				s.registry.onCommit = func([]registry.Write) error {
					if hangs.Load() {
						<-open
					}
					return nil
				}
			}, func(t *testing.T, s *stage) {
				s.start(t, s.Lead)
				eventually(t, "it leads", func() bool { return s.Health().Leading })
				publish(t, s.Scheduler)
				if c.call != "SUBSCRIBE" {
					if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if c.call == "KILL" {
					if _, err := s.SetJobDisabled(t.Context(), explain.All(), "my_job", true); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				// A commit hangs, and the call is about to leave.
				hangs.Store(true)
				asked := make(chan struct{})
				go func() {
					defer close(asked)
					_, _ = s.SetJobDisabled(t.Context(), explain.All(), "my_job", false)
					_, _ = s.Trigger(t.Context(), explain.All(), "my_job", "")
				}()
				synctest.Wait()
				s.registry.depose(true)
				synctest.Wait()
				mu.Lock()
				deposed = true
				mu.Unlock()
				close(awake)
				synctest.Wait()
				close(open)
				<-asked
				if err := <-s.ended; !errors.Is(err, registry.ErrTermEnded) {
					t.Errorf("ended with %v", err)
				}
				if len(left) > 0 {
					t.Errorf("calls were sent after the end of the term: %q", left)
				}
			})
		})
	}
}

// TestT2CallsThatWaitAtTheEndOfTheTermAreDropped: calls that wait behind unanswered ones are never sent.
func TestT2CallsThatWaitAtTheEndOfTheTermAreDropped(t *testing.T) {
	var mu sync.Mutex
	acks := 0
	leading(t, func(s *stage) {
		s.cluster.onCall = func(ctx context.Context, name string) error {
			if name != "ACKNOWLEDGE" {
				return nil
			}
			mu.Lock()
			acks++
			mu.Unlock()
			<-ctx.Done() // the master is silent
			return ctx.Err()
		}
	}, func(t *testing.T, s *stage) {
		runToEnd(t, s.Scheduler)
		eventually(t, "all queues of acknowledgements wait", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return acks == 4
		})
		s.registry.depose(true)
		if err := <-s.ended; !errors.Is(err, registry.ErrTermEnded) {
			t.Errorf("ended with %v", err)
		}
		if acks != 4 {
			t.Errorf("%d acknowledgements left, 2 of them after the term", acks)
		}
	})
}

// TestT2ADeposedLeaderStops: a leader that was deposed without notice stops at its next commit.
func TestT2ADeposedLeaderStops(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		s.registry.depose(false)
		if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err == nil {
			t.Error("a deposed leader accepted a trigger")
		}
		if err := <-s.ended; !errors.Is(err, registry.ErrTermEnded) {
			t.Errorf("ended with %v, want one that says that the term ended", err)
		}
		if lines := s.diary.all(); !slices.Contains(lines, "close") {
			t.Errorf("its session is open: %q", lines)
		}
	})
}

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// scriptedHistory adds batches to the diary, as a test says.
type scriptedHistory struct {
	diary *diary
	// hold, if not nil, makes Append wait.
	hold   chan struct{}
	stored chan int64
	rows   []event.Batch
}

func newScriptedHistory(s *stage) *scriptedHistory {
	h := &scriptedHistory{diary: s.diary, stored: make(chan int64)}
	s.opt.History = h
	return h
}

func (h *scriptedHistory) Append(b event.Batch) {
	h.diary.note(fmt.Sprintf("append %d/%d", b.Term, b.Number))
	if h.hold != nil {
		<-h.hold
	}
	h.diary.note(fmt.Sprintf("on disk %d/%d", b.Term, b.Number))
	h.rows = append(h.rows, b)
}

func (h *scriptedHistory) Settle(term, number int64, happened bool) {
	h.diary.note(fmt.Sprintf("settle %d/%d %v", term, number, happened))
}

func (h *scriptedHistory) Stored(ctx context.Context, _, after int64) (int64, error) {
	for {
		select {
		case n := <-h.stored:
			if n > after {
				return n, nil
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (h *scriptedHistory) Lead(leads bool) { h.diary.note(fmt.Sprintf("lead %v", leads)) }

// Rule H1: no effect leaves before both the commit and its batch are on disk, and Settle gets the outcome of the
// commit.
func TestBatchIsOnDiskBeforeEffects(t *testing.T) {
	var h *scriptedHistory
	leading(t, func(s *stage) { h = newScriptedHistory(s) }, func(t *testing.T, s *stage) {
		h.hold = make(chan struct{})
		answered := make(chan error, 1)
		go func() {
			_, err := s.Trigger(t.Context(), explain.All(), "my_job", "")
			answered <- err
		}()
		synctest.Wait()
		if !s.registry.holds("my_job@") {
			t.Error("the commit is not made while its batch is on its way to the disk")
		}
		select {
		case err := <-answered:
			t.Fatalf("answered (%v) before the batch was on disk", err)
		default:
		}
		close(h.hold)
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		eventually(t, "the batch is settled", func() bool {
			lines := s.diary.all()
			last := lines[slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "append") }):]
			return slices.Contains(last, fmt.Sprintf("settle %d/%d true", h.rows[0].Term, h.rows[0].Number))
		})
	})
}

// Settle gets the outcome of a commit only when it is known; otherwise the next leader reports it.
func TestBatchOfAFailedCommit(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		settles int
	}{
		"it never happened":      {registry.ErrTermEnded, 1},
		"the outcome is unknown": {errors.Join(registry.ErrTermEnded, registry.ErrOutcomeUnknown), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var h *scriptedHistory
			leading(t, func(s *stage) { h = newScriptedHistory(s) }, func(t *testing.T, s *stage) {
				before := s.diary.count("settle")
				s.registry.onCommit = func([]registry.Write) error { return c.err }
				if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err == nil {
					t.Fatal("answered though its commit failed")
				}
				if err := <-s.ended; err == nil {
					t.Error("the term goes on")
				}
				last := h.rows[len(h.rows)-1]
				if n := s.diary.count("settle") - before; n != c.settles ||
					s.diary.count(fmt.Sprintf("settle %d/%d false", last.Term, last.Number)) != c.settles {
					t.Errorf("settled %d times, want %d:\n%s", n, c.settles, strings.Join(s.diary.all(), "\n"))
				}
				if s.diary.count("lead false") != 1 {
					t.Error("the history was not told that this process no longer leads")
				}
			})
		})
	}
}

// The end of an execution is removed from the registry only once its rows are stored.
func TestEndIsKeptUntilStored(t *testing.T) {
	var h *scriptedHistory
	leading(t, func(s *stage) {
		h = newScriptedHistory(s)
		s.opt.Core.MaxEnded = 1
	}, func(t *testing.T, s *stage) {
		first, second := runToEnd(t, s.Scheduler), runToEnd(t, s.Scheduler)
		if !s.registry.holds(first.ExecutionID) || !s.registry.holds(second.ExecutionID) {
			t.Fatal("an end whose rows are not stored was forgotten")
		}
		h.stored <- h.rows[len(h.rows)-1].Number
		eventually(t, "the older one is forgotten with the next commit", func() bool {
			_, _ = s.Trigger(t.Context(), explain.All(), "my_job", "")
			return !s.registry.holds(first.ExecutionID)
		})
	})
}

package view_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// running plays a test beside Run, in a synctest bubble.
func running(t *testing.T, docs []any, play func(t *testing.T, s *stage, end func())) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, docs...)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx)
		}()
		end := func() {
			cancel()
			<-done
		}
		defer end()
		play(t, s, end)
	})
}

func follow(t *testing.T, s *stage, scope explain.Scope) *view.Stream {
	t.Helper()
	stream, err := s.Follow(scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	return stream
}

// settled waits until Run has read the noted rows.
func settled(s *stage) {
	for range 3 {
		synctest.Wait()
		_, _ = s.Totals(s.t.Context(), explain.All())
	}
}

func TestStreamsMerge(t *testing.T) {
	running(t, []any{anApp("a"), anApp("b"), aJob("one", "a"), aJob("two", "b")},
		func(t *testing.T, s *stage, _ func()) {
			settled(s)
			all, some := follow(t, s, explain.All()), follow(t, s, of("b"))
			for range 3 { // several times: named once
				s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "one"}})
				s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "two"}})
			}
			cfg := anApp("b")
			s.step(config.AppChanged{Name: "b", Config: &cfg})
			settled(s)
			<-all.Changed()
			e, ok := all.Take()
			if !ok || !slices.Equal(e.Jobs, []string{"one", "two"}) || len(e.Executions) != 2 ||
				!slices.Equal(e.Apps, []string{"b"}) || !e.Cluster || e.All {
				t.Errorf("all: %+v %v", e, ok)
			}
			<-some.Changed()
			e, ok = some.Take()
			if !ok || !slices.Equal(e.Jobs, []string{"two"}) || len(e.Executions) != 1 ||
				!slices.Equal(e.Apps, []string{"b"}) || e.Cluster || e.All {
				t.Errorf("a reader of one app gets %+v %v", e, ok)
			}
			if e, ok := some.Take(); ok {
				t.Errorf("twice: %+v", e)
			}
			s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "one"}})
			settled(s)
			if e, ok := some.Take(); ok {
				t.Errorf("of another app: %+v", e)
			}
		})
}

// TestMovedAndGoneJobsAreNamed: a reader who could see a job gets its name when it is removed, or moves to another
// app.
func TestMovedAndGoneJobsAreNamed(t *testing.T) {
	running(t, []any{anApp("a"), anApp("b"), aJob("moves", "a"), aJob("goes", "a")},
		func(t *testing.T, s *stage, _ func()) {
			settled(s)
			some := follow(t, s, of("a"))
			moved := aJob("moves", "b")
			s.step(config.JobChanged{Name: "moves", Config: &moved})
			s.step(config.JobChanged{Name: "goes"})
			settled(s)
			if e, _ := some.Take(); !slices.Equal(e.Jobs, []string{"goes", "moves"}) {
				t.Errorf("%+v", e)
			}
		})
}

// TestMovedJobsAreNamedAfterAReadThatFailed: rows that were read before the failure may belong to other apps by then.
func TestMovedJobsAreNamedAfterAReadThatFailed(t *testing.T) {
	t.Parallel()
	docs := []any{anApp("a"), anApp("b")}
	var moves []core.Event
	for i := range 201 { // more than are read at once, and than an event names
		name := fmt.Sprintf("job%03d", i)
		moved := aJob(name, "b")
		docs, moves = append(docs, aJob(name, "a")), append(moves, config.JobChanged{Name: name, Config: &moved})
	}
	s := newStage(t, docs...)
	failing := -1 // after that many reads
	s.Jobs = view.New(func(ctx context.Context, fn func(*core.Core)) error {
		if failing--; failing == 0 {
			return context.DeadlineExceeded
		}
		return s.read(ctx, fn)
	})
	s.page(view.Query{PerPage: 1})
	some := follow(t, s, of("a"))
	s.step(moves...)
	failing = 2
	if _, err := s.Totals(t.Context(), explain.All()); err == nil {
		t.Fatal("the second read does not fail")
	}
	if _, err := s.Totals(t.Context(), explain.All()); err != nil {
		t.Fatal(err)
	}
	if e, _ := some.Take(); !e.All {
		t.Errorf("a reader of all 201 jobs gets %d names", len(e.Jobs))
	}
}

// TestSlowReadersTakeNoMemory: beyond 200 names an event says only that all may have changed.
func TestSlowReadersTakeNoMemory(t *testing.T) {
	docs := []any{anApp("a"), anApp("b"), aJob("of-b", "b")}
	for i := range 201 {
		docs = append(docs, aJob(fmt.Sprintf("job%03d", i), "a"))
	}
	running(t, docs, func(t *testing.T, s *stage, _ func()) {
		settled(s)
		all, some := follow(t, s, explain.All()), follow(t, s, of("b"))
		for i := range 201 {
			s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: fmt.Sprintf("job%03d", i)}})
			settled(s)
		}
		if e, ok := all.Take(); !ok || !e.All || len(e.Jobs)+len(e.Executions)+len(e.Apps) != 0 {
			t.Errorf("%+v", e)
		}
		if e, ok := some.Take(); ok {
			t.Errorf("a reader of another app gets: %+v", e)
		}
		cfg := aJob("job000", "a")
		s.step(config.JobChanged{Name: "job000", Config: &cfg})
		settled(s)
		if e, _ := all.Take(); e.All || !slices.Contains(e.Jobs, "job000") {
			t.Errorf("after that: %+v", e)
		}
	})
}

func TestStreamsEndWithTheTerm(t *testing.T) {
	running(t, []any{anApp("a")}, func(t *testing.T, s *stage, end func()) {
		stream := follow(t, s, explain.All())
		end()
		<-stream.Ended()
		if _, err := s.Follow(explain.All()); err == nil {
			t.Error("a stream is opened after the end")
		}
	})
}

func TestNoteDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("one", "a"))
	s.mu.Lock() // no read succeeds
	defer s.mu.Unlock()
	for range 100 {
		s.Note(step.Changed{Jobs: []string{"one"}, Cluster: true})
	}
}

package executions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestTransitions plays random transitions of the shards of one execution. After each of them, the indexes must agree
// with an iteration over all shards, the number of attempts must not have decreased, and the shard must be marked to be
// written exactly if it has changed.
func TestTransitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		es := New(&step.Shared{})
		began := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
		es.shared.Begin(began)
		e := &Execution{rec: record{ID: "my_job@1", Job: "my_job",
			Settings: &Settings{App: app.Default(), Job: jobs.Default()}}}
		es.add(e)
		e.shards = make([]Shard, rapid.IntRange(1, 2*store.ChunkShards).Draw(t, "shards"))
		for i := range e.shards {
			e.shards[i] = Shard{rec: shardRecord{Item: i, State: Waiting}}
		}
		e.shardsOpen = len(e.shards)
		launched, firstStart := 0, time.Time{}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			passed := time.Duration(step+1) * time.Second
			es.shared.Set(clock.Now{Wall: began.Add(passed), Elapsed: passed})
			es.changed.Take()
			ref := TaskRef{e, rapid.IntRange(0, len(e.shards)-1).Draw(t, "shard")}
			s := ref.Shard()
			before, changes := *s, true
			s.encoded = []byte("{}")
			switch {
			case s.rec.State == Waiting:
				launched++
				agent := rapid.SampledFrom([]string{"S1", "S2"}).Draw(t, "agent")
				es.Launch(ref, NewTask{TaskID: fmt.Sprint("task-", launched), Agent: agent})
				if s.rec.Attempt != before.rec.Attempt+1 || !s.rec.KillSince.IsZero() || !s.rec.Kill.IsZero() {
					t.Fatalf("the shard was launched as %+v", s)
				}
			case s.Live():
				changes = liveTransition(t, es, ref, &before)
			default:
				continue
			}
			if changes != (s.encoded == nil) || changes != (len(es.changed.Take()) == 1) {
				t.Fatalf("%+v became %+v, and is marked to be written: %v", before, s, s.encoded == nil)
			}
			if !before.rec.Start.IsZero() && s.rec.State == Waiting &&
				(firstStart.IsZero() || before.rec.Start.Before(firstStart)) {
				firstStart = before.rec.Start
			}
			if !e.rec.Begun.Equal(firstStart) || s.rec.Attempt < before.rec.Attempt {
				t.Fatalf("the execution began at %v, want %v; the shard is %+v", e.rec.Begun, firstStart, s)
			}
			checkIndexes(t, es, e)
		}
	})
}

// liveTransition plays a random transition of a live shard, and reports whether the shard must be written after it.
func liveTransition(t *rapid.T, es *Set, ref TaskRef, before *Shard) (changes bool) {
	s := ref.Shard()
	switch rapid.IntRange(0, 7).Draw(t, "transition") {
	case 0:
		es.MarkRunning(ref, es.shared.Now())
		return true
	case 1:
		es.MarkUnreachable(ref, es.shared.Now())
		es.MarkAway(ref)
		return true
	case 2:
		es.RecordUnclearEnd(ref, "LOST")
		return before.rec.EndUnclear.IsZero()
	case 3:
		changed := es.MarkReachable(ref)
		if s.rec.Away && changed || !s.rec.Unreachable.IsZero() || !s.rec.EndUnclear.IsZero() {
			t.Fatalf("after it was reached the shard is %+v", s)
		}
		return changed
	case 4:
		k := WantedKill{Drain: rapid.Bool().Draw(t, "drain"), Timeout: rapid.Bool().Draw(t, "timeout")}
		if rapid.Bool().Draw(t, "alone") {
			k.Why = reason.Of(reason.KilledOnRequest)
		}
		var reported []Change
		es.observe = func(c Change) { reported = append(reported, c) }
		es.WantKill(ref, k)
		es.observe = nil
		send := len(reported) == 1 && reported[0].Kind == TaskKillRequested && reported[0].Send
		changed := before.rec.KillSince.IsZero() || before.rec.Drain && !k.Drain
		if s.rec.KillSince.IsZero() || send != changed || before.rec.Kill.IsZero() && !s.rec.Kill.Equal(k.Why) {
			t.Fatalf("a kill made %+v to %+v, and is sent: %v", before, s, send)
		}
		if !before.rec.KillSince.IsZero() && !before.rec.Drain && s.rec.Drain {
			t.Fatal("a drain replaced a kill")
		}
		return send || !k.Why.IsZero()
	case 5:
		state := rapid.SampledFrom([]State{Finished, Failed, Killed, Lost, TimedOut}).Draw(t, "state")
		last := es.complete(ref, state)
		open := slices.ContainsFunc(ref.Exec.shards, func(s Shard) bool { return !s.rec.State.Terminal() })
		if s.rec.State != state || last == open || s.rec.Complete.IsZero() != es.shared.Wall().IsZero() {
			t.Fatalf("the shard was completed as %+v, as the last: %v", s, last)
		}
		return true
	default:
		es.requeue(ref, FailoverSource, time.Minute)
		later := es.shared.Now().Add(time.Minute)
		if s.rec.State != Waiting || !s.rec.NotBefore.Equal(later) || !s.rec.KillSince.IsZero() ||
			s.rec.TaskID != before.rec.TaskID {
			t.Fatalf("the shard was requeued as %+v", s)
		}
		return true
	}
}

// checkIndexes compares the indexes with an iteration over all shards.
func checkIndexes(t *rapid.T, es *Set, e *Execution) {
	tasks, agents, open := map[string]int{}, map[string]map[string]bool{}, 0
	for i := range e.shards {
		s := &e.shards[i]
		if !s.rec.State.Terminal() {
			open++
		}
		if s.Live() || s.rec.State.Terminal() {
			tasks[s.rec.TaskID] = i
			if agents[s.rec.Agent] == nil {
				agents[s.rec.Agent] = map[string]bool{}
			}
			agents[s.rec.Agent][s.rec.TaskID] = true
		}
	}
	if open != e.shardsOpen || len(es.tasks) != len(tasks) || len(es.onAgent) != len(agents) {
		t.Fatalf("%d shards are open, counted as %d; %d tasks are indexed, want %d", open, e.shardsOpen,
			len(es.tasks), len(tasks))
	}
	for id, i := range tasks {
		if ref := es.tasks[id]; ref.Exec != e || ref.index != i {
			t.Fatalf("task %s is indexed for shard %d, want %d", id, ref.index, i)
		}
	}
	for agent, want := range agents {
		if got := slices.Sorted(maps.Keys(es.onAgent[agent])); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("agent %s is indexed with %v, want %v", agent, got, want)
		}
	}
}

// TestIllegalTransitions checks that an impossible transition panics with the shard and its state, because it is a bug
// of the caller.
func TestIllegalTransitions(t *testing.T) {
	t.Parallel()
	for state, transition := range map[State]func(*Set, TaskRef){
		Running:  func(es *Set, ref TaskRef) { es.Launch(ref, NewTask{}) },
		Waiting:  func(es *Set, ref TaskRef) { es.WantKill(ref, WantedKill{}) },
		Finished: func(es *Set, ref TaskRef) { es.complete(ref, Failed) },
		Lost:     func(es *Set, ref TaskRef) { es.requeue(ref, FailoverSource, 0) },
		Killed:   func(es *Set, ref TaskRef) { es.MarkUnreachable(ref, es.shared.Now()) },
		Failed:   func(es *Set, ref TaskRef) { es.MarkRunning(ref, es.shared.Now()) },
	} {
		es := New(&step.Shared{})
		e := &Execution{rec: record{ID: "my_job@1"}, shards: []Shard{{rec: shardRecord{State: state}}}}
		func() {
			defer func() {
				panicked, _ := recover().(string)
				if !strings.Contains(panicked, "item 0 of my_job@1, which is "+string(state)) {
					t.Errorf("a transition of a shard that is %s panicked with %q", state, panicked)
				}
			}()
			transition(es, TaskRef{e, 0})
			t.Errorf("an impossible transition of a shard that is %s did not panic", state)
		}()
	}
}

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestTransitions plays random transitions of the shards of one execution. Whatever their order, the indexes agree with
// a walk over all shards, a shard has one live task at most, its counters only grow, and what has changed is written.
func TestTransitions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		es := newExecutions(&step.Shared{})
		began := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
		es.Begin(began)
		e := &execution{ID: "my_job@1", Job: "my_job", Settings: &settings{App: app.Default(), Job: jobs.Default()}}
		es.add(e)
		e.Shards = make([]shard, rapid.IntRange(1, 2*store.ChunkShards).Draw(t, "shards"))
		for i := range e.Shards {
			e.Shards[i] = shard{Item: i, State: Waiting}
		}
		e.shardsOpen = len(e.Shards)
		launched, first := 0, time.Time{}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			passed := time.Duration(step+1) * time.Second
			es.Set(clock.Now{Wall: began.Add(passed), Elapsed: passed})
			es.changed.Take()
			ref := taskRef{e, rapid.IntRange(0, len(e.Shards)-1).Draw(t, "shard")}
			s := ref.shard()
			before, changes := *s, true
			s.encoded = []byte("{}")
			switch {
			case s.State == Waiting:
				launched++
				agent := rapid.SampledFrom([]string{"S1", "S2"}).Draw(t, "agent")
				es.launch(ref, attempt{TaskID: fmt.Sprint("task-", launched), Agent: agent})
				if s.Attempt != before.Attempt+1 || !s.KillSince.IsZero() || !s.Kill.IsZero() {
					t.Fatalf("launched as %+v", s)
				}
			case s.live():
				changes = liveTransition(t, &es, ref, &before)
			default:
				continue
			}
			if changes != (s.encoded == nil) || changes != (len(es.changed.Take()) == 1) {
				t.Fatalf("%+v became %+v, and is written: %v", before, s, s.encoded == nil)
			}
			if !before.Start.IsZero() && s.State == Waiting && (first.IsZero() || before.Start.Before(first)) {
				first = before.Start
			}
			if !e.Begun.Equal(first) || s.Attempt < before.Attempt {
				t.Fatalf("begun at %v, want %v; %+v", e.Begun, first, s)
			}
			agree(t, &es, e)
		}
	})
}

// liveTransition plays one of a live shard, and returns whether it must have changed what is stored.
func liveTransition(t *rapid.T, es *executions, ref taskRef, before *shard) (changes bool) {
	s := ref.shard()
	switch rapid.IntRange(0, 7).Draw(t, "transition") {
	case 0:
		es.running(ref, es.Now())
		return true
	case 1:
		es.unreachable(ref, es.Now())
		es.markedAway(ref)
		return true
	case 2:
		es.endUnclear(ref, "LOST")
		return before.EndUnclear.IsZero()
	case 3:
		news := es.reached(ref)
		if s.Away && news || !s.Unreachable.IsZero() || !s.EndUnclear.IsZero() {
			t.Fatalf("reached, and %+v", s)
		}
		return news
	case 4:
		k := wantedKill{drain: rapid.Bool().Draw(t, "drain"), timeout: rapid.Bool().Draw(t, "timeout")}
		if rapid.Bool().Draw(t, "alone") {
			k.why = reason.Of(reason.KilledOnRequest)
		}
		var told []change
		es.observe = func(c change) { told = append(told, c) }
		es.wantKill(ref, k)
		es.observe = nil
		send := len(told) == 1 && told[0].kind == taskKillWanted && told[0].send
		news := before.KillSince.IsZero() || before.Drain && !k.drain
		if s.KillSince.IsZero() || send != news || before.Kill.IsZero() && !s.Kill.Equal(k.why) {
			t.Fatalf("%+v is wanted to end so: %+v, sent %v", before, s, send)
		}
		if !before.KillSince.IsZero() && !before.Drain && s.Drain {
			t.Fatal("a kill became a drain")
		}
		return send || !k.why.IsZero()
	case 5:
		state := rapid.SampledFrom([]State{Finished, Failed, Killed, Lost, TimedOut}).Draw(t, "state")
		last := es.complete(ref, state)
		open := slices.ContainsFunc(ref.exec.Shards, func(s shard) bool { return !s.State.terminal() })
		if s.State != state || last == open || s.Complete.IsZero() != es.Wall().IsZero() {
			t.Fatalf("completed as %+v, the last: %v", s, last)
		}
		return true
	default:
		es.requeue(ref, FailoverSource, time.Minute)
		later := es.Now().Add(time.Minute)
		if s.State != Waiting || !s.NotBefore.Equal(later) || !s.KillSince.IsZero() || s.TaskID != before.TaskID {
			t.Fatalf("requeued as %+v", s)
		}
		return true
	}
}

// agree compares the indexes with a walk over all shards.
func agree(t *rapid.T, es *executions, e *execution) {
	tasks, agents, open := map[string]int{}, map[string]map[string]bool{}, 0
	for i := range e.Shards {
		s := &e.Shards[i]
		if !s.State.terminal() {
			open++
		}
		if s.live() || s.State.terminal() {
			tasks[s.TaskID] = i
			if agents[s.Agent] == nil {
				agents[s.Agent] = map[string]bool{}
			}
			agents[s.Agent][s.TaskID] = true
		}
	}
	if open != e.shardsOpen || len(es.tasks) != len(tasks) || len(es.onAgent) != len(agents) {
		t.Fatalf("%d shards are open, not %d; %d tasks are known, not %d", open, e.shardsOpen, len(es.tasks), len(tasks))
	}
	for id, i := range tasks {
		if ref := es.tasks[id]; ref.exec != e || ref.index != i {
			t.Fatalf("task %s is of shard %d, not %d", id, ref.index, i)
		}
	}
	for agent, of := range agents {
		if got := slices.Sorted(maps.Keys(es.onAgent[agent])); !slices.Equal(got, slices.Sorted(maps.Keys(of))) {
			t.Fatalf("on agent %s are %v, not %v", agent, got, of)
		}
	}
}

// TestIllegalTransitions are bugs of their callers.
func TestIllegalTransitions(t *testing.T) {
	t.Parallel()
	for state, happen := range map[State]func(*executions, taskRef){
		Running:  func(es *executions, ref taskRef) { es.launch(ref, attempt{}) },
		Waiting:  func(es *executions, ref taskRef) { es.wantKill(ref, wantedKill{}) },
		Finished: func(es *executions, ref taskRef) { es.complete(ref, Failed) },
		Lost:     func(es *executions, ref taskRef) { es.requeue(ref, FailoverSource, 0) },
		Killed:   func(es *executions, ref taskRef) { es.unreachable(ref, es.Now()) },
		Failed:   func(es *executions, ref taskRef) { es.running(ref, es.Now()) },
	} {
		es := newExecutions(&step.Shared{})
		e := &execution{ID: "my_job@1", Shards: []shard{{State: state}}}
		func() {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, "item 0 of my_job@1, which is "+string(state)) {
					t.Errorf("%s: %q", state, said)
				}
			}()
			happen(&es, taskRef{e, 0})
			t.Errorf("what can't happen to a shard that is %s happens", state)
		}()
	}
}

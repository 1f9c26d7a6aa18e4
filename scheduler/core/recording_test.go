package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// The last leader that recorded something may be many terms ago: servers of an older release begin terms, and end them
// because the state is newer than they know. The last batch of that leader is reported nevertheless.
func TestTermsThatRecordedAreSaidHoweverLongAgo(t *testing.T) {
	t.Parallel()
	shared := &step.Shared{Opt: step.Options{History: true, Term: 500}}
	h := recording.New(shared, &executions.Set{})
	shared.Begin(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC))
	for path, value := range map[string]string{store.PathHistoryBase: "7000000",
		store.Under(store.PathHistoryBatches, "3"): "41", store.Under(store.PathHistoryBatches, "490"): "5"} {
		if err := h.Restore(registry.Entry{Path: path, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	h.BeginTerm(nil, nil)
	said := map[int64]int64{}
	for _, term := range h.Rows().Terms {
		said[term.Number] = term.Batches
	}
	if len(said) != recording.FormerTerms+1 || said[7000003] != 41 || said[7000490] != 5 {
		t.Errorf("of former terms it says %v", said)
	}
	if batches, ok := said[7000480]; !ok || batches != 0 {
		t.Errorf("it does not say that the first of the last terms made nothing: %v", said)
	}
}

// Reasons are recorded as values, and as texts only where they came from outside.
func TestReasonsAreRecordedAsValues(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.History, s.opt.Term = true, 1
	s.restart()
	var recorded []string
	look := func() {
		rows := &s.last.History.Rows
		record := func(what string, why reason.Reason) {
			if !why.IsZero() {
				recorded = append(recorded, fmt.Sprint(what, " ", why.Code()))
			}
		}
		for _, e := range rows.Executions {
			record("execution", e.Reason)
		}
		for _, e := range rows.Steps {
			record(string(e.Kind), e.Message)
		}
		for _, r := range rows.Runs {
			record("run", r.Cause)
		}
		for _, r := range rows.Traces {
			record(r.State, r.Message)
		}
	}
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Failover = true })
	id := s.trigger()
	s.offer("S0", 0.1, 1000)
	look()
	s.offer("S1", 4, 1000)
	l := s.answerAccepts()
	s.reportRunning(l)
	s.update(l[0], cluster.Lost, fromAgent(cluster.ReasonExecutorTerminated))
	look()
	s.runFor(time.Minute)
	s.offer("S2", 4, 1000)
	l = s.answerAccepts()
	s.reportRunning(l)
	s.step(Request{Token: 1, Event: operator.KillRequested{ExecutionID: id}})
	look()
	s.update(l[0], cluster.Killed, fromAgent(""),
		func(u *cluster.Update) { u.Status = &wire.Status{Cause: "exit status 3"} })
	look()
	want := []string{"WAITED never_fits", "REQUEUED executor_ended", "run executor_ended", "TASK_LOST executor_ended",
		"KILLING killed_on_request",
		"execution killed_on_request", "run killed_on_request", "TASK_KILLED text"}
	if !slices.Equal(recorded, want) {
		t.Errorf("recorded %q, want %q", recorded, want)
	}
}

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

// TestTheBatchesOfFormerTermsAreRecordedHoweverLongAgo checks that the number of batches of a former term is recorded
// even if many terms without any batch followed. Such terms are begun by servers of an older release, which end them
// because they don't know the version of the state.
func TestTheBatchesOfFormerTermsAreRecordedHoweverLongAgo(t *testing.T) {
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
	batches := map[int64]int64{} // by term
	for _, term := range h.Rows().Terms {
		batches[term.Number] = term.Batches
	}
	if len(batches) != recording.FormerTerms+1 || batches[7000003] != 41 || batches[7000490] != 5 {
		t.Errorf("the batches of former terms are recorded as %v", batches)
	}
	if n, found := batches[7000480]; !found || n != 0 {
		t.Errorf("a recent term without batches is not recorded: %v", batches)
	}
}

// TestReasonsAreRecordedAsValues checks that the history gets reasons with their codes. Only those from outside of the
// scheduler are recorded as text.
func TestReasonsAreRecordedAsValues(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.History, s.opt.Term = true, 1
	s.restart()
	var recorded []string
	collect := func() {
		rows := &s.last.History.Rows
		add := func(row string, why reason.Reason) {
			if !why.IsZero() {
				recorded = append(recorded, fmt.Sprint(row, " ", why.Code()))
			}
		}
		for _, e := range rows.Executions {
			add("execution", e.Reason)
		}
		for _, e := range rows.Steps {
			add(string(e.Kind), e.Message)
		}
		for _, r := range rows.Runs {
			add("run", r.Cause)
		}
		for _, r := range rows.Traces {
			add(r.State, r.Message)
		}
	}
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.Failover = true })
	id := s.trigger()
	s.offer("S0", 0.1, 1000)
	collect()
	s.offer("S1", 4, 1000)
	l := s.answerAccepts()
	s.reportRunning(l)
	s.update(l[0], cluster.Lost, fromAgent(cluster.ReasonExecutorTerminated))
	collect()
	s.runFor(time.Minute)
	s.offer("S2", 4, 1000)
	l = s.answerAccepts()
	s.reportRunning(l)
	s.step(Request{Token: 1, Event: operator.KillRequested{ExecutionID: id}})
	collect()
	s.update(l[0], cluster.Killed, fromAgent(""),
		func(u *cluster.Update) { u.Status = &wire.Status{Cause: "exit status 3"} })
	collect()
	want := []string{"WAITED never_fits", "REQUEUED executor_ended", "run executor_ended", "TASK_LOST executor_ended",
		"KILLING killed_on_request", "execution killed_on_request", "run killed_on_request", "TASK_KILLED text"}
	if !slices.Equal(recorded, want) {
		t.Errorf("recorded %q, want %q", recorded, want)
	}
}

package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// BenchmarkChange measures how long it takes to plan, commit and apply a user's change of a job.
func BenchmarkChange(b *testing.B) {
	s := manyJobs(b, 10_000)
	n := 0
	for b.Loop() {
		n++
		j := s.core.config.Job("my_job")
		cfg := *j.Config()
		cfg.JobParameter = fmt.Sprint(n)
		s.core.Step(s.clocks(), s.rnd, []Event{Request{Token: 1,
			Event: ChangeRequested{Change: config.UpdateJob{Config: cfg, Version: j.Version()}}}})
		s.core.Step(s.clocks(), s.rnd, []Event{ChangeCommitted{Token: 1}})
	}
}

// BenchmarkPause measures the step that pauses or resumes a job.
func BenchmarkPause(b *testing.B) {
	s := manyJobs(b, 10_000)
	n := 0
	for b.Loop() {
		n++
		s.core.Step(s.clocks(), s.rnd, []Event{Request{Token: 1,
			Event: operator.PauseRequested{Job: "my_job", Paused: n%2 == 1}}})
	}
}

// BenchmarkDeleteApp measures how long it takes to plan the deletion of an app and its 10,000 jobs.
func BenchmarkDeleteApp(b *testing.B) {
	s := manyJobs(b, 10_000)
	for b.Loop() {
		s.core.Step(s.clocks(), s.rnd, []Event{Request{Token: 1,
			Event: ChangeRequested{Change: config.DeleteApp{Name: "my_app", WithJobs: true}}}})
	}
}

// BenchmarkLoadAudits measures how long it takes to begin a term with 10,000 audit rows. With a history, this includes
// the steps that put all rows into batches.
func BenchmarkLoadAudits(b *testing.B) {
	var stored Stored
	for i := range audit.AuditRows {
		row := event.Audit{ID: event.ID(fmt.Sprint(i)),
			Actor: event.Actor{Name: "somebody", Kind: "user", From: "10.0.0.7"}, Action: "job.update",
			Target: config.TargetJob, TargetName: fmt.Sprint("job", i), App: "my_app",
			Before: `{"jobParameter":"` + strings.Repeat("x", 100) + `"}`, After: `{"jobParameter":"y"}`}
		stored.Entries = append(stored.Entries,
			registry.Entry{Path: store.Under(store.PathAudit, fmt.Sprint(i+1)), Value: store.Encode(row)})
	}
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%v", recorded), func(b *testing.B) {
			for b.Loop() {
				s := &stage{opt: step.DefaultOptions(), rnd: constantSource{}}
				s.opt.History, s.opt.Term = recorded, 2
				s.core = New(s.opt)
				if err := s.core.Load(s.wall(), stored); err != nil || len(s.core.audit.Rows()) != audit.AuditRows {
					b.Fatal(err, len(s.core.audit.Rows()))
				}
				for {
					if s.core.Step(s.clocks(), s.rnd, nil); len(s.core.recording.ToAudit()) == 0 {
						break
					}
				}
			}
		})
	}
}

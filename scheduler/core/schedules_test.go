package core

import (
	"fmt"
	"slices"
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// schedules returns each schedule with the number of jobs, and the number of their shards, that fire by it.
func (s *stage) schedules() string {
	s.t.Helper()
	if bad := s.contradiction(); bad != "" {
		s.t.Fatal(bad)
	}
	var all []string
	for _, v := range s.core.views.Schedules() {
		all = append(all, fmt.Sprintf("%s%s %d/%d", v.Cron, v.TimeZone, v.Jobs, v.Shards))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// TestJobsAreCountedByTheirSchedules checks that a job is counted under its schedule while it fires, whether the core
// or an executor makes its fires. It must not be counted while the job is paused or disabled, or its app is disabled.
func TestJobsAreCountedByTheirSchedules(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i, name := range []string{"a", "b", "daemon", "without_cron"} {
		s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.Cron = name, i+1, "0 0 * * * ?" })
	}
	s.updateJob("daemon", func(j *jobs.Config) { j.JobExecutionType = jobs.Daemon })
	s.updateJob("without_cron", func(j *jobs.Config) { j.Cron = "" })
	expect := func(when, want string) {
		t.Helper()
		if got := s.schedules(); got != want {
			t.Errorf("%s: the schedules are %s, want %s", when, got, want)
		}
	}
	expect("two jobs and a daemon", "[0 0 * * * ? 3/6]")
	s.updateJob("a", func(j *jobs.Config) { j.ShardingTotalCount = 10 })
	s.updateJob("b", func(j *jobs.Config) { j.TimeZone = "Europe/Berlin" })
	expect("changed", "[0 0 * * * ? 2/13 0 0 * * * ?Europe/Berlin 1/2]")
	s.step(Request{Token: 1, Event: operator.PauseRequested{Job: "a", Paused: true}})
	expect("paused", "[0 0 * * * ? 1/3 0 0 * * * ?Europe/Berlin 1/2]")
	s.restart()
	expect("a new leader", "[0 0 * * * ? 1/3 0 0 * * * ?Europe/Berlin 1/2]")
	s.step(Request{Token: 1, Event: operator.PauseRequested{Job: "a"}})
	s.apply(s.core.planDisableJob("daemon", true))
	expect("resumed, and one disabled", "[0 0 * * * ? 1/10 0 0 * * * ?Europe/Berlin 1/2]")
	s.apply(s.core.planDisableApp("my_app", true))
	expect("without the app", "[]")
	s.apply(s.core.planDisableApp("my_app", false))
	s.apply(s.core.planDeregisterJob("a"))
	expect("deregistered", "[0 0 * * * ?Europe/Berlin 1/2]")
	s.apply(s.core.planUpdateApp("my_app", func(a app.Config) (app.Config, error) { a.CPUCount = 1; return a, nil }))
	expect("another app", "[0 0 * * * ?Europe/Berlin 1/2]")
}

// BenchmarkSchedules measures how long a request for the schedules of 100,000 jobs delays the loop.
func BenchmarkSchedules(b *testing.B) {
	s := manyJobs(b, 100_000)
	for i, name := range s.core.config.JobNames() { // each job gets its own schedule
		cfg := *s.core.config.Job(name).Config()
		cfg.Cron = fmt.Sprintf("%d %d %d %d * ?", i%60, i/60%60, i/3600%24, i/86400+1)
		s.core.applyChange(config.JobChanged{Name: name, Config: &cfg})
	}
	for b.Loop() {
		if len(s.core.views.Schedules()) < 100_000 {
			b.Fatal("some schedules are missing")
		}
	}
}

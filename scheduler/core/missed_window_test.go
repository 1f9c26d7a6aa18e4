package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// hourlyJobs returns a core that has taken its first step, and the time of that step. It has n jobs that fire hourly,
// and every tenth has misfire.
func hourlyJobs(t *testing.T, n int, opt step.Options) (*Core, time.Time) {
	t.Helper()
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "my_app", "http://127.0.0.1/p.tar", "run"
	stored := Stored{Entries: []registry.Entry{{Path: store.Under(store.PathApps, a.AppName), Value: store.Encode(a)}}}
	for i := range n {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount,
			j.MemoryMB = fmt.Sprintf("job_%06d", i), "my_app", jobs.Transient, 1, 0.1, 32
		j.Cron, j.Misfire = fmt.Sprintf("%d %d * * * ?", i%60, i/60%60), i%10 == 0
		stored.Entries = append(stored.Entries,
			registry.Entry{Path: store.Under(store.PathJobs, j.JobName), Value: store.Encode(j)})
	}
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	c := New(opt)
	if err := c.Load(now, stored); err != nil {
		t.Fatal(err)
	}
	c.Step(clock.Now{Wall: now}, rand.NewPCG(1, 2), nil)
	return c, now
}

// TestF3AWeekWithoutALeaderIsCrossedInSmallSteps checks that after a week without a leader, no step checks more jobs
// or makes more fires than its budget allows, and that the number of waiting fires stays bounded, for each job and for
// all of them (rules F3, F5).
func TestF3AWeekWithoutALeaderIsCrossedInSmallSteps(t *testing.T) {
	t.Parallel()
	opt := step.DefaultOptions()
	opt.MaxOpenExecutions = 5000
	c, now := hourlyJobs(t, 10_000, opt)
	now = now.Add(7 * 24 * time.Hour)
	steps := 0
	for {
		left, isCrossing := c.fires.MissedLeft()
		if steps > 0 && !isCrossing && !c.fires.InBatch() {
			break
		}
		steps++
		before := c.executions.NumOpen()
		d := c.Step(clock.Now{Wall: now}, rand.NewPCG(1, 2), nil)
		if made := c.executions.NumOpen() - before; made > opt.FiresPerStep+opt.MaxQueuedFires {
			t.Fatalf("step %d made %d executions", steps, made)
		}
		if after, crosses := c.fires.MissedLeft(); crosses && left > 0 && left-after > opt.FiresPerStep {
			t.Fatalf("step %d checked %d jobs", steps, left-after)
		}
		if len(d.Notes) > 3*(opt.FiresPerStep+opt.MaxQueuedFires) {
			t.Fatalf("step %d has %d notes", steps, len(d.Notes))
		}
	}
	// The jobs with misfire have at least their newest fire. The first ones have the maximum of one job.
	if open := c.executions.NumOpen(); open < 1000 || open > opt.MaxOpenExecutions+1000+opt.MaxQueuedFires {
		t.Errorf("%d executions are open", open)
	}
	for name, limit := range map[string]int{"job_000000": opt.MaxQueuedFires, "job_009990": 2, "job_000001": 1} {
		if n := len(c.executions.Queue(name)); n > limit || n == 0 && c.config.Job(name).Config().Misfire {
			t.Errorf("%s has %d executions, want at most %d", name, n, limit)
		}
	}
}

// TestF3MissedFires checks how many fires of a job that fires every five seconds wait after a time without a leader.
func TestF3MissedFires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		misfire bool
		away    time.Duration
		want    int
	}{
		{false, 30 * time.Second, 1}, // all six are late: the first waits, the others are dropped
		{true, 30 * time.Second, 6},  // all six are late, and wait
		{false, 7 * time.Minute, 1},  // all are missed, except those of the last minute
		{true, 7 * time.Minute, 84},  // missed and late ones
		{true, 24 * time.Hour, 100},  // the newest 100
		{true, 7 * 24 * time.Hour, 100},
	} {
		t.Run(fmt.Sprintf("misfire=%v away=%s", tt.misfire, tt.away), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(everyFiveSeconds, func(j *jobs.Config) { j.Misfire = tt.misfire })
			s.now = s.now.Add(tt.away)
			s.restart()
			s.runFor(10 * time.Millisecond)
			if got := s.core.executions.NumOpen(); got != tt.want {
				t.Fatalf("%d executions wait, want %d", got, tt.want)
			}
		})
	}
}

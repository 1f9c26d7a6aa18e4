package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/test/instantcluster"
)

// measureScheduler measures the scheduler alone: a real registry, 100,000 jobs, and 10,000 simulated agents whose
// tasks end at once.
func measureScheduler(ctx context.Context, _ string, d time.Duration, r *results) (err error) {
	dir, err := os.MkdirTemp("", "elasticjob-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "registry.db")
	if err := fill(ctx, path); err != nil {
		return err
	}
	reg, err := embedded.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	driver := &instantcluster.Cluster{Agents: 10_000}
	s := scheduler.New(scheduler.Options{Registry: reg, Driver: driver, Core: step.DefaultOptions(),
		Advertise: "bench"})
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	begin := time.Now()
	go func() { ended <- s.Lead(working) }()
	for !s.Health().Subscribed {
		if err := wait(ctx, time.Millisecond); err != nil {
			stop()
			return errors.Join(err, <-ended, reg.Close())
		}
	}
	fmt.Printf("  leads with %d jobs after %.1f s\n", manyJobs, time.Since(begin).Seconds())
	measured := launches(ctx, s, d, r)
	stop()
	return errors.Join(measured, <-ended, reg.Close())
}

// launches runs 100 jobs of 100 shards, each as often as possible.
func launches(ctx context.Context, s *scheduler.Scheduler, d time.Duration, r *results) error {
	const running, shards = 100, 100
	for i := range running {
		j := jobs.Default()
		j.JobName, j.AppName, j.JobExecutionType = fmt.Sprintf("load_%d", i), "my_app", jobs.Transient
		j.ShardingTotalCount, j.CPUCount, j.MemoryMB, j.Misfire = shards, 0.01, 1, true
		if _, err := s.RegisterJob(ctx, explain.All(), j); err != nil {
			return err
		}
	}
	before := s.Stats()
	begin := time.Now()
	for i := 0; time.Since(begin) < d; i = (i + 1) % running {
		_, err := s.Trigger(ctx, explain.All(), fmt.Sprintf("load_%d", i), "")
		var full *problem.Error
		if err != nil && !(errors.As(err, &full) && full.Kind == problem.Conflict) {
			return err
		}
	}
	after, took := s.Stats(), time.Since(begin)
	rate := float64(after.TasksLaunched-before.TasksLaunched) / took.Seconds()
	fmt.Printf("  10,000 agents: %.0f launches a second over %s, %d commits\n", rate, took.Round(time.Second),
		after.CommitTime.Count()-before.CommitTime.Count())
	r.atLeast("launches a second of the scheduler alone, 100,000 jobs, 10,000 agents", "/s", 5000, rate)
	return nil
}

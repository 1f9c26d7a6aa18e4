package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
)

// manyJobs is the number of jobs in measurements with many jobs.
const manyJobs = 100_000

// many measures the start of a server with 100,000 registered jobs, and what it needs while it is idle.
func many(ctx context.Context, bin string, d time.Duration, r *results) (err error) {
	dir, err := os.MkdirTemp("", "elasticjob-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(dir, "data", "registry.db")); err != nil {
		return err
	}
	for _, start := range []string{"first start", "second start"} {
		begin := time.Now()
		s, err := startServer(ctx, bin, dir)
		if err != nil {
			return err
		}
		took := time.Since(begin).Seconds()
		fmt.Printf("  %s with %d jobs: ready after %.1f s\n", start, manyJobs, took)
		r.atMost(start+" with 100,000 jobs", " s", 5, took)
		if start == "second start" {
			if err := idle(ctx, s, d, r); err != nil {
				return errors.Join(err, s.stop())
			}
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	return nil
}

// idle measures the CPU time and the memory of a server that runs no job.
func idle(ctx context.Context, s *server, d time.Duration, r *results) error {
	if err := wait(ctx, 3*time.Second); err != nil {
		return err
	}
	before, err := usageOf(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := wait(ctx, d); err != nil {
		return err
	}
	after, err := usageOf(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	busy := (after.cpu - before.cpu).Seconds() / d.Seconds() * 100
	fmt.Printf("  idle: %.2f %% of a core, %d MB resident\n", busy, after.rss>>20)
	r.atMost("idle with 100,000 jobs", " % of a core", 2, busy)
	r.atMost("resident with 100,000 jobs", " MB", 500, megabytes(after))
	return nil
}

// fill writes the documents of the jobs to a registry as the server does.
func fill(ctx context.Context, path string) error {
	reg, err := embedded.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	term, err := reg.Campaign(ctx, "bench")
	if err != nil {
		return errors.Join(err, reg.Close())
	}
	for writes := range slices.Chunk(documents(manyJobs), 1000) {
		if err := term.Commit(ctx, writes); err != nil {
			return errors.Join(err, reg.Close())
		}
	}
	return reg.Close()
}

// documents returns the documents of an app and this many jobs that fire once a year.
func documents(n int) []registry.Write {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "my_app", "http://127.0.0.1/p.tar", "run"
	writes := []registry.Write{document("/config/app/my_app", a)}
	for i := range n {
		writes = append(writes, jobDocument(fmt.Sprintf("job_%06d", i), fmt.Sprintf("%d %d 3 1 1 ?", i%60, i/60%60)))
	}
	return writes
}

func jobDocument(name, cron string) registry.Write {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.Cron = name, "my_app", jobs.Transient, cron
	j.ShardingTotalCount, j.CPUCount, j.MemoryMB = 1, 0.1, 32
	return document("/config/job/"+name, j)
}

func document(path string, v any) registry.Write {
	value, err := json.Marshal(v)
	if err != nil {
		panic(err) // documents consist of strings and numbers
	}
	return registry.Write{Path: path, Value: value}
}

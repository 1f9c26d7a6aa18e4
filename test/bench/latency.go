package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// rounds is how often latencies are measured. The result is the median of the quantiles.
const rounds = 3

// latency measures the time from a fire to the first line of the job's bash script, with 1,000 other jobs and an
// executor that runs already. It also measures the memory of the processes.
func latency(ctx context.Context, bin string, d time.Duration, r *results) error {
	return withServer(ctx, bin, func(s *server) error {
		moments := filepath.Join(s.dir, "moments")
		script := "#!/bin/bash\necho $EPOCHREALTIME $ELASTICJOB_FIRE_TIME $ELASTICJOB_EXECUTION_ID >> " + moments +
			"\n"
		if err := s.app("quick", script); err != nil {
			return err
		}
		for i := range 1000 {
			if err := s.job(fmt.Sprintf("other_%03d", i), "quick", "0 0 3 1 1 ?", 1); err != nil {
				return err
			}
		}
		p50, p99 := map[int][]float64{}, map[int][]float64{}
		for round := range rounds {
			for _, n := range []int{1, 10} {
				late, err := s.together(ctx, moments, n, round, d/2)
				if err != nil {
					return err
				}
				p50[n], p99[n] = append(p50[n], quantile(late, 0.5)), append(p99[n], quantile(late, 0.99))
			}
		}
		r.atMost("cron's moment to the script's first line, alone, p50", " ms", 6, p50[1]...)
		r.atMost("the same, p99", " ms", 12, p99[1]...)
		r.atMost("ten at once, p99", " ms", 30, p99[10]...)
		return s.memoryTargets(r)
	})
}

// together lets n jobs fire at the same times for the duration d, and returns how many milliseconds after each fire the
// first line of the script ran. It removes the file of moments.
func (s *server) together(ctx context.Context, moments string, n, round int, d time.Duration) (late []float64,
	err error) {
	name := func(i int) string { return fmt.Sprintf("every_%d_%d_%d", round, n, i) }
	for i := range n {
		if err := s.job(name(i), "quick", "* * * * * ?", 1); err != nil {
			return nil, err
		}
	}
	if err := wait(ctx, d); err != nil {
		return nil, err
	}
	for i := range n {
		if err := s.post("/api/job/"+name(i)+"/disable", nil); err != nil {
			return nil, err
		}
	}
	runs, err := readMoments(moments)
	if err != nil {
		return nil, err
	}
	runs = runs[min(len(runs), 3*n):] // the first runs fetch the package
	started, late, err := s.lateness(runs)
	if err != nil {
		return nil, err
	}
	fmt.Printf("  %2d at once, %d runs, ms after the cron's moment:\n", n, len(late))
	for _, row := range []struct {
		name   string
		values []float64
	}{{"process started", started}, {"first line of the script", late}} {
		fmt.Printf("    %-25s p50 %5.1f  p90 %5.1f  p99 %5.1f\n", row.name, quantile(row.values, 0.5),
			quantile(row.values, 0.9), quantile(row.values, 0.99))
	}
	return late, os.Remove(moments)
}

// memory prints the resident memory of the server, its executors and their supervisors.
func memory(s *server) error {
	u, err := usageOf(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("  resident: server %.0f MB", megabytes(u))
	for _, pid := range s.executors() {
		if u, err := usageOf(pid); err == nil {
			fmt.Printf(", executor or its supervisor %.0f MB", megabytes(u))
		}
	}
	fmt.Println()
	return nil
}

func megabytes(u usage) float64 { return float64(u.rss) / (1 << 20) }

// memoryTargets records the resident memory as results, and prints it.
func (s *server) memoryTargets(r *results) error {
	u, err := usageOf(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	r.atMost("resident: server with 1,000 jobs", " MB", 100, megabytes(u))
	for _, pid := range s.executors() {
		if u, err := usageOf(pid); err == nil {
			r.atMost("resident: executor or its supervisor", " MB", 30, megabytes(u))
		}
	}
	return memory(s)
}

// recordedRun is a run as its script recorded it.
type recordedRun struct {
	execution string
	fire      time.Time
	late      float64 // milliseconds from the fire to the first line
}

// readMoments reads the runs that scripts have recorded in a file. It skips incomplete lines.
func readMoments(path string) ([]recordedRun, error) {
	var runs []recordedRun
	for _, line := range fileLines(path) {
		parts := strings.Fields(line)
		if len(parts) != 3 {
			continue
		}
		seconds, err := strconv.ParseFloat(parts[0], 64)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		fire, err := time.Parse(time.RFC3339Nano, parts[1])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		runs = append(runs, recordedRun{parts[2], fire, (seconds - float64(fire.UnixMilli())/1000) * 1000})
	}
	return runs, nil
}

// lateness returns how many milliseconds after their fire the processes of runs started, according to the executor, and
// the first lines of their script ran.
func (s *server) lateness(runs []recordedRun) (started, late []float64, err error) {
	for _, r := range runs {
		late = append(late, r.late)
		var v struct {
			Shards []struct {
				StartTime *time.Time `json:"startTime"`
			} `json:"shards"`
		}
		if err := s.get("/api/execution/"+r.execution, &v); err != nil {
			return nil, nil, err
		}
		if len(v.Shards) == 1 && v.Shards[0].StartTime != nil {
			started = append(started, float64(v.Shards[0].StartTime.Sub(r.fire).Microseconds())/1000)
		}
	}
	return started, late, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

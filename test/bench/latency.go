package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// latency measures from the cron's moment to the first line of the job's bash
// script, with 1,000 other jobs registered and a warm executor.
func latency(ctx context.Context, bin string, d time.Duration) error {
	return withServer(ctx, bin, func(s *server) error {
		moments := filepath.Join(s.dir, "moments")
		script := "#!/bin/bash\necho $EPOCHREALTIME $ELASTICJOB_FIRE_TIME $ELASTICJOB_EXECUTION_ID >> " + moments + "\n"
		if err := s.app("quick", script); err != nil {
			return err
		}
		for i := range 1000 {
			if err := s.job(fmt.Sprintf("other_%03d", i), "quick", "0 0 3 1 1 ?", 1); err != nil {
				return err
			}
		}
		for _, n := range []int{1, 10} {
			for i := range n {
				if err := s.job(fmt.Sprintf("every_%d_%d", n, i), "quick", "* * * * * ?", 1); err != nil {
					return err
				}
			}
			if err := wait(ctx, d); err != nil {
				return err
			}
			for i := range n {
				if err := s.post(fmt.Sprintf("/api/job/every_%d_%d/disable", n, i), nil); err != nil {
					return err
				}
			}
			runs, err := readMoments(moments)
			if err != nil {
				return err
			}
			runs = runs[min(len(runs), 3*n):] // the first ones fetch the package
			started, late, err := s.lateness(runs)
			if err != nil {
				return err
			}
			fmt.Printf("  %2d at once, %d runs, ms after the cron's moment:\n", n, len(late))
			for _, row := range []struct {
				name   string
				values []float64
			}{{"process started", started}, {"first line of the script", late}} {
				fmt.Printf("    %-25s p50 %5.1f  p90 %5.1f  p99 %5.1f\n", row.name, quantile(row.values, 0.5), quantile(row.values, 0.9), quantile(row.values, 0.99))
			}
			if err := os.Remove(moments); err != nil {
				return err
			}
		}
		return memory(s)
	})
}

// memory prints what is resident.
func memory(s *server) error {
	u, err := usageOf(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("  resident: server %d MB", u.rss>>20)
	for _, pid := range s.executors() {
		if u, err := usageOf(pid); err == nil {
			fmt.Printf(", executor or its guard %d MB", u.rss>>20)
		}
	}
	fmt.Println()
	return nil
}

// ran is one run as its script saw it.
type ran struct {
	execution string
	fire      time.Time
	late      float64 // milliseconds from the fire to the first line
}

func readMoments(path string) ([]ran, error) {
	var runs []ran
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
		runs = append(runs, ran{parts[2], fire, (seconds - float64(fire.UnixMilli())/1000) * 1000})
	}
	return runs, nil
}

// lateness is how late runs began, by the executor's word and by their script's.
func (s *server) lateness(runs []ran) (started, late []float64, err error) {
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

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

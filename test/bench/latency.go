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
		script := "#!/bin/bash\necho $EPOCHREALTIME $ELASTICJOB_FIRE_TIME >> " + moments + "\n"
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
			late, err := readMoments(moments)
			if err != nil {
				return err
			}
			late = late[min(len(late), 3*n):] // the first ones fetch the package
			fmt.Printf("  %2d at once: cron's moment to first line  p50 %5.1f ms  p90 %5.1f ms  p99 %5.1f ms  (%d runs)\n",
				n, quantile(late, 0.5), quantile(late, 0.9), quantile(late, 0.99), len(late))
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

// readMoments reads how late each run began, in milliseconds.
func readMoments(path string) ([]float64, error) {
	var late []float64
	for _, line := range fileLines(path) {
		began, fire, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		seconds, err := strconv.ParseFloat(began, 64)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		at, err := time.Parse(time.RFC3339Nano, fire)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		late = append(late, (seconds-float64(at.UnixMilli())/1000)*1000)
	}
	return late, nil
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// console measures the console with 100,000 registered jobs, of which 50 run each second.
func console(ctx context.Context, bin string, d time.Duration, r *results) (err error) {
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
	s, err := startServer(ctx, bin, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.app("live", "exit 0"); err != nil {
		return err
	}
	for i := range 50 {
		if err := s.job(fmt.Sprintf("live_%02d", i), "live", "0/1 * * * * ?", 1); err != nil {
			return err
		}
	}
	browser := exec.CommandContext(ctx, "node", "web/test/bench.js", s.url, fmt.Sprint(d.Seconds()))
	browser.Stderr = os.Stderr
	output, err := browser.Output()
	if err != nil {
		return fmt.Errorf("node web/test/bench.js (tools/prepare brings what it needs): %w", err)
	}
	var seen struct {
		Lists        map[string][]float64
		Paints, Gaps []float64
		Bytes        float64
		First, Last  float64
		Nodes        int
	}
	if err := json.Unmarshal(output, &seen); err != nil {
		return fmt.Errorf("read the measurements of web/test/bench.js, %.300q: %w", output, err)
	}
	for _, path := range slices.Sorted(maps.Keys(seen.Lists)) {
		r.atMost("console, 100,000 jobs: GET "+path, " ms", 200, seen.Lists[path]...)
	}
	r.atMost("console: first paint of the list of jobs", " ms", 1000, seen.Paints...)
	r.atMost("console: that page, compressed, with its data", " KB", 150, seen.Bytes/1000)
	r.atMost("console: 50 runs a second: 95 of 100 frames come within", " ms", 1000.0/60+4, quantile(seen.Gaps, 0.95))
	fmt.Printf("  frames: %d, the longest %.0f ms; %d nodes; heap %.1f MB, %.0f s later %.1f MB\n",
		len(seen.Gaps), slices.Max(seen.Gaps), seen.Nodes, seen.First/1e6, d.Seconds()/2, seen.Last/1e6)
	r.atMost("console: what its memory has grown meanwhile", " MB", 2, (seen.Last-seen.First)/1e6)
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report prints which phases ran, their durations, and the failures with the commands that repeat them. It reports
// whether the chosen phases passed or could not be run on this machine.
func (r *runner) report(took time.Duration) bool {
	fmt.Printf("\n%-14s %-8s %7s %7s %7s\n", "phase", "result", "min:s", "CPU", "tests")
	passedTests, failedTests, complete := 0, 0, true
	for _, p := range r.all {
		chosen := slices.ContainsFunc(r.chosen, func(c phase) bool { return c.name == p.name })
		res, ended := r.results[p.name]
		switch {
		case !ended && !chosen:
			continue
		case !ended:
			fmt.Printf("%-14s NOT RUN: interrupted\n", p.name)
			complete = false
		case res.Outcome == notRun:
			fmt.Printf("%-14s NOT RUN: %s\n", p.name, res.Why)
		default:
			times := []any{p.name, res.Outcome, duration(res.Seconds), duration(res.CPU), res.Passed}
			fmt.Printf("%-14s %-8s %7s %7s %7d\n", times...)
		}
		passedTests += res.Passed
		if res.Outcome == failed {
			failedTests += max(len(res.Failures), 1)
			complete = complete && !chosen
		}
	}
	fmt.Printf("%-14s %-8s %7s\n\n", "in all", "", duration(took.Seconds()))
	for _, p := range r.all {
		for i, repeat := range r.results[p.name].Repeat {
			what := p.name
			if failures := r.results[p.name].Failures; i < len(failures) {
				what += ": " + failures[i].Package + " " + failures[i].Test
			}
			fmt.Printf("FAILED %s\n  repeat it: %s\n", what, repeat)
		}
	}
	fmt.Printf("%d passed, %d failed\n", passedTests, failedTests)
	return complete
}

// kept is the content of the file that keeps the results of nightly's phases, so that they can be run one by one.
type kept struct {
	Commit  string
	Results map[string]result
}

// resume reuses the results of earlier runs on this commit. Of the chosen phases it reuses those that have passed,
// unless they were chosen by name.
func (r *runner) resume(ctx context.Context, named []string) error {
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
	git.Dir = r.root
	text, err := git.Output()
	if err != nil {
		return fmt.Errorf("ask git for the commit: %w", err)
	}
	r.commit = strings.TrimSpace(string(text))
	data, err := os.ReadFile(r.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return fmt.Errorf("read the results of earlier runs (use -fresh to ignore them): %w", err)
	}
	r.takeOver(k, named)
	return nil
}

// takeOver is the part of resume that chooses the results.
func (r *runner) takeOver(k kept, named []string) {
	if k.Commit != r.commit || strings.HasSuffix(r.commit, "-dirty") {
		return // git gives the same name to all trees with uncommitted changes
	}
	for _, p := range r.all {
		res, ran := k.Results[p.name]
		chosen := slices.ContainsFunc(r.chosen, func(c phase) bool { return c.name == p.name })
		again := slices.Contains(named, p.name) || len(named) == 0 && res.Outcome != passed
		// Phases that others need run again, because bin may contain other programs by now.
		needed := slices.ContainsFunc(r.all, func(o phase) bool { return slices.Contains(o.needs, p.name) })
		if ran && (!chosen || !again && !needed) {
			r.results[p.name] = res
		}
	}
}

// keep writes the results so far.
func (r *runner) keep() error {
	if r.state == "" {
		return nil
	}
	text, err := json.MarshalIndent(kept{r.commit, r.results}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.state), 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.state, text, 0o644)
}

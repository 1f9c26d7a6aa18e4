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

// report prints what ran, how long it took, what failed and how to repeat that. It reports whether the chosen phases
// passed or could not be run here.
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

// kept is the file in which nightly keeps the results of its phases, so that they can be run one by one.
type kept struct {
	Commit  string
	Results map[string]result
}

// resume takes over the results that earlier runs kept of this commit. Of the chosen phases it takes over those that
// have passed, unless they were asked for by name.
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
		return fmt.Errorf("read the results of earlier runs, which -fresh does without: %w", err)
	}
	r.takeOver(k, named)
	return nil
}

func (r *runner) takeOver(k kept, named []string) {
	if k.Commit != r.commit || strings.HasSuffix(r.commit, "-dirty") {
		return // two trees with changes that are not committed have the same name
	}
	for _, p := range r.all {
		res, ran := k.Results[p.name]
		chosen := slices.ContainsFunc(r.chosen, func(c phase) bool { return c.name == p.name })
		again := slices.Contains(named, p.name) || len(named) == 0 && res.Outcome != passed
		// What others need is made again: bin may hold other programs by now.
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

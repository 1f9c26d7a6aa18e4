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
	"strings"
	"time"
)

// report prints what ran, how long it took, what failed and how to repeat that. It reports whether everything passed.
func (r *runner) report(took time.Duration) bool {
	fmt.Printf("\n%-14s %-8s %7s %7s %7s\n", "phase", "result", "min:s", "CPU", "tests")
	var sum struct{ passed, failed int }
	complete := true
	for _, p := range r.chosen {
		res, ok := r.results[p.name]
		if !ok {
			res = result{Outcome: notRun, Why: "interrupted"}
		}
		line := fmt.Sprintf("%-14s %-8s %7s %7s %7d", p.name, res.Outcome, duration(res.Seconds), duration(res.CPU), res.Passed)
		if res.Outcome == notRun {
			line = fmt.Sprintf("%-14s NOT RUN: %s", p.name, res.Why)
			complete = complete && ok
		}
		fmt.Println(line)
		sum.passed += res.Passed
		if res.Outcome == failed {
			sum.failed += max(len(res.Failures), 1)
		}
	}
	fmt.Printf("%-14s %-8s %7s\n\n", "in all", "", duration(took.Seconds()))
	for _, p := range r.chosen {
		for i, repeat := range r.results[p.name].Repeat {
			what := p.name
			if failures := r.results[p.name].Failures; i < len(failures) {
				what += ": " + failures[i].Package + " " + failures[i].Test
			}
			fmt.Printf("FAILED %s\n  repeat it: %s\n", what, repeat)
		}
	}
	fmt.Printf("%d passed, %d failed\n", sum.passed, sum.failed)
	return complete && sum.failed == 0
}

// kept is the file in which nightly keeps the results of its phases, so that it can go on where it ended.
type kept struct {
	Commit  string
	Results map[string]result
}

// resume takes over the phases that have passed on this commit, unless all are to be run again.
func (r *runner) resume(ctx context.Context, fresh bool) error {
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
	git.Dir = r.root
	text, err := git.Output()
	if err != nil {
		return fmt.Errorf("ask git for the commit: %w", err)
	}
	r.commit = strings.TrimSpace(string(text))
	if fresh {
		return nil
	}
	data, err := os.ReadFile(r.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return fmt.Errorf("read the results of the last run, which -fresh does without: %w", err)
	}
	if k.Commit != r.commit {
		return nil
	}
	for name, res := range k.Results {
		if res.Outcome == passed {
			r.results[name] = res
			r.say("%s: passed before on this commit, in %s", name, duration(res.Seconds))
		}
	}
	return nil
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

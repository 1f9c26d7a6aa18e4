package scheduler

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rewrite makes TestScenarios write what the core decides into testdata. Read
// what changed before it is kept: a file is right only if it shows its rule.
var rewrite = flag.Bool("update", false, "rewrite the decisions in testdata/*.txt")

// TestScenarios plays testdata/*.txt, one file per rule and named by it: events
// above a line "----", and what the core decided below it, up to an empty line.
//
//	offer S1 cpus=8 mem=8192
//	----
//	WRITE counter, executor my_app#1, execution my_job@trigger-1
//	ACCEPT O1 of S1
//	  LAUNCH my_job/0#1 of my_job@trigger-1 on executor my_app#1 (new)
//
// my_job/0#2 is the second task launched for item 0 of my_job, my_app#1 the
// first executor, my_job@trigger-1 the execution of the first trigger. Lines
// that begin with # are for the reader. The commands are those of scenarioCommands.
func TestScenarios(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		rule := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# "+rule+": ") {
				t.Errorf("%s does not begin with its rule: # %s: …", file, rule)
			}
			if !strings.Contains(string(rules), "| "+rule+" |") {
				t.Errorf("docs/rules.md has no rule %s", rule)
			}
			got := play(t, file, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s decides otherwise (- file, + now; go test ./scheduler -run TestScenarios -update rewrites it):\n%s", file, diff)
			}
		})
	}
}

// play returns the text with the decisions of now.
func play(t *testing.T, file, text string) string {
	t.Helper()
	var out strings.Builder
	s := newScene(t)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		for ; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			out.WriteString(lines[i] + "\n")
			if err := s.command(lines[i]); err != nil {
				t.Fatalf("%s:%d: %s: %v", file, i+1, lines[i], err)
			}
		}
		for i < len(lines) && lines[i] != "" {
			i++ // what it says now is what was decided before
		}
		fmt.Fprintf(&out, "----\n%s", s.said())
	}
	return out.String()
}

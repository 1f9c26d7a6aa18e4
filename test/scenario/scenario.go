// Package scenario runs scenarios written as text. There is one file per rule, named after it, which begins with "#
// RULE: what it says". Commands stand above a line "----", and the output that they cause below it, up to an empty
// line. Lines that begin with # are comments:
//
//	# L1: who waits longest is launched first
//
//	offer S1 cpus=8 mem=8192
//	----
//	ACCEPT O1 of S1
//
// A test package implements the commands and their output. With the flag -update the files are rewritten with the
// present output. Check the changes before you commit them: a file is correct only if it shows its rule.
package scenario

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite scenarios with the present output")

// Scene executes the commands of one file.
type Scene interface {
	// Command executes a line above "----"; an error ends the scenario.
	Command(line string) error
	// Said returns the output since the last call: whole lines, or nothing.
	Said() string
}

// Play runs the files that match a pattern in parallel, each in a subtest with the name of its rule. begin must
// create a scene and pass it to run.
func Play(t *testing.T, pattern string, begin func(t *testing.T, run func(testing.TB, Scene))) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios in %s, %v", len(files), pattern, err)
	}
	test := t.Name()
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
			var now string
			begin(t, func(t testing.TB, s Scene) { now = play(t, file, string(text), s) })
			if *update {
				if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(now, "\n")); diff != "" {
				t.Errorf("%s differs (- file, + now; go test -run %s -update rewrites it):\n%s", file, test, diff)
			}
		})
	}
}

// play returns the text with the present output.
func play(t testing.TB, file, text string, s Scene) string {
	t.Helper()
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		if lines[i] == "" || strings.HasPrefix(lines[i], "#") {
			out.WriteString(lines[i] + "\n")
			i++
			continue
		}
		for ; i < len(lines) && lines[i] != "" && lines[i] != "----"; i++ {
			out.WriteString(lines[i] + "\n")
			if err := s.Command(lines[i]); err != nil {
				t.Fatalf("%s:%d: %s: %v", file, i+1, lines[i], err)
			}
		}
		for i < len(lines) && lines[i] != "" {
			i++ // the output when the file was written
		}
		said := s.Said()
		if said == "" {
			said = "(nothing)\n"
		}
		fmt.Fprintf(&out, "----\n%s", said)
	}
	return out.String()
}

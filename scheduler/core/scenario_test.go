package core

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/scenario"
)

// TestScenarios plays testdata/*.txt, with one file per rule, which has the rule's name. Each part of a file has events
// above a line "----", and below it, up to an empty line, what the core decided.
//
//	offer S1 cpus=8 mem=8192
//	----
//	WRITE counter, executor my_app#1, execution my_job@trigger-1
//	ACCEPT O1 of S1
//	  LAUNCH my_job/0#1 of my_job@trigger-1 on executor my_app#1 (new)
//
// my_job/0#2 is the second task that was launched for item 0 of my_job, my_app#1 the first executor of my_app, and
// my_job@trigger-1 the execution of the first trigger. Lines that begin with # are comments. The commands are those of
// scenarioCommands.
func TestScenarios(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	scenario.Play(t, "testdata/*.txt", func(t *testing.T, run func(testing.TB, scenario.Scene)) {
		if rule := path.Base(t.Name()); !strings.Contains(string(rules), "| "+rule+" |") {
			t.Errorf("docs/rules.md has no rule %s", rule)
		}
		run(t, newScene(t))
	})
}

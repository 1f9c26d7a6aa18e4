package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// words splits a line as a shell does, without expansion. It keeps double quotes.
func words(line string) (all []string) {
	for _, found := range regexp.MustCompile(`'([^']*)'|"[^"]*"|\S+`).FindAllStringSubmatch(line, -1) {
		if word := found[0]; strings.HasPrefix(word, "'") {
			word = found[1]
			all = append(all, word)
		} else {
			all = append(all, word)
		}
	}
	return all
}

// TestCommandsInDocumentsCanBeParsed: the commands in docs/cli.md and in the examples of --help can be parsed, with
// their flags and arguments.
func TestCommandsInDocumentsCanBeParsed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	a, _, _ := newSession(t).cli("")
	forEachCommand(a.root(), func(cmd *cobra.Command) {
		if cmd.Example != "" {
			lines = append(lines, strings.Split(strings.TrimSpace(cmd.Example), "\n")...)
		}
	})
	for _, line := range lines {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " > ")
		a, _, _ := newSession(t).cli("")
		root := a.root()
		root.InitDefaultCompletionCmd()
		given := words(line)
		cmd, rest, err := root.Find(given[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil && cmd.Args != nil {
			err = cmd.Args(cmd, cmd.Flags().Args())
		}
		if given[0] != "elasticjob" || err != nil || cmd.HasSubCommands() {
			t.Errorf("%s: %v, understood as %s", line, err, cmd.CommandPath())
		}
	}
	if len(lines) < 40 {
		t.Errorf("only %d commands were looked at", len(lines))
	}
}

// TestEveryCommandIsDocumented checks that docs/cli.md names each command and each exit status, and that each command
// has a description.
func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	a, _, _ := newSession(t).cli("")
	forEachCommand(a.root(), func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			return
		}
		if path := strings.TrimPrefix(cmd.CommandPath(), "elasticjob "); !strings.Contains(string(text), "`"+path) &&
			!strings.Contains(string(text), "elasticjob "+path) {
			t.Errorf("docs/cli.md does not have %s", path)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s is described as %q", cmd.CommandPath(), cmd.Short)
		}
	})
	for line := range strings.Lines(statusHelp) {
		status, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(string(text), fmt.Sprintf("| %s | %s", status, strings.TrimSpace(what))) {
			t.Errorf("docs/cli.md lacks the exit status %s, %s", status, what)
		}
	}
}

func forEachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, child := range cmd.Commands() {
		forEachCommand(child, visit)
	}
}

package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

var (
	// inline matches a command in a sentence, untyped a command in a block that no test types.
	inline  = regexp.MustCompile("`(?:bin/)?((?:scheduler|executor|elasticjob) [^`\n]+)`")
	untyped = regexp.MustCompile(`(?m)(?:^(?:[A-Z_]+='[^']*' )?(?:bin/)?|/opt/elasticjob/)` +
		`((?:scheduler|executor|elasticjob) [^#\n]+)`)
	subcommand = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flagName   = regexp.MustCompile(`^--[a-z][a-z-]*`)
)

// inlineCommand is a command in a document that no test types: its program and subcommands, and the names of its
// flags.
type inlineCommand struct {
	words, flags []string
}

// inlineCommands returns the commands that a pattern finds in a text. A command such as scheduler user add|rm counts
// as several.
func inlineCommands(pattern *regexp.Regexp, text string) (all []inlineCommand) {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(found[1])
		variants := []inlineCommand{{words: words[:1]}}
		rest := words[1:]
		for len(rest) > 0 && subcommand.MatchString(strings.ReplaceAll(rest[0], "|", "-")) {
			var next []inlineCommand
			for _, v := range variants {
				for choice := range strings.SplitSeq(rest[0], "|") {
					next = append(next, inlineCommand{words: append(slices.Clone(v.words), choice)})
				}
			}
			variants, rest = next, rest[1:]
		}
		for _, v := range variants {
			for _, word := range rest {
				if flag := flagName.FindString(word); flag != "" {
					v.flags = append(v.flags, flag)
				}
			}
			all = append(all, v)
		}
	}
	return all
}

func TestInlineCommandsOf(t *testing.T) {
	t.Parallel()
	const sentence = "`scheduler user add|rm NAME --role admin --zk …`, `make run`, `bin/executor run --item=0`"
	const block = "kubectl -n elasticjob exec deployment/elasticjob -- /opt/elasticjob/scheduler token add ci\n" +
		"DB='a b' scheduler migrate --db x   # --no\n"
	got := append(inlineCommands(inline, sentence), inlineCommands(untyped, block)...)
	want := []inlineCommand{
		{[]string{"scheduler", "user", "add"}, []string{"--role", "--zk"}},
		{[]string{"scheduler", "user", "rm"}, []string{"--role", "--zk"}},
		{[]string{"executor", "run"}, []string{"--item"}},
		{[]string{"scheduler", "token", "add", "ci"}, nil},
		{[]string{"scheduler", "migrate"}, []string{"--db"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(inlineCommand{})); diff != "" {
		t.Error(diff)
	}
}

// TestInlineCommands asks the programs whether the commands and flags exist that occur in sentences of documents, and
// in blocks that no test types.
func TestInlineCommands(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(builtClone(t), "bin")
	helps := map[string]string{}
	asked := 0
	for _, path := range reference.Documents(t, root) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := blocksOf(string(text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		commands := inlineCommands(inline, string(text))
		for _, b := range blocks {
			if b.notRun != "" {
				commands = append(commands, inlineCommands(untyped, strings.ReplaceAll(b.commands, "\\\n", " "))...)
			}
		}
		for _, c := range commands {
			name := strings.Join(c.words, " ")
			help, known := helps[name]
			if !known {
				asks := append(slices.Clone(c.words[1:]), "--help")
				said, err := exec.Command(filepath.Join(bin, c.words[0]), asks...).CombinedOutput()
				if err != nil {
					t.Errorf("%s: %s --help: %v\n%s", path, name, err, said)
				}
				help = string(said)
				helps[name] = help
			}
			asked++
			// If a command does not exist, the help of its parent is printed. The last word may be an argument.
			before, last := c.words[:len(c.words)-1], c.words[len(c.words)-1]
			usage := `(?m)^(usage:)?\s*` + strings.Join(before, " ") + ` ?(` + last + `|[A-Z|]+)(\s|$)`
			if !regexp.MustCompile(usage).MatchString(help) {
				t.Errorf("%s: there is no command %q", path, name)
			}
			for _, flag := range c.flags {
				if flag != "--help" && !regexp.MustCompile(`(?m)`+flag+`\b`).MatchString(help) {
					t.Errorf("%s: %s has no flag %s", path, name, flag)
				}
			}
		}
	}
	if asked < 80 {
		t.Errorf("only %d commands were found", asked)
	}
}

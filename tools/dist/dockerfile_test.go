package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// TestDockerfile: BuildKit's own parser accepts the Dockerfile; the files that it copies exist and .dockerignore does
// not exclude them; make dist builds the programs; and the images run the server, and the executor of a pod, as a
// user other than root.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	const root = "../.."
	file, err := os.Open(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parsed, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(parsed.Warnings) > 0 {
		t.Errorf("warnings: %+v", parsed.Warnings)
	}
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{ReturnAsError: true}))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	var names, runs []string
	for _, stage := range stages {
		for _, command := range stage.Commands {
			switch c := command.(type) {
			case *instructions.RunCommand:
				runs = append(runs, strings.Join(c.CmdLine, " "))
			case *instructions.CopyCommand:
				if c.From != "" && !slices.Contains(names, c.From) {
					t.Errorf("%s copies from %s, but no earlier stage has that name", stage.Name, c.From)
				}
				for _, path := range c.SourcePaths {
					if _, err := os.Stat(filepath.Join(root, path)); c.From == "" &&
						(err != nil || slices.Contains(strings.Fields(string(ignored)), path)) {
						t.Errorf("%s copies %s, which does not exist or is in .dockerignore: %v", stage.Name, path, err)
					}
				}
			}
		}
		names = append(names, stage.Name)
	}
	if !slices.ContainsFunc(runs, func(run string) bool {
		return strings.Contains(run, "make dist PLATFORMS=$TARGETOS/$TARGETARCH VERSION=$VERSION COMMIT=$COMMIT")
	}) {
		t.Errorf("no step builds the programs with make dist: %q", runs)
	}
	last := stages[len(stages)-1]
	if last.Name != "server" || last.BaseName != "scratch" {
		t.Errorf("the image is the stage %s, from %s: want server, from scratch", last.Name, last.BaseName)
	}
	for name, program := range map[string]string{"server": "/opt/elasticjob/scheduler",
		"task": "/opt/elasticjob/executor pod"} {
		i := slices.Index(names, name)
		if i < 0 {
			t.Errorf("there is no target %s", name)
			continue
		}
		if user, entry := startOf(stages[i]); user != "65532:65532" || entry != program {
			t.Errorf("the image %s runs %q as %q", name, entry, user)
		}
	}
}

// startOf returns the user and the entry point of an image.
func startOf(stage instructions.Stage) (user, entry string) {
	for _, command := range stage.Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entry = strings.Join(c.CmdLine, " ")
		}
	}
	return user, entry
}

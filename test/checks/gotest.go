package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goTest is a run of go test.
type goTest struct {
	packages  []string // as ./folder
	in        string   // the folder of their module, if it is not the repository's
	run, skip string   // patterns of the names of tests
	race      bool
	tags      string // in addition to those of all builds
	atOnce    int    // packages tested at once; 0 for as many as there are cores
	minutes   int    // the limit for each package
	cached    bool   // a result of the same code may be reused
	noSkip    bool   // a skipped test counts as failed
	args      []string
}

// tags are the build tags of all builds. nomsgpack omits a codec of gin that is not used here and takes half a minute
// to compile.
const tags = "nomsgpack"

// command returns the command with its flags, but without the packages, g.args and -json.
func (g goTest) command() []string {
	args := []string{"go"}
	if g.in != "" {
		args = append(args, "-C", g.in)
	}
	args = append(args,
		"test", "-trimpath", "-vet=off", "-tags", strings.Trim(tags+","+g.tags, ","),
		"-timeout", fmt.Sprint(max(g.minutes, 20), "m"))
	if g.race {
		args = append(args, "-race")
	}
	if !g.cached {
		args = append(args, "-count=1")
	}
	if g.atOnce > 0 {
		args = append(args, "-p", fmt.Sprint(g.atOnce))
	}
	if g.run != "" {
		args = append(args, "-run", g.run)
	}
	if g.skip != "" {
		args = append(args, "-skip", g.skip)
	}
	return args
}

// environment returns variables for go test, in addition to those of this process.
func (g goTest) environment(root string) []string {
	if g.race {
		return []string{"CGO_ENABLED=1", "ELASTICJOB_PROGRAMS=" + filepath.Join(root, "bin", "test-race")}
	}
	return []string{"CGO_ENABLED=0", "ELASTICJOB_PROGRAMS=" + filepath.Join(root, "bin", "test")}
}

// repeat returns the command with which a user runs a failed test again.
func (g goTest) repeat(f failure) string {
	again := g
	again.cached, again.atOnce, again.skip, again.run = false, 0, "", ""
	if f.Test != "" {
		var parts []string
		for part := range strings.SplitSeq(f.Test, "/") {
			parts = append(parts, "^"+part+"$")
		}
		again.run = "'" + strings.Join(parts, "/") + "'"
	}
	pkg := f.Package
	if g.in != "" {
		pkg = "." + strings.TrimPrefix(pkg, "./"+g.in)
	}
	words := append(again.command(), pkg)
	words = append(words, g.args...)
	cgo := "CGO_ENABLED=0 "
	if g.race {
		cgo = "CGO_ENABLED=1 "
	}
	return cgo + strings.Join(words, " ")
}

// failure is a test that failed, or, without a test, a package that did.
type failure struct {
	Package, Test string
	Output        string `json:"-"`
}

// event is a line of go test's JSON.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// readEvents reads all of go test's JSON and reports how each package ended. It returns the failures, and the number
// of tests that passed.
func (g goTest) readEvents(from io.Reader, say func(string)) (failed []failure, passed int, err error) {
	var (
		outputs = map[string]*strings.Builder{}
		broken  = map[string]bool{} // packages with a failed test
	)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return failed, passed, nil
		}
		if err != nil {
			return failed, passed, fmt.Errorf("read what go test says: %w", err)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			say(strings.TrimRight(string(line), "\n")) // a message of the go command itself
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		pkg := "." + strings.TrimPrefix(e.Package, module)
		switch e.Action {
		case "output", "build-output":
			if outputs[key] == nil {
				outputs[key] = &strings.Builder{}
			}
			outputs[key].WriteString(e.Output)
		case "build-fail":
			say(text(outputs[key]))
		case "pass":
			if e.Test != "" {
				passed++
			} else if last := lastLine(text(outputs[key])); strings.HasPrefix(last, "ok") {
				say(last)
			}
			delete(outputs, key)
		case "skip":
			if g.noSkip && e.Test != "" {
				failed = append(failed, failure{pkg, e.Test, text(outputs[key]) + "it was skipped, and must not be\n"})
			}
			delete(outputs, key)
		case "fail":
			f := failure{pkg, e.Test, text(outputs[key])}
			// A package fails with its tests. Without a failed test, it did not compile or its process ended.
			if e.Test == "" && broken[pkg] {
				continue
			}
			broken[pkg] = true
			failed = append(failed, f)
			say("--- FAIL: " + pkg + " " + e.Test + "\n" + f.Output)
		}
	}
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// packagesWith lists the packages that have a test whose name has this prefix.
func packagesWith(root, prefix string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (strings.HasPrefix(name, ".") && path != root || name == "node_modules" || name == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := "./" + folder
		if strings.Contains(string(code), "\nfunc "+prefix) && !slices.Contains(list, pkg) {
			list = append(list, pkg)
		}
		return nil
	})
	return list, err
}

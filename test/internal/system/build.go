package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binaries is the folder of the programs under test.
type Binaries struct {
	Dir  string
	lent bool // the folder belongs to the caller of the tests, and is not removed
}

// Scheduler returns the path of the server's binary.
func (b Binaries) Scheduler() string { return filepath.Join(b.Dir, "scheduler") }

// Client returns the path of the command line's binary.
func (b Binaries) Client() string { return filepath.Join(b.Dir, "elasticjob") }

// Remove removes the programs, unless they are those of ELASTICJOB_PROGRAMS.
func (b Binaries) Remove() error {
	if b.lent {
		return nil
	}
	return os.RemoveAll(b.Dir)
}

// Build returns all programs. If ELASTICJOB_PROGRAMS names a folder, it returns the programs in that folder, so that
// not every package links them again. Otherwise it builds them as `make build` does, and the server with the race
// detector if the test has it. The caller must call Remove.
func Build() (Binaries, error) {
	if dir := os.Getenv("ELASTICJOB_PROGRAMS"); dir != "" {
		for _, name := range []string{"scheduler", "executor", "elasticjob"} {
			// The go command records each file on which a test calls Stat, and does not reuse the test's result after
			// the file has changed.
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return Binaries{}, fmt.Errorf("find the programs of ELASTICJOB_PROGRAMS: %w", err)
			}
		}
		return Binaries{Dir: dir, lent: true}, nil
	}
	return BuildVersion("")
}

// BuildVersion builds the programs as a release of this version, or without a version if it is "". The caller must call
// Remove.
func BuildVersion(version string) (Binaries, error) {
	root, err := moduleRoot()
	if err != nil {
		return Binaries{}, err
	}
	if err := touchSources(root); err != nil {
		return Binaries{}, err
	}
	dir, err := os.MkdirTemp("", "elasticjob-whole-*")
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{Dir: dir}
	flags := "-ldflags="
	if version != "" {
		flags += "-X github.com/elasticjob-go/elasticjob/internal/release.version=" + version
	}
	if Race {
		err = build(root, "CGO_ENABLED=1", flags, "-race", "-o", b.Scheduler(), "./cmd/scheduler")
	} else {
		err = build(root, "CGO_ENABLED=0", flags, "-o", b.Scheduler(), "./cmd/scheduler")
	}
	err = errors.Join(err, build(root, "CGO_ENABLED=0", flags, "-o", filepath.Join(dir, "executor"), "./cmd/executor"),
		build(root, "CGO_ENABLED=0", flags, "-o", b.Client(), "./cmd/elasticjob"))
	if err != nil {
		return Binaries{}, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func build(root, env string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-tags", "nomsgpack"}, args...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// touchSources calls Stat on every file of which the programs are built, so that the go command does not reuse a test
// result after one of them has changed.
func touchSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" ||
			entry.Name() == "node_modules") && path != root {
			return filepath.SkipDir
		}
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") ||
			name == "go.mod" || strings.HasPrefix(path, filepath.Join(root, "web")) {
			_, err = os.Stat(path)
		}
		return err
	})
}

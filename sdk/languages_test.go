package sdk_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/buffer"
)

// language is an SDK, with a program that behaves like the function job in main_test.go.
type language struct {
	name string
	// command returns the words of the command that starts the program.
	command func(t testing.TB) []string
	// interrupted is the end of the output about a run after Ctrl-C.
	interrupted string
}

var (
	golang = language{"go", func(t testing.TB) []string {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return []string{self}
	}, ": wait: context canceled (interrupt signal received)\n"}
	python = language{"python", func(t testing.TB) []string {
		dependsOn(t, "python")
		dependsOn(t, "testdata/job.py")
		return []string{programPath(t, "python3"), "testdata/job.py"}
	}, ": terminated by SIGINT\n"}
)

// languages are the languages with an SDK.
var languages = []language{golang, python, java}

// forEachLanguage runs a test for each SDK.
func forEachLanguage(t *testing.T, test func(t *testing.T, l language)) {
	t.Parallel()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// dependsOn makes the result of a test depend on files that other processes read, so that the go command reuses the
// result only while the files are unchanged.
func dependsOn(t testing.TB, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, err = os.Stat(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// programPath returns the path of a program that is in PATH.
func programPath(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: tools/prepare installs it", err)
	}
	return path
}

// program returns a process of the program, which is not started yet. Its environment contains PATH and the given
// variables.
func (l language) program(t testing.TB, args []string, env ...string) *process {
	t.Helper()
	modules, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	words := append(l.command(t), args...)
	p := &process{TB: t, cmd: exec.Command(words[0], words[1:]...), out: &buffer.Locked{}, errors: &buffer.Locked{},
		exited: make(chan struct{})}
	p.cmd.Env = append([]string{jobVariable + "=1", "PATH=" + os.Getenv("PATH"),
		"GORACE=halt_on_error=1 atexit_sleep_ms=0", "PYTHONPATH=" + modules, "PYTHONDONTWRITEBYTECODE=1"}, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errors
	return p
}

// resident starts the program as an executor does and reads its hello.
func (l language) resident(t testing.TB) *process {
	t.Helper()
	return l.program(t, []string{"its own argument", fmt.Sprintf(sharding, "")}).resident()
}

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/buffer"
)

func TestDemoShowsRunsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	programs := build(t)
	for name, tc := range map[string]struct {
		until   string // the text to wait for before the first Ctrl-C
		signals int
		want    []string
	}{
		"to the advice, then Ctrl-C": {"What to try next", 1, []string{
			"theme sea: 4 of the texts", "count_by_theme  finished", "word_count      finished", "\n   nothing is left running\n"}},
		"Ctrl-C twice in the middle of a run": {"shard 1 runs", 2, []string{"nothing is left running\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "made", "by it")
			out := &buffer.Locked{}
			cmd := exec.Command(filepath.Join(programs, "demo"), "-scheduler", filepath.Join(programs, "scheduler"),
				"-package", "../wordcount", "-listen", address(t), "-data-dir", data)
			cmd.Stdout, cmd.Stderr = out, out
			// If the test process dies, the demo still ends in order.
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			deadline := time.After(3 * time.Minute)
			for !strings.Contains(out.String(), tc.until) {
				select {
				case err := <-ended:
					t.Fatalf("the demo ended with %v before %q:\n%s", err, tc.until, out)
				case <-deadline:
					_ = cmd.Process.Signal(syscall.SIGTERM)
					<-ended
					t.Fatalf("the demo has not said %q:\n%s", tc.until, out)
				case <-time.After(20 * time.Millisecond):
				}
			}
			for range tc.signals {
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-ended; err != nil {
				t.Errorf("the demo ended with %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the demo doesn't say %q:\n%s", want, out)
				}
			}
			for _, id := range mentioning(t, data) {
				t.Errorf("process %s is left", id)
			}
		})
	}
}

// build returns the folder of the programs: the one that ELASTICJOB_PROGRAMS names, or a new one, in which it builds
// them as make does.
func build(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("ELASTICJOB_PROGRAMS"); dir != "" {
		for _, name := range []string{"scheduler", "executor", "demo"} {
			// The go command records the files that a test examined, and does not reuse the result once one has
			// changed.
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "nomsgpack", "-o", dir+"/", "./cmd/scheduler",
		"./cmd/executor", "./examples/demo")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	return dir
}

// address returns a free address.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// mentioning returns the processes whose command line contains dir, or whose working folder is dir or below it.
func mentioning(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, proc := range found {
		line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		if bytes.Contains(line, []byte(dir)) || strings.HasPrefix(cwd, dir) {
			ids = append(ids, filepath.Base(proc)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return ids
}

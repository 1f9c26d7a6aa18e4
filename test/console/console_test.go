package console_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const folder = "../../web"

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 1)) }

// TestUnits runs the tests that need no browser.
func TestUnits(t *testing.T) { node(t, "test/unit/*.test.js") }

// TestInABrowser runs the tests of a user's actions, against servers with the race detector.
func TestInABrowser(t *testing.T) {
	t.Setenv("ELASTICJOB_SCHEDULER", bin.Scheduler())
	node(t, "test/*.test.js", "--test-concurrency=2")
}

// node runs the tests in some files, and prints node's output.
func node(t *testing.T, files string, flags ...string) {
	t.Helper()
	for _, wanted := range []string{"node_modules/axe-core", "node_modules/playwright-core"} {
		if _, err := os.Stat(filepath.Join(folder, wanted)); err != nil {
			t.Fatalf("there is no web/%s: tools/prepare fetches it", wanted)
		}
	}
	// Resolved here, because not every suitable version of node supports patterns.
	found, err := filepath.Glob(filepath.Join(folder, files))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tests in %s: %v", files, err)
	}
	args := append([]string{"--test"}, flags...)
	for _, file := range found {
		path, err := filepath.Rel(folder, file)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	// Node's timeout is earlier than go's, so that node ends the processes that it has started.
	deadline, ok := t.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Hour)
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-30*time.Second))
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = folder
	// The processes that it starts have their data in this folder, by which they are found and ended with the test.
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := child.EndAll(dir); err != nil {
			t.Error(err)
		}
	})
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %s: %v; Debian's nodejs and chromium will do, tools/prepare installs them", files, err)
	}
}

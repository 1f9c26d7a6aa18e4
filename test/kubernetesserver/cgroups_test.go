package kubernetesserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CgroupsOf and RemoveCgroups are for a test that kills the process of another test, so that close is never called.
var (
	CgroupsOf     = cgroupsOf
	RemoveCgroups = removeCgroups
)

// TestAsRootCgroupsAreRemovedWhenEmpty checks that cgroups are removed, with those below them, as soon as they contain
// no process. A zombie does not count as a process.
func TestAsRootCgroupsAreRemovedWhenEmpty(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	trees := 0
	// Version 2 alone, version 2 beside version 1, and a controller of version 1.
	for _, tree := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"} {
		if _, err := os.Stat(filepath.Join(tree, "cgroup.procs")); err != nil {
			continue
		}
		trees++
		checkRemovedWhenEmpty(t, filepath.Join(tree, fmt.Sprint("elasticjob-test-", os.Getpid())))
	}
	if trees == 0 {
		t.Skip("there are no cgroups on this machine")
	}
}

func checkRemovedWhenEmpty(t *testing.T, group string) {
	t.Helper()
	below := filepath.Join(group, "below", "that")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it was killed
	pid := fmt.Sprint(cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte(pid), 0); err != nil {
		t.Error(err)
	}
	if err := checkEmpty(group); err == nil || !strings.Contains(err.Error(), below+" has the processes "+pid) {
		t.Errorf("with process %s, checkEmpty returns %v", pid, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	// The process may still be ending.
	if err := removeCgroups([]string{group, group + "-that-is-not-there"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(group); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", group, err)
	}
}

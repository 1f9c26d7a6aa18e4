package executor_test

import (
	"os"
	"testing"
)

// needsRoot skips a test that only root can run. .ci/run, started as root, runs those whose names begin with TestAsRoot.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make test-root, which .ci/run runs as root")
	}
}

// TestAsRootHostileProcesses is TestHostileProcesses with an executor of a user for whom permissions count, started by
// root as an agent does.
func TestAsRootHostileProcesses(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	hostileProcesses(t, 65534)
}

// TestAsRootExecutorOfAnotherUser: see executorOf.
func TestAsRootExecutorOfAnotherUser(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	executorOf(t, 65534)
}

// TestAsRootDiskFull is TestDiskFull with a real disk, which only root can mount.
func TestAsRootDiskFull(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	work, limit := smallDisk(t)
	if limit != "" {
		t.Fatal("root can mount no file system here")
	}
	diskFull(t, work, limit)
}

package executor_test

import (
	"os"
	"os/exec"
	"testing"
)

// needsRoot skips a test that only root can run. .ci/run, started as root, runs the tests whose names begin with
// TestAsRoot.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
}

// TestAsRootHostileProcesses is TestHostileProcesses with an executor of an unprivileged user, started by root as
// an agent does.
func TestAsRootHostileProcesses(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	hostileProcesses(t, 65534)
}

// TestAsRootExecutorOfAnotherUser is TestExecutorOfAUser for another user, whose executor root starts.
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

// TestAsRootPodsFirstProcess: a job can neither kill nor stop the executor that is the first process of its container.
// The executor reaps the processes that the job leaves behind.
func TestAsRootPodsFirstProcess(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	task := taskOf("t", script(t, `kill -KILL 1; kill -STOP 1; (setsid sleep 1000 &); for i in 1 2 3; do (true &); done
while grep -q '^State:.Z' /proc/[0-9]*/status; do sleep 0.02; done; echo "first is $PPID"; exit 3`))
	p := startPod(t, podDir(t), task, func(c *exec.Cmd) {
		program := c.Path
		c.Path = "/usr/bin/unshare"
		c.Args = append([]string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", program}, c.Args[1:]...)
	})
	status, left := p.end()
	if status != 3 || p.text.String() != "first is 1\n" || left.ExitStatus == nil || *left.ExitStatus != 3 {
		t.Errorf("status %d, %q, %q, %+v", status, p.text.String(), p.stderr.String(), left)
	}
}

package executor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// smallDisk returns a folder with its own file system of 24 MB, which only root can mount. For any other user it
// returns an ordinary folder, and in limit the beginning of a script that sets a file size limit, so that writes
// fail in a similar way.
func smallDisk(t *testing.T) (dir, limit string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Logf("no file system can be mounted here (%v): files are limited instead", err)
		return dir, "ulimit -f 40000; "
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, ""
}

// TestDiskFull: a task that fills the disk fails with that reason. The executor survives, and runs tasks again when
// there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	work, limit := smallDisk(t)
	diskFull(t, work, limit)
}

func diskFull(t *testing.T, work, limit string) {
	a := newAgentIn(t, work, env("ELASTICJOB_OUTPUT_FILE", "4MiB"))
	full := func(cause string) bool {
		return strings.Contains(cause, "the agent's disk is full") || strings.Contains(cause, "no space left") ||
			limit != "" && strings.Contains(strings.ToLower(cause), "file")
	}
	// If a task fills the disk with its output alone, the executor may drop the beginning of the output in time.
	a.launch(taskOf("printer", script(t, limit+`head -c 100000000 /dev/zero`)))
	a.awaitEnd("printer")
	a.checkWorks(t)
	for _, body := range []string{
		`head -c 100000000 /dev/zero >$TMPDIR/x`,
		`for i in 1 2 3 4 5 6 7 8 9; do head -c 20000000 /dev/zero >$TMPDIR/$i || exit 7; done; echo file >&2; exit 1`,
	} {
		a.launch(taskOf(body, script(t, limit+body)))
		if _, status := a.await(body, mesos.TASK_FAILED); !full(status.Cause) {
			t.Errorf("%s: %.300q", body, status.Cause)
		}
		a.checkWorks(t)
	}
	large := filepath.Join(t.TempDir(), "large.sh")
	if err := os.WriteFile(large, []byte("#!/bin/sh\n"+strings.Repeat("#\n", 15_000_000)), 0o755); err != nil {
		t.Fatal(err)
	}
	task := taskOf("large package", "file://"+large)
	task.Command = []string{"large.sh"}
	a.launch(task)
	if limit == "" {
		if _, status := a.await("large package", mesos.TASK_FAILED); !full(status.Cause) || status.Phase != "FETCH" {
			t.Errorf("%s %.300q", status.Phase, status.Cause)
		}
	} else {
		a.await("large package", mesos.TASK_FINISHED)
	}
	a.checkWorks(t)

	// While one task uses all the space, others may fail with that reason. The executor runs tasks again afterwards.
	a.launch(taskOf("hog", script(t, limit+`head -c 100000000 /dev/zero >$TMPDIR/x; echo full >&2; exec sleep 1000`)))
	a.await("hog", mesos.TASK_RUNNING)
	eventually(t, "a full disk", func() bool { return diskUse(filepath.Join(a.sandbox, "tmp")) > 15<<20 })
	unlucky := taskOf("unlucky", script(t, `echo needs space; head -c 1000000 /dev/zero >$TMPDIR/x`))
	a.launch(unlucky)
	a.awaitEnd("unlucky")
	a.kill("hog")
	a.await("hog", mesos.TASK_KILLED)
	a.checkWorks(t)
}

// awaitEnd waits for a task's end, in any state.
func (a *fakeAgent) awaitEnd(id string) {
	a.t.Helper()
	a.until("end of "+id, func() bool {
		states := a.statesOf(id)
		return len(states) > 0 && states[len(states)-1].GetState() >= mesos.TASK_FINISHED &&
			states[len(states)-1].GetState() <= mesos.TASK_KILLED
	})
}

// checkWorks checks that the executor runs tasks, and that there is space for them.
func (a *fakeAgent) checkWorks(t *testing.T) {
	t.Helper()
	eventually(t, "the disk is freed", func() bool {
		var disk syscall.Statfs_t
		err := syscall.Statfs(a.sandbox, &disk)
		return err == nil && disk.Bavail*uint64(disk.Bsize) > 2<<20 && filesIn(filepath.Join(a.sandbox, "tmp")) == 0
	})
	a.mu.Lock()
	id := "good after " + strconv.Itoa(len(a.updates))
	a.mu.Unlock()
	a.launch(taskOf(id, script(t, `echo works; head -c 100000 /dev/zero >$TMPDIR/x`)))
	a.await(id, mesos.TASK_FINISHED)
}

package supervisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// bounded returns a process with a limit of processes, of a user to whom the limit applies, and with output that
// the test can read.
func bounded(t testing.TB, dir, id, script string, processes int) supervisor.Spec {
	t.Helper()
	spec := shell(dir, id, script)
	spec.Processes = processes
	if os.Geteuid() == 0 {
		// The user is used by no other process, so that only the task's processes are counted. Pids are good uids
		// for this: no other running test has the same one.
		uid := 1<<20 + uint32(os.Getpid())
		spec.As = &isolation.Account{UID: uid, GID: uid, Groups: []uint32{uid}}
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return spec
}

// userLimitOf returns a process's soft limit of its user's processes. It reads a file that every user may read, even
// root in a container.
func userLimitOf(t testing.TB, pid int) string {
	t.Helper()
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(limits), "\nMax processes ")
	return strings.Fields(after)[0]
}

// The limit of a task does not apply to the supervisor, which must create threads while a task is at its limit.
func TestSupervisorKeepsItsOwnLimit(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	before := userLimitOf(t, client.PID())
	process := start(t, client, bounded(t, dir, "t", "exec sleep 1000", 20))
	wait(t, start(t, client, bounded(t, dir, "next", "exit 0", 20)))
	if limit := userLimitOf(t, process.PID); limit == before {
		t.Errorf("the task has the supervisor's limit, %s", limit)
	}
	if now := userLimitOf(t, client.PID()); now != before {
		t.Errorf("the supervisor's limit was %s, and is %s", before, now)
	}
}

// A task at its limit of processes does not keep other tasks from starting.
func TestTaskAtItsLimitKeepsNoOtherFromStarting(t *testing.T) {
	client, dir := launch(t), t.TempDir()
	// The subshell ends with the first fork that fails.
	start(t, client, bounded(t, dir, "many", "(while :; do sleep 1000 & done); echo reached; exec sleep 1000", 100))
	content(t, filepath.Join(dir, "many.out"))
	for i := range 5 {
		id := strconv.Itoa(i)
		start(t, client, bounded(t, dir, id, "echo up; exec sleep 1000", 100))
		content(t, filepath.Join(dir, id+".out"))
	}
}

// The supervisor has all threads that it will ever need before it starts a process, because it can't create one
// while it forks.
func TestSupervisorStartsNoThreadsLater(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	threads := func() int {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(client.PID()) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(status), "\nThreads:")
		return number(t, strings.Fields(after)[0])
	}
	wait(t, start(t, client, shell(dir, "first", "exit 0")))
	before := threads()
	script := `trap "" TERM; setsid sleep 1000 & exec sleep 1000`
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			process, err := client.Start(shell(dir, strconv.Itoa(i), script))
			if err != nil {
				t.Error(err)
				return
			}
			for grace := 20 * time.Millisecond; grace >= 0; grace -= 10 * time.Millisecond {
				if err := process.Kill(grace); err != nil {
					t.Error(err)
				}
			}
			<-process.Done()
			if exit, ok := process.WaitExit(); !ok || !exit.Killed {
				t.Errorf("%+v, %t", exit, ok)
			}
		})
	}
	all.Wait()
	if now := threads(); now != before {
		t.Errorf("the supervisor had %d threads, and has %d", before, now)
	}
}

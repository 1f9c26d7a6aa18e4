package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// Rule O3: the executor continues over a restart of the agent, and the master observes only that the agent registers
// again.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	eventually(t, "the acknowledgement", func() bool { return b.pendingOf("t1") == 0 })
	id, pid := b.id, b.pid("ex1")
	b = b.again().ready()
	if b.id != id {
		t.Errorf("agent's id was %s, is %s", id, b.id)
	}
	still := b.master.registration(t)
	if len(still.Executors) != 1 || len(still.Tasks) != 1 || still.Tasks[0].Latest != mesos.TASK_RUNNING {
		t.Errorf("the agent still has %v", still)
	}
	if still.Tasks[0].Status.Of.GetContainerStatus().GetExecutorPID() != uint32(pid) {
		t.Errorf("last reported is %v", still.Tasks[0].Status)
	}
	b.run(b.task("t2", "finish", testExecutorInfo("ex1")))
	b.master.waitState(t, "t2", mesos.TASK_FINISHED)
	if b.pid("ex1") != pid {
		t.Error("the executor was started again")
	}
	for _, c := range b.master.all() {
		if c.kind == "update" && c.update.Status.TaskID.Value == "t1" {
			t.Errorf("the master got %v", c)
		}
	}
}

func (b *bench) pendingOf(task string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.frameworks["fw-0002"]
	if f == nil || f.tasks[task] == nil {
		return -1
	}
	return len(f.tasks[task].pending)
}

// Rule O2: an executor whose pid was not recorded is found by its mark.
func TestRestartBetweenForkAndRecord(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	pid, journal := b.pid("ex1"), b.journalOf(b.container("ex1"))
	b.stop()
	var kept []byte
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte(`{"k":"forked"`)) {
			kept = append(kept, line...)
		}
	}
	// A record that the crash cut off is ignored.
	if err := os.WriteFile(journal, append(kept, `{"k":"upd`...), 0o600); err != nil {
		t.Fatal(err)
	}
	b = b.again().ready()
	if got := b.pid("ex1"); got != pid {
		t.Errorf("found process %d, want %d", got, pid)
	}
}

// An executor that ended while the agent was down is reported after the registration, together with its tasks. The
// rest of its session is killed.
func TestExecutorEndedWhileAway(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "child", testExecutorInfo("ex1")))
	child, err := strconv.Atoi(string(b.master.waitState(t, "t1", mesos.TASK_RUNNING).Data))
	if err != nil {
		t.Fatal(err)
	}
	pid := b.pid("ex1")
	b.stop()
	reapKilled(t, pid)
	b = b.again().ready()
	if status := b.master.waitEnded(t, "ex1"); status != unknownStatus {
		t.Errorf("wait status %d", status)
	}
	b.master.waitState(t, "t1", mesos.TASK_FAILED)
	if b.master.all()[0].kind != "register" {
		t.Errorf("reported %v", b.master.all())
	}
	if alive(child) {
		t.Errorf("process %d of the executor's session lives on", child)
	}
}

// reapKilled kills a process as if it had ended while its agent was down.
func reapKilled(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
}

// An executor that does not subscribe again in time is killed, and its tasks are reported as gone.
func TestReregistrationTimeout(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1", "deaf")))
	b.waitForked("ex1")
	b = b.again(func(o *Options) { o.ReregistrationTimeout = 100 * time.Millisecond })
	status := b.master.waitState(t, "t1", mesos.TASK_GONE)
	if status.GetReason() != mesos.REASON_EXECUTOR_REREGISTRATION_TIMEOUT ||
		status.GetMessage() != "Executor did not reregister within 100ms" {
		t.Errorf("status is %v", status)
	}
	b.master.waitEnded(t, "ex1")
}

// A task that was being sent when the agent died is dropped, unless the executor reports it.
func TestTaskThatNeverArrived(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "quiet", testExecutorInfo("ex1")))
	eventually(t, "the subscription",
		func() bool { ex := b.executor("ex1"); b.mu.Lock(); defer b.mu.Unlock(); return ex.everSent })
	ex := b.executor("ex1")
	b.mu.Lock()
	lost := &task{framework: ex.framework, ex: ex, id: "t2", info: b.task("t2", "quiet", testExecutorInfo("ex1")),
		sent: true}
	err := ex.journal.append(lost.record())
	b.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	// Before it has the first task, the executor could not report it.
	eventually(t, "the first task's arrival", func() bool {
		_, err := os.Stat(filepath.Join(b.sandbox("ex1"), "got-t1"))
		return err == nil
	})
	b = b.again().ready()
	status := b.master.waitState(t, "t2", mesos.TASK_DROPPED)
	if status.GetReason() != mesos.REASON_AGENT_RESTARTED ||
		status.GetMessage() != "Task launched during agent restart" {
		t.Errorf("status is %v", status)
	}
	if n := b.pendingOf("t1"); n != 0 {
		t.Errorf("the task that the executor named has %d updates", n)
	}
}

func TestGiveUpExecutors(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "child", testExecutorInfo("ex1")))
	child, err := strconv.Atoi(string(b.master.waitState(t, "t1", mesos.TASK_RUNNING).Data))
	if err != nil {
		t.Fatal(err)
	}
	pid := b.pid("ex1")
	b = b.again(func(o *Options) { o.GiveUpExecutors = true })
	if alive(pid) || alive(child) {
		t.Error("Start returned while processes were alive")
	}
	b.ready()
	if s := b.master.waitState(t, "t1", mesos.TASK_GONE); s.GetReason() != mesos.REASON_EXECUTOR_TERMINATED {
		t.Errorf("status is %v", s)
	}
}

// After a reboot recorded pids are ignored, because they belong to other processes.
func TestOtherBoot(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1", "deaf")))
	b.waitForked("ex1")
	pid, journal := b.pid("ex1"), b.journalOf(b.container("ex1"))
	b.stop()
	data, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, bytes.ReplaceAll(data, []byte(b.boot), []byte("another-boot")),
		0o600); err != nil {
		t.Fatal(err)
	}
	b = b.again(func(o *Options) { o.GiveUpExecutors = true }).ready()
	b.master.waitState(t, "t1", mesos.TASK_FAILED)
	if !alive(pid) {
		t.Error("a process of another boot's pid was killed")
	}
	reapKilled(t, pid)
}

// Rule O4: EndAll leaves nothing running. Unacknowledged updates are sent after the next start.
func TestEndAll(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.master.acknowledging(func(s mesos.TaskStatus) bool { return s.GetState() == mesos.TASK_RUNNING })
	b.run(b.task("t1", "run", testExecutorInfo("ex1")), b.task("t2", "run", testExecutorInfo("ex2")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	b.master.waitState(t, "t2", mesos.TASK_RUNNING)
	pid := b.pid("ex1")
	if err := b.EndAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("an executor is left")
	}
	b.run(b.task("t3", "run", testExecutorInfo("ex3")))
	b.master.acknowledging(func(s mesos.TaskStatus) bool { return s.TaskID.Value == "t3" })
	b.master.waitState(t, "t3", mesos.TASK_DROPPED)
	b = b.again().ready()
	if still := b.master.registration(t); len(still.Executors) != 0 || len(still.Tasks) != 2 ||
		still.Tasks[0].Latest != mesos.TASK_FAILED {
		t.Errorf("the agent still has %v", still)
	}
	b.master.waitState(t, "t1", mesos.TASK_FAILED)
	b.master.waitState(t, "t2", mesos.TASK_FAILED)
	eventually(t, "the journals to go", func() bool {
		left, err := filepath.Glob(filepath.Join(journals(b.options.DataDir), "*"))
		return err == nil && len(left) == 0
	})
}

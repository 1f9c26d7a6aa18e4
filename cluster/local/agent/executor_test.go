package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// The agent completes the fields that an executor omits in its updates.
func TestUpdatesAreComplete(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "finish", testExecutorInfo("ex1")))
	for _, state := range []mesos.TaskState{mesos.TASK_RUNNING, mesos.TASK_FINISHED} {
		s := b.master.waitState(t, "t1", state)
		if s.GetSource() != mesos.SOURCE_EXECUTOR || s.AgentID.Value != b.id || s.ExecutorID.Value != "ex1" ||
			len(s.UUID) != 16 || s.GetTimestamp() == 0 {
			t.Errorf("status is %v", s)
		}
		container := s.ContainerStatus
		if container.ContainerID.Value != b.container("ex1") || container.GetExecutorPID() != uint32(b.pid("ex1")) {
			t.Errorf("container is %v", container)
		}
	}
}

func (b *bench) executor(id string) *executorRun {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.findExecutor("fw-0002", id)
}

func (b *bench) pid(id string) int {
	ex := b.executor(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	return ex.proc.PID
}

func (b *bench) container(id string) string { return b.executor(id).container }

// An executor's environment consists of Mesos' variables, PATH, and its command's variables, and of nothing else from
// the agent's own.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "x")
	b := startBench(t, func(o *Options) { o.ReregistrationTimeout = 2 * time.Second; o.ShutdownGrace = 5 * time.Second }).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)

	sandbox, err := filepath.EvalSymlinks(b.sandbox("ex1"))
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "127.0.0.1:" + strconv.Itoa(b.options.Port)
	want := map[string]string{
		"MESOS_SANDBOX": sandbox, "MESOS_DIRECTORY": sandbox, "MESOS_AGENT_ENDPOINT": endpoint,
		"MESOS_SLAVE_PID": "slave(1)@" + endpoint, "MESOS_SLAVE_ID": b.id, "MESOS_FRAMEWORK_ID": "fw-0002",
		"MESOS_EXECUTOR_ID": "ex1",
		"MESOS_CHECKPOINT":  "1", "MESOS_RECOVERY_TIMEOUT": "900secs", "MESOS_SUBSCRIPTION_BACKOFF_MAX": "2secs",
		"MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD": "5secs", "MESOS_HTTP_COMMAND_EXECUTOR": "0",
		"LIBPROCESS_IP": "127.0.0.1", "LIBPROCESS_PORT": "0",
		"TEST_ROLE": "executor", "PATH": os.Getenv("PATH"),
	}
	data, err := os.ReadFile(filepath.Join(sandbox, "env"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if hello, err := os.ReadFile(filepath.Join(sandbox, "stdout")); string(hello) != "executor says hello\n" {
		t.Errorf("stdout is %q, %v", hello, err)
	}
}

// However an executor ends, FAILURE with its wait status precedes the last updates of its tasks.
func TestExecutorEnds(t *testing.T) {
	t.Parallel()
	shell := func(id, command string) *mesos.ExecutorInfo {
		info := testExecutorInfo(id)
		info.Command = &mesos.CommandInfo{Value: &command}
		return info
	}
	executable := true
	missing := shell("ex", "true")
	missing.Command.URIs = []mesos.CommandInfo_URI{{Value: "file:///no/such/file", Executable: &executable}}
	noShell := testExecutorInfo("ex")
	nowhere := "./not-there"
	noShell.Command.Value = &nowhere
	for name, c := range map[string]struct {
		info    *mesos.ExecutorInfo
		data    string
		status  int
		reason  mesos.TaskStatus_Reason
		message string
		stderr  string
	}{
		"exits with a running task": {testExecutorInfo("ex"), "exit 5", 5 << 8, mesos.REASON_EXECUTOR_TERMINATED, "Executor terminated", ""},
		"exits before subscribing":  {testExecutorInfo("ex", "die-early"), "run", 3 << 8, mesos.REASON_EXECUTOR_TERMINATED, "Executor terminated", ""},
		"command does not exist":    {shell("ex", "/no/such/command"), "run", 127 << 8, mesos.REASON_EXECUTOR_TERMINATED, "Executor terminated", "not found"},
		"program does not exist": {noShell, "run", 1 << 8, mesos.REASON_CONTAINER_LAUNCH_FAILED,
			`Failed to launch container: execute "./not-there": fork/exec ./not-there: no such file or directory`, ""},
		"fetch fails": {missing, "run", 1 << 8, mesos.REASON_CONTAINER_LAUNCH_FAILED,
			`Failed to launch container: fetch "file:///no/such/file": answered 404 Not Found`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBench(t).ready()
			b.run(b.task("t1", c.data, c.info))
			status := b.master.waitState(t, "t1", mesos.TASK_FAILED)
			if got := b.master.waitEnded(t, "ex"); got != c.status {
				t.Errorf("wait status %d, want %d", got, c.status)
			}
			calls := b.master.all()
			if last := calls[len(calls)-1]; last.kind != "update" || calls[len(calls)-2].kind != "ended" {
				t.Errorf("order is %v", calls)
			}
			if status.GetReason() != c.reason || status.GetMessage() != c.message ||
				status.GetSource() != mesos.SOURCE_AGENT ||
				status.ContainerStatus != nil || status.GetExecutorID().GetValue() != "ex" || len(status.UUID) != 16 {
				t.Errorf("status is %v", status)
			}
			if stderr, err := os.ReadFile(filepath.Join(b.sandbox("ex"), "stderr")); !strings.Contains(string(stderr),
				c.stderr) {
				t.Errorf("stderr is %q, %v; want %q in it", stderr, err, c.stderr)
			}
			eventually(t, "the executor to be forgotten", func() bool { return b.executor("ex") == nil })
		})
	}
}

func TestTaskForRunningExecutorAndKill(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	pid := b.pid("ex1")
	b.run(b.task("t2", "run", testExecutorInfo("ex1")))
	if status := b.master.waitState(t, "t2", mesos.TASK_RUNNING); int(status.ContainerStatus.GetExecutorPID()) != pid {
		t.Errorf("the second task runs on another executor: %v", status)
	}
	b.Agent.kill("t2")
	b.master.waitState(t, "t2", mesos.TASK_KILLED)
	b.Agent.kill("never-was")
	if s := b.master.waitState(t, "never-was", mesos.TASK_DROPPED); s.GetMessage() != "Cannot find executor" {
		t.Errorf("status is %v", s)
	}
}

// The agent itself kills a task that its executor has not received yet. An executor that is left without tasks ends.
func TestKillBeforeDelivery(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1", "deaf")))
	b.Agent.kill("t1")
	status := b.master.waitState(t, "t1", mesos.TASK_KILLED)
	if status.GetReason() != mesos.REASON_TASK_KILLED_DURING_LAUNCH ||
		status.GetMessage() != "Killed before delivery to the executor" {
		t.Errorf("status is %v", status)
	}
}

// SHUTDOWN: an executor that obeys ends with status 0. One that does not is killed after its grace period, with its
// whole session.
func TestShutdownExecutor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		status int
	}{
		"obeys":    {nil, 0},
		"stubborn": {[]string{"stubborn"}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBench(t, func(o *Options) {
				if c.args != nil {
					o.ShutdownGrace = 50 * time.Millisecond
				}
			}).ready()
			b.run(b.task("t1", "child", testExecutorInfo("ex1", c.args...)))
			child, err := strconv.Atoi(string(b.master.waitState(t, "t1", mesos.TASK_RUNNING).Data))
			if err != nil || !alive(child) {
				t.Fatalf("no child %d: %v", child, err)
			}
			b.shutdownExecutor("ex1")
			b.shutdownExecutor("unknown")
			if status := b.master.waitEnded(t, "ex1"); status != c.status {
				t.Errorf("wait status %d, want %d", status, c.status)
			}
			if alive(child) {
				t.Errorf("process %d of the executor's session lives on", child)
			}
			if s := b.master.waitState(t, "t1", mesos.TASK_FAILED); s.GetReason() != mesos.REASON_EXECUTOR_TERMINATED {
				t.Errorf("status is %v", s)
			}
		})
	}
}

func TestRegistrationTimeout(t *testing.T) {
	t.Parallel()
	b := startBench(t, func(o *Options) { o.RegistrationTimeout = 100 * time.Millisecond }).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1", "deaf")))
	status := b.master.waitState(t, "t1", mesos.TASK_FAILED)
	if status.GetReason() != mesos.REASON_EXECUTOR_REGISTRATION_TIMEOUT ||
		status.GetMessage() != "Executor did not register within 100ms" {
		t.Errorf("status is %v", status)
	}
	if got := b.master.waitEnded(t, "ex1"); got != 9 {
		t.Errorf("wait status %d", got)
	}
}

// A terminating executor accepts no task.
func TestTaskForTerminatingExecutor(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.run(b.task("t1", "run", testExecutorInfo("ex1", "stubborn")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	b.shutdownExecutor("ex1")
	b.run(b.task("t2", "run", testExecutorInfo("ex1", "stubborn")))
	if s := b.master.waitState(t, "t2", mesos.TASK_DROPPED); s.GetMessage() != "Executor terminating" {
		t.Errorf("status is %v", s)
	}
}

// TestTaskForEndedExecutor: the master has counted the executor again with the launch, so the agent reports its end
// once more. Otherwise the master's offers would list the executor for as long as the agent is registered.
func TestTaskForEndedExecutor(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	// The agent keeps the executor until its updates are acknowledged.
	b.master.acknowledging(func(mesos.TaskStatus) bool { return false })
	b.run(b.task("t1", "exit 5", testExecutorInfo("ex1")))
	b.master.waitEnded(t, "ex1")
	b.run(b.task("t2", "run", testExecutorInfo("ex1")))
	if s := b.master.waitState(t, "t2", mesos.TASK_DROPPED); s.GetMessage() != "Executor terminated" {
		t.Errorf("status is %v", s)
	}
	b.master.wait(t, "the end of ex1 again", 2, func(c report) bool { return c.kind == "ended" && c.id == "ex1" })
}

func TestShutdownFramework(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.master.acknowledging(func(mesos.TaskStatus) bool { return false })
	b.run(b.task("t1", "run", testExecutorInfo("ex1")))
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	b.handleOrder(&link.Order{ShutdownFramework: "fw-0002"})
	b.master.waitEnded(t, "ex1")
	eventually(t, "the framework to be forgotten", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.frameworks) == 0
	})
	if entries, err := os.ReadDir(journals(b.options.DataDir)); err != nil || len(entries) != 0 {
		t.Errorf("journals are left: %v, %v", entries, err)
	}
}

package executor_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// TestX7NothingOutlivesTheExecutor: kill -9 of the executor ends every process that a task has started.
func TestX7NothingOutlivesTheExecutor(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	var pids []string
	for i, body := range []string{
		`echo $$; exec sleep 1000`,
		`sh -c 'trap "" TERM; echo $$; exec sleep 1000' & wait`,
		`setsid sh -c 'echo $$; exec sleep 1000' & wait`,
		`(setsid sh -c 'trap "" TERM HUP; echo $$; sleep 1000; sleep 1000' &); exec sleep 1000`,
		`env -i setsid /bin/sh -c 'echo $$; exec /bin/sleep 1000' & wait`,
	} {
		a.launch(taskOf(fmt.Sprint(i), script(t, body)))
		_, status := a.await(fmt.Sprint(i), mesos.TASK_RUNNING)
		pids = append(pids, strings.TrimSpace(a.read(status.Dir+"/stdout")))
	}
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	a.exit()
	for _, pid := range pids {
		waitGone(t, "/proc/"+pid)
	}
}

// TestX5AgentAwayAndBack: SUBSCRIBE contains what the agent had not acknowledged before it went away.
func TestX5AgentAwayAndBack(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	goOn := filepath.Join(t.TempDir(), "go")
	body := fmt.Sprintf(`echo $$; while [ ! -e %s ]; do sleep 0.01; done`, goOn)
	a.launch(taskOf("known", script(t, body)))
	a.await("known", mesos.TASK_RUNNING)
	pids := []string{strings.TrimSpace(a.read("tasks/1/stdout"))}
	// After this round trip the agent has sent its acknowledgement, and the executor has received it.
	a.launch(taskOf("quick", script(t, "exit 0")))
	a.await("quick", mesos.TASK_FINISHED)
	a.mu.Lock()
	a.silent = true
	a.mu.Unlock()
	a.launch(taskOf("unheard", script(t, body)))
	a.await("unheard", mesos.TASK_RUNNING)
	pids = append(pids, strings.TrimSpace(a.read("tasks/3/stdout")))
	a.stop()
	if err := os.WriteFile(goOn, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		waitGone(t, "/proc/"+pid)
	}
	a.mu.Lock()
	before := len(a.subscribed)
	a.silent = false
	a.mu.Unlock()
	a.listen(a.address)
	a.until("re-subscription", func() bool { return len(a.subscribed) > before })
	a.await("known", mesos.TASK_FINISHED)
	a.await("unheard", mesos.TASK_FINISHED)
	a.mu.Lock()
	named := a.subscribed[before]
	a.mu.Unlock()
	var tasks, updates []string
	for _, task := range named.UnacknowledgedTasks {
		tasks = append(tasks, task.TaskID.Value)
		if len(task.Data) == 0 {
			t.Error("a named task without its data")
		}
	}
	for _, u := range named.UnacknowledgedUpdates {
		updates = append(updates, u.Status.TaskID.Value+" "+u.Status.GetState().String())
	}
	if diff := cmp.Diff([]string{"unheard"}, tasks); diff != "" {
		t.Errorf("named tasks: %s", diff)
	}
	if len(updates) < 4 || updates[0] != "unheard TASK_STARTING" || updates[2] != "unheard TASK_RUNNING" {
		t.Errorf("named updates: %q", updates)
	}
	// Once everything is acknowledged, ids are still known.
	a.launch(taskOf("unheard", script(t, "exit 1")))
	a.launch(taskOf("last", script(t, "exit 0")))
	a.await("last", mesos.TASK_FINISHED)
	if got := a.states("unheard"); got != "STARTING STARTING RUNNING FINISHED" {
		t.Errorf("a known id was launched again: %s", got)
	}
}

// TestX6Refused: if the agent no longer knows the executor, the tasks may already run on other agents, so the executor
// ends them.
func TestX6Refused(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(taskOf("t", script(t, `trap '' TERM; echo $$; while :; do sleep 1; done`)))
	_, status := a.await("t", mesos.TASK_RUNNING)
	pid := strings.TrimSpace(a.read(status.Dir + "/stdout"))
	a.stop()
	a.mu.Lock()
	a.subscribeStatus = http.StatusServiceUnavailable
	before := len(a.subscribed)
	a.mu.Unlock()
	a.listen(a.address)
	a.until("tries at 503", func() bool { return len(a.subscribed) > before+2 })
	if _, err := os.Stat("/proc/" + pid); err != nil {
		t.Error("503 stopped the task")
	}
	a.mu.Lock()
	a.subscribeStatus = http.StatusBadRequest
	a.mu.Unlock()
	if status := a.exit(); status != 1 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
	waitGone(t, "/proc/"+pid)
}

func TestX6RecoveryTimeout(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{
		"timeout":       {env("MESOS_RECOVERY_TIMEOUT", "100ms")},
		"no checkpoint": {env("MESOS_CHECKPOINT", "0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, options...)
			a.launch(taskOf("t", script(t, `echo $$; exec sleep 1000`)))
			_, status := a.await("t", mesos.TASK_RUNNING)
			pid := strings.TrimSpace(a.read(status.Dir + "/stdout"))
			a.stop()
			if status := a.exit(); status != 1 {
				t.Errorf("the executor ended with the unexpected status %d", status)
			}
			waitGone(t, "/proc/"+pid)
		})
	}
}

// TestSupervisorDies: when the supervisor is killed, the tasks fail and the executor ends.
func TestSupervisorDies(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(taskOf("t", script(t, `echo $PPID; exec sleep 1000`)))
	_, status := a.await("t", mesos.TASK_RUNNING)
	supervisor, err := strconv.Atoi(strings.TrimSpace(a.read(status.Dir + "/stdout")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := a.exit(); status != 1 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
	if _, status := a.await("t", mesos.TASK_FAILED); !status.SupervisorLost ||
		!strings.Contains(status.Cause, "supervises") {
		t.Errorf("unexpected cause %q", status.Cause)
	}
}

// TestTaskStopsTheExecutor: the supervisor continues the executor, so that it receives kills again (K3).
func TestTaskStopsTheExecutor(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(taskOf("t", script(t, `sleep 0.1; kill -STOP $(ps -o ppid= $PPID); exec sleep 1000`)))
	a.await("t", mesos.TASK_RUNNING)
	eventually(t, "the executor is stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	a.kill("t")
	a.await("t", mesos.TASK_KILLED)
}

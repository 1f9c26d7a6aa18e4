package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib"
)

// A command task is a task without an executor. Mesos starts an executor of
// its own for each; here the agent plays it, which is told by nothing but the
// process list. So that the exit status is known after a restart too, a shell stays
// above the command and writes the status down: it is "the executor's process".

// SIGTERM goes to the group, so the command gets it by itself; here it only
// interrupts the waiting.
const statusKeeper = `"$@" & p=$!
trap : TERM
while :; do wait $p; s=$?; kill -0 $p 2>/dev/null || break; done
echo $s >"$0.new" && mv "$0.new" "$0"
exit $s`

func (a *Agent) statusFile(ex *executorRun) string {
	return filepath.Join(journals(a.options.DataDir), ex.container+".status")
}

func (a *Agent) underStatusKeeper(ex *executorRun, p program) program {
	argv := append([]string{"sh", "-c", statusKeeper, a.statusFile(ex), p.commandPath}, p.argv[1:]...)
	p.commandPath, p.argv = "/bin/sh", argv
	return p
}

// commandStarted tells STARTING and RUNNING, as the command executor does.
func (a *Agent) commandStarted(ex *executorRun) {
	ex.state, ex.subscribed, ex.everSent = running, true, true
	a.note(ex, record{Kind: recSubscribed})
	for _, t := range ex.inOrder() {
		t.sent = true
		a.note(ex, record{Kind: recSent, Tasks: []string{t.id}})
		a.playExecutor(t, mesos.TASK_STARTING, "")
		a.playExecutor(t, mesos.TASK_RUNNING, "")
	}
}

func (a *Agent) playExecutor(t *task, state mesos.TaskState, message string) {
	id := uuid.New()
	status := &mesos.TaskStatus{TaskID: mesos.TaskID{Value: t.id}, State: state.Enum(), UUID: id[:]}
	if message != "" {
		status.Message = &message
	}
	a.complete(t.ex, status)
	if err := a.update(t, status); err != nil {
		a.log.Error("update cannot be recorded", "task", t.id, "error", err)
	}
}

// terminateCommand sends SIGTERM to the command, and SIGKILL after its grace period.
func (a *Agent) terminateCommand(ex *executorRun, policy *mesos.KillPolicy) {
	if ex.proc == nil {
		return
	}
	grace := a.options.KillGrace
	for _, t := range ex.tasks {
		t.killed = true
		if policy == nil {
			policy = t.info.KillPolicy
		}
	}
	if period := policy.GetGracePeriod(); period != nil {
		grace = asDuration(period)
	}
	ex.proc.signalGroup(syscall.SIGTERM)
	a.alarms.after(grace, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if ex.state != terminated && !a.closed {
			ex.kill()
		}
	})
}

// commandEnded tells how the command ended: FINISHED, FAILED, or KILLED.
func (a *Agent) commandEnded(ex *executorRun, wait int) {
	if ex.proc == nil || ex.forget || ex.why != nil {
		return // it never ran, nobody asks, or the cause is known
	}
	for _, t := range ex.inOrder() {
		if t.over() {
			continue
		}
		state, message := mesos.TASK_FAILED, "Command exit status is unknown"
		switch status, err := readStatus(a.statusFile(ex), wait); {
		case err != nil:
			a.log.Warn("exit status of a command is unknown", "task", t.id, "error", err)
		case status == 0:
			state, message = mesos.TASK_FINISHED, "Command exited with status 0"
		case status > 128:
			// The shell above the command tells signals this way.
			message = "Command terminated with signal " + signalName(syscall.Signal(status-128))
		default:
			message = fmt.Sprintf("Command exited with status %d", status)
		}
		if t.killed {
			state = mesos.TASK_KILLED
		}
		a.playExecutor(t, state, message)
	}
}

// readStatus is the exit status that the shell wrote down; without it, what the
// shell itself died of.
func readStatus(file string, wait int) (int, error) {
	data, err := os.ReadFile(file)
	if err == nil {
		return strconv.Atoi(strings.TrimSpace(string(data)))
	}
	if status := syscall.WaitStatus(wait); wait != unknownStatus && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return 0, err
}

func removeStatusFile(name string) {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		// It is a few bytes, and the next start removes what belongs to no journal.
		return
	}
}

// signalName is strsignal's.
func signalName(s syscall.Signal) string {
	name := s.String()
	return strings.ToUpper(name[:1]) + name[1:]
}

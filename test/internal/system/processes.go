package system

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// Process is one that has to do with a data folder.
type Process struct {
	PID     int
	Command string
}

func (p Process) String() string { return fmt.Sprintf("process %d (%s)", p.PID, p.Command) }

// Processes are those that live and have the data folder in their command line, environment or
// working directory: the server, executors, their supervisors, and the processes of tasks.
func (m *Machine) Processes() []Process {
	m.Helper()
	pids, err := child.Using(m.Dir)
	if err != nil {
		m.Fatal(err)
	}
	found := make([]Process, 0, len(pids))
	for _, pid := range pids {
		if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil { // else it has ended
			found = append(found, Process{pid, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))})
		}
	}
	return found
}

// Executors are the executor processes.
func (m *Machine) Executors() []int {
	m.Helper()
	return m.named(func(command string) bool {
		program, _, _ := strings.Cut(command, " ")
		return strings.HasSuffix(program, "/executor")
	})
}

// Supervisors are the executors' supervisor processes.
func (m *Machine) Supervisors() []int {
	m.Helper()
	return m.named(func(command string) bool { return strings.HasPrefix(command, supervisorOf) })
}

// Sandboxes are the folders of the executors that have a supervisor.
func (m *Machine) Sandboxes() (folders []string) {
	m.Helper()
	for _, p := range m.Processes() {
		if folder, ok := strings.CutPrefix(p.Command, supervisorOf); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// supervisorOf is what a supervisor's command line begins with, before its executor's sandbox.
const supervisorOf = "executor supervisor "

func (m *Machine) named(is func(command string) bool) []int {
	m.Helper()
	var pids []int
	for _, p := range m.Processes() {
		if is(p.Command) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// asRoot has servers that root starts in tests run jobs as root, as all others run them as who started the test; but
// where the arguments name another user for executors, or a Kubernetes, on which pods say it.
func asRoot(args []string) []string {
	if os.Geteuid() != 0 || slices.Contains(args, "--mesos-user") || slices.Contains(args, "--kubernetes") {
		return nil
	}
	return []string{"ELASTICJOB_RUN_AS=root"}
}

// KillProcess ends a process of this machine with kill -9.
func (m *Machine) KillProcess(pid int) {
	m.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.Fatalf("kill -9 %d: %v", pid, err)
	}
}

// Lives reports whether a process is there and not just waiting to be reaped.
func (m *Machine) Lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// AgentAddress is where executors are given as their agent's.
func (m *Machine) AgentAddress() string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, "cluster", "ports.json"))
	if err != nil {
		m.Fatal(err)
	}
	var kept struct{ Agents []int }
	m.decode(string(text), &kept)
	if len(kept.Agents) == 0 {
		m.Fatalf("no agent's port is kept: %s", text)
	}
	return fmt.Sprint("127.0.0.1:", kept.Agents[0])
}

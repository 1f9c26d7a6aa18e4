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

// Process is a process that uses a data folder.
type Process struct {
	PID     int
	Command string
}

func (p Process) String() string { return fmt.Sprintf("process %d (%s)", p.PID, p.Command) }

// Processes returns the running processes with the data folder in their command line, environment or working
// directory: the server, executors, their supervisors, and the processes of tasks.
func (m *Machine) Processes() []Process {
	m.Helper()
	pids, err := child.Using(m.Dir)
	if err != nil {
		m.Fatal(err)
	}
	found := make([]Process, 0, len(pids))
	for _, pid := range pids {
		if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil { // otherwise it has ended
			found = append(found, Process{pid, strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))})
		}
	}
	return found
}

// Executors returns the executor processes.
func (m *Machine) Executors() []int {
	m.Helper()
	return m.pidsWhere(func(command string) bool {
		program, _, _ := strings.Cut(command, " ")
		return strings.HasSuffix(program, "/executor")
	})
}

// Supervisors returns the executors' supervisor processes.
func (m *Machine) Supervisors() []int {
	m.Helper()
	return m.pidsWhere(func(command string) bool { return strings.HasPrefix(command, supervisorOf) })
}

// Sandboxes returns the folders of the executors that have a supervisor.
func (m *Machine) Sandboxes() (folders []string) {
	m.Helper()
	for _, p := range m.Processes() {
		if folder, ok := strings.CutPrefix(p.Command, supervisorOf); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// supervisorOf is the beginning of a supervisor's command line; the sandbox of its executor follows.
const supervisorOf = "executor supervisor "

// pidsWhere returns the processes whose command line matches.
func (m *Machine) pidsWhere(matches func(command string) bool) []int {
	m.Helper()
	var pids []int
	for _, p := range m.Processes() {
		if matches(p.Command) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// runAsRoot returns the environment variable that makes a server run jobs as root, if root runs the tests. A server of
// another user runs jobs as that user without it. It returns nil if the arguments name another user for executors, or
// Kubernetes, where pods determine the user.
func runAsRoot(args []string) []string {
	if os.Geteuid() != 0 || slices.Contains(args, "--mesos-user") || slices.Contains(args, "--kubernetes") {
		return nil
	}
	return []string{"ELASTICJOB_RUN_AS=root"}
}

// KillProcess kills a process of this machine with SIGKILL.
func (m *Machine) KillProcess(pid int) {
	m.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.Fatalf("kill -9 %d: %v", pid, err)
	}
}

// Lives reports whether a process exists and is not a zombie.
func (m *Machine) Lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// AgentAddress returns the address at which executors reach the agent.
func (m *Machine) AgentAddress() string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, "cluster", "ports.json"))
	if err != nil {
		m.Fatal(err)
	}
	var ports struct{ Agents []int }
	m.decode(string(text), &ports)
	if len(ports.Agents) == 0 {
		m.Fatalf("ports.json contains no agent's port: %s", text)
	}
	return fmt.Sprint("127.0.0.1:", ports.Agents[0])
}

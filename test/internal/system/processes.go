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
	return m.named(func(command string) bool {
		program, _, _ := strings.Cut(command, " ")
		return strings.HasSuffix(program, "/executor")
	})
}

// Supervisors returns the executors' supervisor processes.
func (m *Machine) Supervisors() []int {
	m.Helper()
	return m.named(func(command string) bool { return strings.HasPrefix(command, supervisorOf) })
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

// asRoot makes servers that root starts in tests run jobs as root, because servers of other users run jobs as
// themselves. It does not apply if the arguments name another user for executors, or Kubernetes, where pods determine
// the user.
func asRoot(args []string) []string {
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

// Lives reports whether a process is running, and not a zombie.
func (m *Machine) Lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// AgentAddress returns the address of the agent as executors get it.
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

package system

import (
	"fmt"
	"os"
	"path/filepath"
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
	return m.named(func(command string) bool { return filepath.Base(command) == "executor" })
}

// Supervisors are the executors' supervisor processes.
func (m *Machine) Supervisors() []int {
	m.Helper()
	return m.named(func(command string) bool { return command == "executor supervisor" })
}

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

// AgentAddress is where the executors, one of which must live, were given as their agent's.
func (m *Machine) AgentAddress() string {
	m.Helper()
	for _, pid := range m.Executors() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			m.Fatal(err)
		}
		for variable := range strings.SplitSeq(string(environ), "\x00") {
			if address, ok := strings.CutPrefix(variable, "MESOS_AGENT_ENDPOINT="); ok {
				return address
			}
		}
	}
	m.Fatal("no executor knows its agent's address")
	return ""
}

// Package child runs servers for tests as child processes. Each ends with the test process, even if that is killed,
// and listens on a free port.
package child

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a child process. A nil Process has ended already.
type Process struct {
	pid  int
	done chan struct{}
}

// Start starts a command, appends its output to a log file, and makes the kernel kill it when the test process ends. It
// overwrites the Stdout, Stderr and SysProcAttr of the command.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the thread that started the process ends, so this thread must live until the process
		// has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = out.Close()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill kills the process with SIGKILL and waits until it has ended.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	select {
	case <-p.done: // another process may have its pid by now
	default:
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.done
	}
}

// Stopped reports whether the process has stopped after a SIGSTOP, as the function Stopped does.
func (p *Process) Stopped() bool { return Stopped(p.pid) }

// Pause stops the process with SIGSTOP, and waits until Stopped or, for an error, until a timeout.
func (p *Process) Pause(timeout time.Duration) error {
	if err := syscall.Kill(p.pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(timeout); !p.Stopped(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d has not stopped %v after SIGSTOP", p.pid, timeout)
		}
	}
	return nil
}

// Stopped reports whether each thread of a process has stopped after a SIGSTOP, or sleeps uninterruptibly in the
// kernel. Such a thread stops before it returns to the program.
func Stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, stat := range stats {
		text, readErr := os.ReadFile(stat)
		_, state, _ := strings.Cut(string(text), ") ") // after the name in parentheses
		if readErr != nil || !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "D") {
			return false
		}
	}
	return err == nil && len(stats) > 0
}

// ListensAt reports whether the listening socket of the port belongs to this process. Another server might be
// listening on a port that this one failed to get.
func (p *Process) ListensAt(port int) bool {
	var sockets []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.pid, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // number, local address, remote address, state, …, inode
			if len(fields) > 9 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && fields[3] == "0A" {
				sockets = append(sockets, "socket:["+fields[9]+"]")
			}
		}
	}
	if len(sockets) == 0 {
		return false
	}
	folder := fmt.Sprintf("/proc/%d/fd", p.pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, f := range files {
		link, err := os.Readlink(filepath.Join(folder, f.Name()))
		for _, socket := range sockets {
			if err == nil && link == socket {
				return true
			}
		}
	}
	return false
}

// LastWords returns the end of a log, for the message of a failed test.
func LastWords(log string) string {
	said, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	return string(said[max(0, len(said)-3000):])
}

// Using returns the processes, except this one, with a folder in their command line, environment or working
// directory: servers with that data folder, and everything that these started. An executor's command line contains no
// folder, and only root can read its environment and working directory. For other users, an executor is the parent of
// a supervisor that was found, or a child of a server that was found.
func Using(folder string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	found := map[int]bool{}
	hidden := map[int]int{} // from each process whose environment cannot be read to its parent
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Errors mean that the process has ended, belongs to another user, or hides its environment.
		dir := filepath.Join("/proc", entry.Name())
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		var state string
		var parent int
		_, _ = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, unreadable := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		switch {
		case strings.Contains(string(command)+"\x00"+string(environ)+"\x00"+cwd, folder):
			found[pid] = true
			parentStat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", parent))
			if bytes.HasPrefix(command, []byte("executor\x00supervisor\x00")) &&
				bytes.Contains(parentStat, []byte(" (executor")) {
				found[parent] = true
			}
		case unreadable != nil && state != "Z" && len(command) > 0:
			hidden[pid] = parent
		}
	}
	for pid, parent := range hidden {
		if found[parent] {
			found[pid] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// EndAll kills with SIGKILL all processes that use a folder, including those that they start meanwhile.
func EndAll(folder string) error {
	for range 50 {
		pids, err := Using(folder)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d: %w", pid, err)
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	return fmt.Errorf("processes that use %s do not end", folder)
}

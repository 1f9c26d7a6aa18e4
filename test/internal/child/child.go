// Package child runs the servers that tests need as child processes: each ends with
// the test process, even when that is killed, and listens at a port that was free.
package child

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
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

// Process is a child process that was started. A nil Process has ended already.
type Process struct {
	pid  int
	done chan struct{}
}

// Start starts a command, appends its output to a log file, and has the kernel
// end it when the test process ends. The command's attributes and output are set here.
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
		// The signal at the parent's death is for the death of the thread
		// that started the process: this one stays to its end.
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

// PID is the process id.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process by SIGKILL and waits for its end.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	select {
	case <-p.done: // its pid may be another's by now
	default:
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.done
	}
}

// Stopped reports whether all threads of the process have come to rest after a SIGSTOP, which each hears by itself.
func (p *Process) Stopped() bool { return Stopped(p.pid) }

// Pause stops the process by SIGSTOP, and waits until all its threads have come to rest.
func (p *Process) Pause(within time.Duration) error {
	if err := syscall.Kill(p.pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(within); !p.Stopped(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("it is not stopped after %v", within)
		}
	}
	return nil
}

// Stopped reports whether all threads of a process have come to rest after a SIGSTOP, or wait for something in the
// kernel, from where they do before they go on.
func Stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, stat := range stats {
		text, readErr := os.ReadFile(stat)
		_, behindName, _ := strings.Cut(string(text), ") ")
		if readErr != nil || !strings.HasPrefix(behindName, "T") && !strings.HasPrefix(behindName, "D") {
			return false
		}
	}
	return err == nil && len(stats) > 0
}

// ListensAt reports whether the socket that listens at the port is this process's:
// another server might answer at a port that this one could not get.
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

// FreePorts finds ports where nobody listens, below those that systems give to
// clients, so that a server that is started again finds its own still free.
func FreePorts(n int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 100 * n {
		if len(ports) == n {
			return ports, nil
		}
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			held = append(held, l)
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("only %d of %d ports are free", len(ports), n)
}

// LastWords is the end of a log, for the message of a failed test.
func LastWords(log string) string {
	said, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	return string(said[max(0, len(said)-3000):])
}

// Using are the processes, this one left out, that have a folder in their command line, environment or working
// directory: servers with that data folder, and all that these started. Of an executor nobody but root sees more than
// its command line, which has no folder: it is known by its supervisor, of which it is the parent, or by the server,
// of which it is a child.
func Using(folder string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	found, closed := map[int]bool{}, map[int]int{} // closed ones by their parents
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// What can't be read has ended, or is another user's or closed.
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
			of, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", parent))
			if bytes.HasPrefix(command, []byte("executor\x00supervisor\x00")) &&
				bytes.Contains(of, []byte(" (executor")) {
				found[parent] = true
			}
		case unreadable != nil && state != "Z" && len(command) > 0:
			closed[pid] = parent
		}
	}
	for pid, parent := range closed {
		if found[parent] {
			found[pid] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// EndAll ends all processes that use a folder by SIGKILL, those too that they start meanwhile.
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

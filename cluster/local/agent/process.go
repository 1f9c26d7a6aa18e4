package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process identifies a process across restarts of the server. A pid alone is not enough, because the kernel reuses
// pids.
type process struct {
	PID int `json:"pid"`
	// Start is its start time in clock ticks since boot (/proc/<pid>/stat, field 22).
	Start uint64 `json:"start"`
	// Boot is the machine's boot id.
	Boot string `json:"boot"`
}

// unknownStatus is reported for a process without a known wait status, as in Mesos. Only the parent of a process gets
// the wait status, so it is unknown for an executor that an earlier run of the agent started.
const unknownStatus = -1

// bootID returns the machine's boot id, which is different after each boot.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id, which identifies executors: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// stat holds the fields of /proc/<pid>/stat that are used here.
type stat struct {
	pid, session int
	state        byte
	start        uint64
}

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	// The second field is the program's name in parentheses and may contain any character.
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}
	session, err1 := strconv.Atoi(string(fields[3]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	return stat{pid: pid, session: session, state: fields[0][0], start: start}, errors.Join(err1, err2)
}

// ended reports whether the process has ended and waits to be reaped.
func (s stat) ended() bool { return s.state == 'Z' || s.state == 'X' }

// lives reports whether p still exists, including as a zombie.
func (p process) lives() bool {
	s, err := readStat(p.PID)
	return err == nil && s.start == p.Start
}

// eachProcess calls do for each process of the machine.
func eachProcess(do func(stat)) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("list the machine's processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A process that ended in the meantime is skipped.
		if s, err := readStat(pid); err == nil {
			do(s)
		}
	}
	return nil
}

// killSession kills all processes of the session that p leads or led, and waits until they have ended. While one of
// them lives, the kernel does not reuse the session's number as a pid. So if p's pid belongs to another process, none
// is left.
func killSession(ctx context.Context, p process) error {
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for {
		var left []int
		reused := false
		err := eachProcess(func(s stat) {
			switch {
			case s.pid == p.PID && s.start != p.Start:
				reused = true
			case s.session == p.PID && !s.ended():
				left = append(left, s.pid)
			}
		})
		if err != nil || reused || len(left) == 0 {
			return err
		}
		for _, pid := range left {
			// The process may have ended since.
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("kill the session of process %d: %d processes are left: %w", p.PID, len(left), ctx.Err())
		}
	}
}

// watched is a process whose end is observed through its pidfd. It need not be a child of this process.
type watched struct {
	process
	file *os.File
}

// errGone means that the process no longer exists.
var errGone = errors.New("process is gone")

// watch opens the pidfd of p.
func watch(p process) (*watched, error) {
	fd, err := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("open a pidfd of process %d: %w", p.PID, err)
	}
	file := os.NewFile(uintptr(fd), "pidfd of "+strconv.Itoa(p.PID))
	// The pidfd pins the pid, so this check is valid only after opening it.
	if !p.lives() {
		return nil, errors.Join(errGone, file.Close())
	}
	return &watched{process: p, file: file}, nil
}

// wait returns when the process has ended. It returns an error if the watch was closed before. It blocks no thread,
// because the runtime polls the pidfd.
func (w *watched) wait() error {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	})
}

// reap reaps an ended process and returns its wait status, or unknownStatus if the process is not a child.
func (w *watched) reap() int {
	var status unix.WaitStatus
	for {
		pid, err := unix.Wait4(w.PID, &status, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid != w.PID {
			return unknownStatus
		}
		return int(status)
	}
}

// kill sends SIGKILL to the process. The pidfd guarantees that no later process with the same pid is hit.
func (w *watched) kill() {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	// An error means that the watch is closed or the process has ended, so nothing is left to kill.
	_ = conn.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
}

func (w *watched) close() error { return w.file.Close() }

// program is what a process executes.
type program struct {
	path string   // may be relative to the process's folder
	file *os.File // if not nil, the opened program; it is executed even if the file at path was replaced
	argv []string
	env  []string
	// shell is set for a shell, which finds programs in its folder by name.
	shell bool
}

// isolation is Options.Isolate for one executor, or nil.
type isolation func(attr *syscall.SysProcAttr, env *[]string, start func() error) error

// fork starts a process that executes the program in dir, in a session of its own. The process writes its output to the
// files stdout and stderr in dir, and its input is empty. It has the mark, by which it is found if its pid was not
// recorded. fork does not wait for its end.
func fork(p program, dir, boot string, mark uint64, isolate isolation) (process, error) {
	attr := &os.ProcAttr{Dir: dir, Env: p.env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, name := range []string{os.DevNull, filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")} {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
		if err != nil {
			return process{}, err
		}
		defer file.Close()
		attr.Files = append(attr.Files, file)
	}
	if p.file != nil {
		// A script's interpreter opens the path again, so the process must inherit the descriptor.
		p.path = fmt.Sprintf("/proc/self/fd/%d", len(attr.Files))
		attr.Files = append(attr.Files, p.file)
	}
	child, err := start(p, attr, mark, isolate)
	if err != nil {
		return process{}, err
	}
	// The process is not reaped yet, so the pid is still its own and its stat is readable even if it has ended.
	s, err := readStat(child.Pid)
	if err != nil {
		return process{}, errors.Join(fmt.Errorf("read the start time of the new process: %w", err), child.Kill())
	}
	forked := process{PID: child.Pid, Start: s.start, Boot: boot}
	return forked, child.Release()
}

// busyTimeout is how long a freshly fetched program may be considered open for writing.
const busyTimeout = time.Second

// start starts a process. It retries for busyTimeout if the program's file is open for writing in another process,
// which the kernel does not allow. A process that is being forked inherits such a descriptor from this one, and has it
// until it executes its own program.
func start(p program, attr *os.ProcAttr, mark uint64, isolate isolation) (child *os.Process, err error) {
	for end := time.Now().Add(busyTimeout); ; <-time.After(5 * time.Millisecond) {
		if isolate == nil {
			child, err = startMarked(p, attr, mark)
		} else {
			env, sys := slices.Clone(attr.Env), *attr.Sys
			err = isolate(&sys, &env, func() (err error) {
				child, err = startMarked(p, &os.ProcAttr{Dir: attr.Dir, Env: env, Files: attr.Files, Sys: &sys}, mark)
				return err
			})
		}
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(end) {
			return child, err
		}
	}
}

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

// process is the identity of a process that outlives this one: a pid alone may be someone else's tomorrow.
type process struct {
	PID int `json:"pid"`
	// Start is its start time in clock ticks since boot (/proc/<pid>/stat, field 22).
	Start uint64 `json:"start"`
	// Boot is the machine's boot id.
	Boot string `json:"boot"`
}

// unknownStatus is reported for a process whose wait status only another process got, as Mesos does.
const unknownStatus = -1

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id, by which executors are known: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// stat is what we need of /proc/<pid>/stat.
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
	// The second field is the program's name in parentheses, with anything in it.
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}
	session, err1 := strconv.Atoi(string(fields[3]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	return stat{pid: pid, session: session, state: fields[0][0], start: start}, errors.Join(err1, err2)
}

// over reports whether the process has ended and only waits to be reaped.
func (s stat) over() bool { return s.state == 'Z' || s.state == 'X' }

// lives reports whether p is still there, reaped or not yet.
func (p process) lives() bool {
	s, err := readStat(p.PID)
	return err == nil && s.start == p.Start
}

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
		// One that ended meanwhile is not there to be seen.
		if s, err := readStat(pid); err == nil {
			do(s)
		}
	}
	return nil
}

// killSession kills all processes of the session that p leads or led, and waits until they are over. While one of them
// lives, the kernel gives their session's number to no other process; so when p's pid has another owner, there is none
// left.
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
			case s.session == p.PID && !s.over():
				left = append(left, s.pid)
			}
		})
		if err != nil || reused || len(left) == 0 {
			return err
		}
		for _, pid := range left {
			// It may have ended since.
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("kill the session of process %d: %d processes are left: %w", p.PID, len(left), ctx.Err())
		}
	}
}

// watched is a process that is waited for by its pidfd. It need not be our child.
type watched struct {
	process
	file *os.File
}

// errGone means that the process isn't there any more.
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
	// Only now is it sure that the pid, if it is still p's, stays so.
	if !p.lives() {
		return nil, errors.Join(errGone, file.Close())
	}
	return &watched{process: p, file: file}, nil
}

// wait returns when the process has ended; with an error when the watch was closed first. It takes no thread: the
// runtime polls the pidfd.
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

// reap gets the wait status of an ended process and lets its pid go; it is unknownStatus for one that isn't our child.
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

// kill ends the process, and no other one that has its pid by now.
func (w *watched) kill() {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	// Closed or ended: then there is nothing left to kill.
	_ = conn.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
}

func (w *watched) close() error { return w.file.Close() }

// program is what a process executes.
type program struct {
	path string   // may be relative to the process's folder
	file *os.File // if not nil, the opened program itself, which is executed whatever has that path by then
	argv []string
	env  []string
	// shell: it is a shell, which looks for programs in its folder.
	shell bool
}

// isolation is Options.Isolate for one executor, or nil.
type isolation func(attr *syscall.SysProcAttr, env *[]string, start func() error) error

// fork starts the program in a session of its own that works in dir, with the files stdout and stderr there as its
// output and nothing as its input. It has the mark, by which it is found if its pid is never recorded. It is not
// waited for.
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
		// A script's interpreter opens it again, so that the process gets the descriptor, too.
		p.path = fmt.Sprintf("/proc/self/fd/%d", len(attr.Files))
		attr.Files = append(attr.Files, p.file)
	}
	child, err := start(p, attr, mark, isolate)
	if err != nil {
		return process{}, err
	}
	// Not reaped yet, so the pid is its own and its stat is there, ended or not.
	s, err := readStat(child.Pid)
	if err != nil {
		return process{}, errors.Join(fmt.Errorf("read the start time of the new process: %w", err), child.Kill())
	}
	forked := process{PID: child.Pid, Start: s.start, Boot: boot}
	return forked, child.Release()
}

// busyFor is how long a program that was just fetched may count as being written.
const busyFor = time.Second

// start starts a process. What was just written can't be executed as long as a process has it open for writing, and
// one that is being forked at that moment has, until it executes its own program: that takes a moment.
func start(p program, attr *os.ProcAttr, mark uint64, isolate isolation) (child *os.Process, err error) {
	for end := time.Now().Add(busyFor); ; <-time.After(5 * time.Millisecond) {
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

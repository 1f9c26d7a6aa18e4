package embedded

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// InUse is Open's error when another process has the file.
type InUse struct {
	Path string
	// PID is the holder's process id, 0 when it can't be found out.
	PID int
	// Command is the holder's program, Who the address it gave with its last term; empty when unknown.
	Command, Who string
}

func (e *InUse) Error() string {
	holder := "another process"
	switch {
	case e.PID == os.Getpid():
		holder = "this process"
	case e.PID != 0:
		holder = fmt.Sprintf("process %d", e.PID)
		if e.Command != "" {
			holder += " (" + e.Command + ")"
		}
	}
	if e.Who != "" {
		holder += ", which serves " + e.Who
	}
	return fmt.Sprintf("the registry %s is in use by %s: stop that first, or use another data folder", e.Path, holder)
}

// holder is what FILE.holder says. It is a hint: a killed process leaves
// it behind, so it counts only for the process that it names, known by its start.
type holder struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`
	Who   string `json:"who,omitempty"`
}

func holderPath(path string) string { return path + ".holder" }

// announce writes the holder file, whole or not at all.
func (r *Registry) announce(who string) error {
	b, err := json.Marshal(holder{PID: os.Getpid(), Start: startOf(os.Getpid()), Who: who})
	if err != nil {
		return err
	}
	draft := holderPath(r.path) + ".new"
	if err := os.WriteFile(draft, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, holderPath(r.path))
}

func removeHolder(path string) error {
	if err := os.Remove(holderPath(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// inUse finds out who holds the file: the kernel's list of locks decides, the
// holder file adds the address, and stands in where the list shows nothing (another
// system, another pid namespace).
func inUse(path string) *InUse {
	e := &InUse{Path: path}
	var said holder
	if b, err := os.ReadFile(holderPath(path)); err == nil && json.Unmarshal(b, &said) != nil {
		said = holder{}
	}
	trusted := said.PID > 0 && said.Start != "" && startOf(said.PID) == said.Start
	e.PID = lockHolder(path)
	if e.PID == 0 && trusted {
		e.PID = said.PID
	}
	if trusted && e.PID == said.PID {
		e.Who = said.Who
	}
	if e.PID != 0 {
		// Without its arguments, which may hold what is not for everybody.
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", e.PID)); err == nil {
			name, _, _ := strings.Cut(string(b), "\x00")
			e.Command = filepath.Base(name)
		}
	}
	return e
}

// lockHolder is the process with the flock on the file, or 0.
func lockHolder(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer func() { _ = locks.Close() }()
	device := fmt.Sprintf("%02x:%02x", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	inode := strconv.FormatUint(stat.Ino, 10)
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		// 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF; waiting ones have "->" as second.
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" {
			continue
		}
		at := strings.LastIndexByte(f[5], ':')
		pid, err := strconv.Atoi(f[4])
		if at < 0 || f[5][at+1:] != inode || err != nil || pid <= 0 {
			continue
		}
		// Some file systems show the kernel another device than they show us.
		if f[5][:at] == device || hasOpen(pid, info) {
			return pid
		}
	}
	return 0
}

// hasOpen reports whether the process is seen to have the file open.
func hasOpen(pid int, file fs.FileInfo) bool {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if info, err := os.Stat(filepath.Join(folder, fd.Name())); err == nil && os.SameFile(info, file) {
			return true
		}
	}
	return false
}

// startOf is the start time of a process in clock ticks since boot, which
// distinguishes it from a later one with its id; "" when there is none.
func startOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command, in brackets, may hold anything; the 22nd field is the 20th after it.
	_, rest, found := strings.Cut(string(b[max(0, strings.LastIndexByte(string(b), ')')):]), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return ""
	}
	return fields[19]
}

package supervisor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// group is a cgroup of version 2 that the supervisor and all of its descendants are in: whatever else these shed, one
// write kills all of them at once, which no chain of forks outruns. It lies below the cgroup that the executor was
// started in, where that may be changed (see ownGroup); on other machines there is none, and the zero group stands for
// that. One for each task would also be possible, and was measured: starting a process in it takes half a millisecond
// more.
type group struct{ folder string }

const groupPrefix = "elasticjob-"

// groupOf is the group of the supervisor with that pid, if it has one.
func groupOf(pid int) group {
	own := ownGroup()
	if own == "" {
		return group{}
	}
	folder := filepath.Join(own, groupPrefix+strconv.Itoa(pid))
	if _, err := os.Stat(filepath.Join(folder, "cgroup.kill")); err != nil { // Linux has it from 5.14 on
		return group{}
	}
	return group{folder}
}

// joinGroup makes a group of this process, and removes those of supervisors that are gone.
func joinGroup() group {
	own := ownGroup()
	if own == "" {
		return group{}
	}
	former, _ := filepath.Glob(filepath.Join(own, groupPrefix+"[0-9]*"))
	for _, folder := range former {
		pid := strings.TrimPrefix(filepath.Base(folder), groupPrefix)
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(folder)
		}
	}
	folder := filepath.Join(own, groupPrefix+strconv.Itoa(os.Getpid()))
	if os.Mkdir(folder, 0o755) != nil {
		return group{}
	}
	if g := groupOf(os.Getpid()); g != (group{}) && moveTo(folder) == nil {
		return g
	}
	_ = os.Remove(folder)
	return group{}
}

// moveTo moves this process into a cgroup.
func moveTo(folder string) error {
	return os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte("0"), 0)
}

// leave moves this process out of its group, so that it can kill all others that are in it.
func (g group) leave() group {
	if g != (group{}) && moveTo(filepath.Dir(g.folder)) != nil {
		return group{}
	}
	return g
}

// kill kills all that is in the group.
func (g group) kill() {
	if g != (group{}) {
		_ = os.WriteFile(filepath.Join(g.folder, "cgroup.kill"), []byte("1"), 0)
	}
}

// remove removes the group, in which nothing lives any more: that can take a moment to be seen.
func (g group) remove() {
	for end := time.Now().Add(time.Second); g != (group{}) && time.Now().Before(end); <-time.After(time.Millisecond) {
		if err := os.Remove(g.folder); !errors.Is(err, unix.EBUSY) {
			return
		}
	}
}

// ownGroup is the folder of the cgroup (version 2) that this process is in, or "" where there is none that it may
// change: one that belongs to it, or, for root, one that systemd has delegated or where no systemd runs.
// See systemd's CGROUP_DELEGATION.
func ownGroup() string {
	line, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	path := ""
	for entry := range strings.Lines(string(line)) {
		if after, ok := strings.CutPrefix(strings.TrimSpace(entry), "0::"); ok {
			path = after
		}
	}
	for entry := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(entry, " - ")
		fields := strings.Fields(before)
		if path == "" || len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		inside, err := filepath.Rel(fields[3], path) // fields[3] is the mount's root in the hierarchy
		if err != nil || strings.HasPrefix(inside, "..") {
			continue
		}
		folder := filepath.Join(fields[4], inside)
		if os.Getuid() == 0 && !delegated(folder) {
			return ""
		}
		return folder
	}
	return ""
}

// delegated reports whether root may make cgroups in one: systemd, where it runs, marks those.
func delegated(folder string) bool {
	if _, err := os.Stat("/run/systemd/system"); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	value := make([]byte, 8)
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		if n, err := unix.Getxattr(folder, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

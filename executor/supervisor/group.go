package supervisor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// group is a cgroup of version 2 that holds the supervisor and all of its descendants, or one exclusive task. One write
// kills all of its processes at once, even a process that the supervisor can't recognize by other means; a chain of
// forks can't escape it. The supervisor's cgroup lies below the one in which the executor was started, and those of
// tasks lie in it. The zero group means that there is no such cgroup, because the process may not create it (see
// ownGroup) or the kernel can't kill a cgroup. Other tasks have no group of their own, because then, as measured, each
// start of a process takes half a millisecond longer.
type group struct{ folder string }

const groupPrefix = "elasticjob-"

// groupOf returns the group of the supervisor with this pid; the zero group if it has none.
func groupOf(pid int) group {
	own := ownGroup()
	if own == "" {
		return group{}
	}
	folder := filepath.Join(own, groupPrefix+strconv.Itoa(pid))
	if _, err := os.Stat(filepath.Join(folder, "cgroup.kill")); err != nil { // exists since Linux 5.14
		return group{}
	}
	return group{folder}
}

// joinGroup creates a group and moves this process into it. Before that it removes the groups of supervisors that
// have ended. It returns the zero group if this process can't create or join a group.
func joinGroup() group {
	own := ownGroup()
	if own == "" {
		return group{}
	}
	former, _ := filepath.Glob(filepath.Join(own, groupPrefix+"[0-9]*"))
	for _, folder := range former {
		pid := strings.TrimPrefix(filepath.Base(folder), groupPrefix)
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, fs.ErrNotExist) {
			group{folder}.removeTasks()
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

// leave moves this process out of its group, so that kill does not kill this process. It returns the zero group if
// the process can't leave.
func (g group) leave() group {
	if g != (group{}) && moveTo(filepath.Dir(g.folder)) != nil {
		return group{}
	}
	return g
}

// ofTask creates a group for a task in this one, and removes those of earlier tasks. It returns the zero group if it
// can't.
func (g group) ofTask(id uint64) group {
	g.removeTasks()
	folder := filepath.Join(g.folder, strconv.FormatUint(id, 10))
	if g == (group{}) || os.Mkdir(folder, 0o755) != nil {
		return group{}
	}
	return group{folder}
}

// has reports whether a process is in the group.
func (g group) has(pid int) bool {
	if g == (group{}) {
		return false
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	path := filepath.Join(filepath.Base(filepath.Dir(g.folder)), filepath.Base(g.folder))
	return err == nil && slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "0::") && strings.Contains(line+"/", "/"+path+"/")
	})
}

// kill kills all processes in the group.
func (g group) kill() {
	if g != (group{}) {
		_ = os.WriteFile(filepath.Join(g.folder, "cgroup.kill"), []byte("1"), 0)
	}
}

// removeTasks removes the groups of tasks in this one that have no process left.
func (g group) removeTasks() {
	if g == (group{}) {
		return
	}
	tasks, _ := filepath.Glob(filepath.Join(g.folder, "[0-9]*"))
	for _, folder := range tasks {
		_ = os.Remove(folder)
	}
}

// remove removes the group with those of its tasks. All processes in it must have ended. The kernel can take a moment
// to notice that, so remove tries for up to a second.
func (g group) remove() {
	for end := time.Now().Add(time.Second); g != (group{}) && time.Now().Before(end); <-time.After(time.Millisecond) {
		g.removeTasks()
		if err := os.Remove(g.folder); !errors.Is(err, unix.EBUSY) {
			return
		}
	}
}

// ownGroup returns the folder of the cgroup (version 2) that this process is in. It returns "" if the folder can't be
// found, or if this process runs as root and systemd has not delegated the cgroup (see systemd's CGROUP_DELEGATION).
// For any other user, the permissions of the folder decide whether the process can create a cgroup in it.
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

// delegated reports whether root may create cgroups in this cgroup. If systemd runs, it marks the cgroups that it
// delegates; without systemd, root may use every cgroup.
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

package supervisor

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// marks gives each task a mark, by which a process of the task is recognized even if it has left its group and its
// session and has dropped its environment. A mark is a soft limit of a resource that only real-time processes use
// (RLIMIT_RTTIME); it is too high to have an effect. Processes inherit limits, and hardly any program changes this
// one.
type marks struct{ base, hard uint64 }

// ownMarks returns marks that differ from those of any other supervisor, because a task's descendant may be a
// supervisor too. It returns zero marks, which mark nothing, if the resource is limited already.
func ownMarks() marks {
	const high = 1 << 60
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &limit); err != nil || limit.Max < 2*high {
		return marks{}
	}
	return marks{base: high | uint64(os.Getpid())<<32, hard: limit.Max}
}

// next makes the mark of the task with this id the mark of this process: the processes that this process starts from
// now on inherit it. It returns the mark, or 0 if they get none.
func (m marks) next(id uint64) uint64 {
	if m.base == 0 {
		return 0
	}
	mark := m.base | id&(1<<32-1)
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: m.hard}); err != nil {
		return 0
	}
	return mark
}

// hasMark reports whether a process has the mark.
func hasMark(pid int, mark uint64) bool {
	if mark == 0 {
		return false
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != unix.EPERM {
		return err == nil && limit.Cur == mark
	}
	// The process belongs to another user, and root in a container may not have the right to read its limits this
	// way. The kernel also shows them in a file that all users can read.
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), "Max realtime timeout ")
	fields := strings.Fields(after)
	return len(fields) > 0 && fields[0] == strconv.FormatUint(mark, 10)
}

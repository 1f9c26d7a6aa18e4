package supervisor

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// marks show whose a process is that has left its group and its session and dropped its environment.
// They are soft limits of a resource that only real-time processes use, too high to ever be felt:
// limits go on to whatever a process starts, and nobody changes this one but on purpose.
type marks struct{ base, hard uint64 }

// ownMarks differ from those of another supervisor, which may be a task's descendant.
// They are zero if the resource is limited here already.
func ownMarks() marks {
	const high = 1 << 60
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTTIME, &limit); err != nil || limit.Max < 2*high {
		return marks{}
	}
	return marks{base: high | uint64(os.Getpid())<<32, hard: limit.Max}
}

// next marks what this process starts from now on. A mark of 0 is none.
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
	// It is another user's, and root in a container has no right to ask so. The kernel also writes limits for
	// everybody to read.
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), "Max realtime timeout ")
	fields := strings.Fields(after)
	return len(fields) > 0 && fields[0] == strconv.FormatUint(mark, 10)
}

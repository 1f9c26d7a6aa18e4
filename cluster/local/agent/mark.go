package agent

import (
	"math/rand/v2"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A mark identifies an executor's process from its fork on. The journal contains the mark before the fork, so a server
// can find an executor even if the previous server died before it recorded the pid (rule O2). The mark is stored as a
// soft limit of a resource that only real-time processes use, and is far too high to have an effect. An environment
// variable would be simpler, but only root can read the environment of an executor.

// newMark returns a mark that no other executor has, and no task either: the marks of supervisors are below this
// range.
func newMark() uint64 { return 1<<62 | rand.Uint64N(1<<62) }

// marking guards the limits of this process, which a fork copies. Several agents may run in one process.
var marking sync.Mutex

// startMarked starts a process with the mark. If the hard limit does not allow marks, the process has none. An
// executor that was not recorded then ends itself when the agent answers that it does not know the executor (rule X6).
func startMarked(p program, attr *os.ProcAttr, mark uint64) (*os.Process, error) {
	marking.Lock()
	defer marking.Unlock()
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &own) == nil &&
		unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: own.Max}) == nil {
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_RTTIME, &own) }()
	}
	return os.StartProcess(p.path, p.argv, attr)
}

// findMarked finds session leaders with one of the marks: executors that were forked but whose pid was not recorded.
func findMarked(marks map[uint64]bool, boot string) (map[uint64]process, error) {
	found := map[uint64]process{}
	if len(marks) == 0 {
		return found, nil
	}
	err := eachProcess(func(s stat) {
		var limit unix.Rlimit // unknown for another user's process
		if s.session == s.pid && !s.ended() && unix.Prlimit(s.pid, unix.RLIMIT_RTTIME, nil, &limit) == nil &&
			marks[limit.Cur] {
			found[limit.Cur] = process{PID: s.pid, Start: s.start, Boot: boot}
		}
	})
	return found, err
}

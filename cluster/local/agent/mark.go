package agent

import (
	"math/rand/v2"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// An executor has a mark from the moment of its fork on, which its journal has before that: by it a server finds an
// executor whose pid the one before could not record any more (rule O2). The mark is a soft limit of a resource that
// only real-time processes use, far too high to be felt. Its environment would be a plainer place, but that of an
// executor can be read by nobody but root.

// newMark is a mark that no other executor has, and no task of an executor: those of supervisors are below it.
func newMark() uint64 { return 1<<62 | rand.Uint64N(1<<62) }

// marking guards the limits of this process, which a fork copies. Several agents can be in one process.
var marking sync.Mutex

// startMarked starts a process that has the mark. Where a hard limit leaves no room for marks, it has none: then an
// executor that was not recorded ends itself, when the agent says that it does not know it (rule X6).
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

// findMarked finds the session leaders that have one of the marks: executors that were forked, though their pid was
// never recorded.
func findMarked(marks map[uint64]bool, boot string) (map[uint64]process, error) {
	found := map[uint64]process{}
	if len(marks) == 0 {
		return found, nil
	}
	err := eachProcess(func(s stat) {
		var limit unix.Rlimit // of another user's process nobody knows it
		if s.session == s.pid && !s.over() && unix.Prlimit(s.pid, unix.RLIMIT_RTTIME, nil, &limit) == nil &&
			marks[limit.Cur] {
			found[limit.Cur] = process{PID: s.pid, Start: s.start, Boot: boot}
		}
	})
	return found, err
}

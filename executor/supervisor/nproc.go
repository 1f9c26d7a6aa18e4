package supervisor

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// userLimit limits a task's processes and threads. Whenever a process creates another one, the kernel compares the
// limit (RLIMIT_NPROC) of that process with the number of all threads of the user. So the limit of a task is the
// number of threads that the user has already, plus the number that the task may have. Root has no such limit.
//
// A process inherits the limit from the one that forks it. The supervisor therefore has the limit of a task while
// it forks that task, and its own limit at all other times. So when a task has reached its limit, the supervisor
// can still create the threads that Go's runtime asks for: a runtime that can't create a thread ends the process,
// and every task would end with it. During a fork the runtime uses spare threads (see startSpareThreads).
type userLimit struct {
	own     unix.Rlimit
	counted time.Time // when the threads were counted
	user    int       // the user whose threads were counted
	count   threads
}

// threads is the number of a user's threads on this machine. The kernel counts threads per user namespace, and also
// in the namespaces around it.
type threads struct {
	inside  int // in the user namespace of this process
	outside int // in the user namespaces around it
}

const (
	// countInterval is how long a count of the user's threads stays valid.
	countInterval = 5 * time.Second
	// ownThreads is how many threads the executor and the supervisor may start while a task runs, without taking
	// them from the task: the limit of a task is higher by that number. The same number is reserved for them from
	// the user's own limit, which they share with tasks that run as their user.
	ownThreads = 64
)

// newUserLimit returns nil if this process can't read its limit.
func newUserLimit() *userLimit {
	l := &userLimit{}
	if unix.Getrlimit(unix.RLIMIT_NPROC, &l.own) != nil {
		return nil
	}
	return l
}

// raiseUserLimit gives this process, and the supervisor that inherits it, the highest limit that the user is
// allowed.
func raiseUserLimit() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil && limit.Cur < limit.Max {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit.Max, Max: limit.Max})
	}
}

// fork calls forkExec, which forks a task's process, with the limit of that task. If processes is 0, only the
// user's own limit applies.
func (l *userLimit) fork(processes int, as *isolation.Account, forkExec func() (int, error)) (pid int, err error) {
	user := os.Getuid()
	if as != nil {
		user = int(as.UID)
	}
	if l == nil || user == 0 || processes == 0 {
		return forkExec()
	}
	if user != l.user || time.Since(l.counted) >= countInterval {
		l.user, l.counted, l.count = user, time.Now(), threadsOf(user)
	}
	pid, err = l.forkWith(l.softLimit(processes, as), forkExec)
	if errors.Is(err, syscall.EAGAIN) {
		// Other processes of the user may have used up this task's share since the count, however recent that is: a
		// task that creates as many processes as it may creates thousands of them during one count.
		l.counted, l.count = time.Now(), threadsOf(user)
		pid, err = l.forkWith(l.softLimit(processes, as), forkExec)
	}
	return pid, err
}

// forkWith calls forkExec with soft as the limit of this process, and then restores the limit.
func (l *userLimit) forkWith(soft uint64, forkExec func() (int, error)) (int, error) {
	if unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: soft, Max: l.own.Max}) == nil {
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_NPROC, &l.own) }()
	}
	return forkExec()
}

// softLimit returns the limit of a task that may have this number of processes.
func (l *userLimit) softLimit(processes int, as *isolation.Account) uint64 {
	ceiling := l.own.Max
	if as == nil && l.own.Cur != unix.RLIM_INFINITY {
		// The limit of the user, which executor and supervisor share, applies to the threads of all namespaces.
		kept := min(ownThreads, l.own.Cur/8) + uint64(l.count.outside)
		ceiling = l.own.Cur - min(kept, l.own.Cur)
	}
	return min(ceiling, uint64(l.count.inside+processes+ownThreads))
}

// spareThreads exceeds the number of a supervisor's goroutines that can be in a system call at the same time or are
// locked to a thread: those of serve, of signals and of continueParent, one for the timers of kills, and the
// runtime's own.
const spareThreads = 16

// startSpareThreads makes Go's runtime start threads before the first task. The runtime keeps them. It starts
// another one only if a goroutine can run and no thread is idle, which does not happen in a supervisor with this
// number of threads. So the runtime starts none while the supervisor has the limit of a task.
func startSpareThreads() {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // no other goroutine can use its thread while it waits
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}

// threadsOf counts a user's threads, as the kernel does.
func threadsOf(uid int) threads {
	var count threads
	parents, sizes := map[int]int{}, map[int]int{}
	all := processes()
	if len(all) == 0 {
		return threads{inside: math.MaxInt32} // without a count there is no limit
	}
	for _, pid := range all {
		info, err := os.Stat("/proc/" + strconv.Itoa(pid))
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != uid {
			continue
		}
		const parentField, threadsField = 1, 17
		if stat := statOf(pid); len(stat) > threadsField {
			parents[pid], _ = strconv.Atoi(stat[parentField]) // both fields are always numbers
			sizes[pid], _ = strconv.Atoi(stat[threadsField])
		}
	}
	inNamespace := isolation.Entered() // then its user namespace has only this process and its descendants
	for pid, size := range sizes {
		if inNamespace && !descends(pid, os.Getpid(), parents) {
			count.outside += size
		} else {
			count.inside += size
		}
	}
	return count
}

// descends reports whether a process is ancestor or one of its descendants. The search is bounded, because the
// parents can form a circle if the kernel reused pids while they were read.
func descends(pid, ancestor int, parents map[int]int) bool {
	for range parents {
		if pid == ancestor {
			return true
		}
		pid = parents[pid]
	}
	return false
}

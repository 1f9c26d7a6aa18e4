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
	count   threads   // the result
}

// threads is the number of a user's threads on this machine. The kernel counts a thread in its own user namespace and
// in each namespace around that.
type threads struct {
	inside  int // in the user namespace of this process
	outside int // in the user namespaces around it
}

const (
	// countInterval is how long a count of the user's threads stays valid.
	countInterval = 5 * time.Second
	// ownThreads is how many threads the executor and the supervisor may start while a task runs, without taking
	// them from the task: the limit of a task is higher by this number. If tasks run as the user of the executor,
	// all of them share the limit of that user; there, too, this number (or an eighth of the limit, if that is
	// less) is kept for the executor and the supervisor.
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

// raiseUserLimit raises the limit of this process to the highest value that the user may have. The supervisor
// inherits it.
func raiseUserLimit() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil && limit.Cur < limit.Max {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit.Max, Max: limit.Max})
	}
}

// fork calls forkExec, which forks a task's process, while this process has the limit of that task. If processes is
// 0, only the user's own limit applies. A nil userLimit just calls forkExec.
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
		// Since the count, other processes of the user may have used up this task's share, however recent the count
		// is: another task can create thousands of processes while they are counted.
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

// softLimit returns the limit to set for a task that may have this number of processes.
func (l *userLimit) softLimit(processes int, as *isolation.Account) uint64 {
	ceiling := l.own.Max
	if as == nil && l.own.Cur != unix.RLIM_INFINITY {
		// The task shares the user's limit with the executor and the supervisor. That limit applies to the threads of
		// all namespaces.
		kept := min(ownThreads, l.own.Cur/8) + uint64(l.count.outside)
		ceiling = l.own.Cur - min(kept, l.own.Cur)
	}
	return min(ceiling, uint64(l.count.inside+processes+ownThreads))
}

// spareThreads is more than the number of the supervisor's goroutines that need a thread at the same time, because
// they are in a system call or locked to a thread: those of serve, of signals and of continueParent, one for the timers
// of kills, and the runtime's own.
const spareThreads = 16

// startSpareThreads makes Go's runtime start spareThreads threads before the first task. The runtime keeps them. It
// starts another thread only if a goroutine can run and no thread is idle, which does not happen with so many threads.
// So the runtime starts no thread while the supervisor has the limit of a task.
func startSpareThreads() {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // no other goroutine can use the thread while this one waits
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}

// threadsOf counts a user's threads as the kernel does. If /proc can't be read, the count is so high that it results
// in no limit.
func threadsOf(uid int) threads {
	var count threads
	parents, sizes := map[int]int{}, map[int]int{}
	all := processes()
	if len(all) == 0 {
		return threads{inside: math.MaxInt32}
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
	inNamespace := isolation.Entered() // if so, only this process and its descendants are in its user namespace
	for pid, size := range sizes {
		if inNamespace && !descends(pid, os.Getpid(), parents) {
			count.outside += size
		} else {
			count.inside += size
		}
	}
	return count
}

// descends reports whether the process pid is ancestor or descends from it. The search is bounded: if the kernel has
// reused a pid while the parents were read, they can form a circle.
func descends(pid, ancestor int, parents map[int]int) bool {
	for range parents {
		if pid == ancestor {
			return true
		}
		pid = parents[pid]
	}
	return false
}

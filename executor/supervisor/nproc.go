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

// userLimit bounds a task's processes and threads. The kernel compares such a limit (RLIMIT_NPROC) with the number
// of all threads of the user, whenever a process that has the limit makes another one. So the limit of a task is
// what the user has already and so many more. Root has no such limit.
//
// A process inherits the limit from the one that forks it. The supervisor therefore has the limit of a task while
// it forks that task, and its own limit at all other times: when a task has reached its limit, the supervisor can
// still make the threads that Go's runtime asks for. A runtime that can't make a thread ends the process, and every
// task would end with it. For the moment of a fork there are spare threads (see startSpareThreads).
type userLimit struct {
	own     unix.Rlimit
	counted time.Time // when the following were counted
	user    int       // whose threads they are
	count   threads
}

// threads are the threads of a user on this machine. The kernel counts them by user namespace, and again in the
// namespaces around it.
type threads struct {
	inside  int // in the user namespace of this process
	outside int // in those around it
}

const (
	// countInterval is how long a count of the user's threads is used.
	countInterval = 5 * time.Second
	// ownThreads is how many threads the executor and the supervisor may start while a task runs, without a loss
	// for the task: the limit of a task is so much higher. Of the user's own limit, which they share with tasks
	// that run as their user, so many are kept for them.
	ownThreads = 64
)

// newUserLimit returns nil if this process can't know its limit.
func newUserLimit() *userLimit {
	l := &userLimit{}
	if unix.Getrlimit(unix.RLIMIT_NPROC, &l.own) != nil {
		return nil
	}
	return l
}

// raiseUserLimit gives this process, and the supervisor that inherits it, the highest limit that the user may have.
func raiseUserLimit() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil && limit.Cur < limit.Max {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit.Max, Max: limit.Max})
	}
}

// fork calls forkExec, which forks a task's process, with the limit of that task. 0 processes stand for no limit
// but the user's.
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
	pid, err = l.forkWith(l.soft(processes, as), forkExec)
	if errors.Is(err, syscall.EAGAIN) {
		// Others have used what would have been this task's since they were counted, be it a moment ago: a task
		// that makes as many processes as it may makes thousands while they are counted.
		l.counted, l.count = time.Now(), threadsOf(user)
		pid, err = l.forkWith(l.soft(processes, as), forkExec)
	}
	return pid, err
}

// forkWith calls forkExec while this process has the soft limit.
func (l *userLimit) forkWith(soft uint64, forkExec func() (int, error)) (int, error) {
	if unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: soft, Max: l.own.Max}) == nil {
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_NPROC, &l.own) }()
	}
	return forkExec()
}

// soft is the limit of a task that may have so many processes.
func (l *userLimit) soft(processes int, as *isolation.Account) uint64 {
	ceiling := l.own.Max
	if as == nil && l.own.Cur != unix.RLIM_INFINITY {
		// The limit of the user, which executor and supervisor have, counts the threads of all namespaces.
		kept := min(ownThreads, l.own.Cur/8) + uint64(l.count.outside)
		ceiling = l.own.Cur - min(kept, l.own.Cur)
	}
	return min(ceiling, uint64(l.count.inside+processes+ownThreads))
}

// spareThreads is more than the number of a supervisor's goroutines that can be in a system call at the same time or
// are locked to a thread: those of serve, of signals and of continueParent, one for the timers of kills, and the
// runtime's own.
const spareThreads = 16

// startSpareThreads has Go's runtime start threads before the first task. The runtime keeps them. It starts another
// one only when a goroutine can run and no thread is idle, which does not happen in a supervisor that has so many: so
// the runtime needs none in the moment in which the supervisor has the limit of a task.
func startSpareThreads() {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range spareThreads {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // while it waits, no other goroutine can have its thread
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
		return threads{inside: math.MaxInt32} // what can't be counted is not bounded
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
			parents[pid], _ = strconv.Atoi(stat[parentField]) // the kernel writes numbers
			sizes[pid], _ = strconv.Atoi(stat[threadsField])
		}
	}
	apart := isolation.Entered() // then nothing but this process and its descendants is in its user namespace
	for pid, size := range sizes {
		if apart && !descends(pid, os.Getpid(), parents) {
			count.outside += size
		} else {
			count.inside += size
		}
	}
	return count
}

// descends reports whether a process is another one, or a descendant of it. Pids that were given away again while
// they were read can make a circle of parents, so the search is bounded.
func descends(pid, ancestor int, parents map[int]int) bool {
	for range parents {
		if pid == ancestor {
			return true
		}
		pid = parents[pid]
	}
	return false
}

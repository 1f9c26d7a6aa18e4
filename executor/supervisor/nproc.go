package supervisor

import (
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// userLimit bounds a task's processes: as a limit of the resource that counts all processes and
// threads of a user on the machine, set to those that there are and so many more. Root has no such limit.
type userLimit struct {
	hard    uint64
	user    int // whose were counted
	others  int // of the user, when they were last counted
	counted time.Time
}

// countEvery is how long a count of the user's processes is good for.
const countEvery = 5 * time.Second

func newUserLimit() *userLimit {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil {
		return nil
	}
	return &userLimit{hard: limit.Max}
}

// set bounds what this process starts from now on as a user. 0 stands for no bound but that of the user.
func (l *userLimit) set(processes int, as *isolation.Account, now time.Time) {
	user := os.Getuid()
	if as != nil {
		user = int(as.UID)
	}
	if l == nil || user == 0 {
		return
	}
	soft := l.hard
	if processes > 0 {
		if user != l.user || now.Sub(l.counted) >= countEvery {
			l.user, l.others, l.counted = user, threadsOf(user), now
		}
		soft = min(soft, uint64(l.others+processes))
	}
	_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: soft, Max: l.hard})
}

// threadsOf counts a user's threads, as the kernel does.
func threadsOf(uid int) int {
	all := processes()
	if len(all) == 0 {
		return math.MaxInt32 // what can't be counted is not bounded
	}
	n := 0
	for _, pid := range all {
		info, err := os.Stat("/proc/" + strconv.Itoa(pid))
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != uid {
			continue
		}
		const threadsField = 17
		if stat := statOf(pid); len(stat) > threadsField {
			if threads, err := strconv.Atoi(stat[threadsField]); err == nil {
				n += threads
			}
		}
	}
	return n
}

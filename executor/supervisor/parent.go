package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// parentLook is how often the supervisor looks whether the executor is stopped.
const parentLook = 2 * time.Second

// continueParent continues the executor where it was found stopped twice in a row, for ever: tasks run as its user and can stop
// it, and no kill would be heard any more (rule K3). The executor does the same for the supervisor. One that a debugger holds
// has another state.
func continueParent(pid int) {
	stopped := false
	for range time.Tick(parentLook) {
		was := stopped
		stopped = isStopped(pid)
		if was && stopped && os.Getppid() == pid {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

func isStopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// pid (name) state …; the name may hold anything.
	after := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(after) > 0 && string(after[0]) == "T"
}

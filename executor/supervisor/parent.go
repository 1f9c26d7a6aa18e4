package supervisor

import (
	"os"
	"syscall"
	"time"
)

// parentLook is how often the supervisor looks whether the executor is stopped.
const parentLook = 2 * time.Second

// continueParent continues the executor where it was found stopped twice in a row, for ever: tasks run as its user and
// can stop it, and no kill would be heard any more (rule K3). The executor does the same for the supervisor. One that
// a debugger holds has another state.
func continueParent(pid int) {
	stopped := false
	for range time.Tick(parentLook) {
		was, stat := stopped, statOf(pid)
		stopped = len(stat) > 0 && stat[0] == "T"
		if was && stopped && os.Getppid() == pid {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

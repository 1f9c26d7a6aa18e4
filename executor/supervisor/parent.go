package supervisor

import (
	"os"
	"syscall"
	"time"
)

// parentCheckInterval is how often the supervisor checks whether the executor is stopped.
const parentCheckInterval = 2 * time.Second

// continueParent sends SIGCONT to the executor when two checks in a row find it stopped, for as long as the
// supervisor lives. Tasks that run as the executor's user can stop the executor, and a stopped executor handles no
// kill (rule K3). The executor in turn continues the supervisor. A process that a debugger holds has another state,
// so it is not continued.
func continueParent(pid int) {
	stopped := false
	for range time.Tick(parentCheckInterval) {
		stoppedBefore, stat := stopped, statOf(pid)
		stopped = len(stat) > 0 && stat[0] == "T"
		if stoppedBefore && stopped && os.Getppid() == pid {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

package tasks

import "syscall"

// signalFromElsewhere explains the exit statuses 143 and 137. A shell ends with them if SIGTERM or SIGKILL has ended
// its child, and a JVM ends with 143 after SIGTERM. It returns "" for any other status, and if this executor has
// killed the process, because the kill explains the status.
func (exit processExit) signalFromElsewhere() string {
	if exit.Killed || exit.Signal != 0 {
		return ""
	}
	switch syscall.Signal(exit.Status - 128) {
	case syscall.SIGTERM:
		return " (128 + SIGTERM, which this executor did not send)"
	case syscall.SIGKILL:
		return " (128 + SIGKILL, which this executor did not send)"
	}
	return ""
}

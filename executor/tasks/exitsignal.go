package tasks

import "syscall"

// strangeSignal explains the exit statuses 143 and 137, by which shells and the JVM report SIGTERM and SIGKILL. It
// returns "" for any other status, and if this executor has killed the process, because the kill explains the status.
func (exit processExit) strangeSignal() string {
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

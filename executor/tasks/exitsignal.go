package tasks

import "syscall"

// strangeSignal explains an exit status by which shells and the JVM report a signal: 143 and 137. It returns "" for any
// other status and after a kill by this executor, whose reason says why.
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

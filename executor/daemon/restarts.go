package daemon

import "time"

// Restarts decides when a resident process that has ended is started again: at once after the first end, then after
// waits that double. Once a process has lived for maxBackoff or answered a run, the next end counts as the first. The
// zero value is for a process that has never ended.
type Restarts struct{ ended int }

// Ended records the end of a process and how long it has lived, and returns the wait before its restart.
func (r *Restarts) Ended(lived time.Duration) (wait time.Duration) {
	if lived >= maxBackoff {
		r.ended = 0
	}
	r.ended++
	if r.ended == 1 {
		return 0
	}
	return doubled(time.Second, r.ended-2, maxBackoff)
}

// Answered records that the process has answered a run, so that its next restart is without a wait.
func (r *Restarts) Answered() { r.ended = 0 }

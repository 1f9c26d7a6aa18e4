package daemon

import "time"

// Restarts says when a resident process that has ended is started again: at once the first time, then later and later
// while it keeps ending. The zero value is that of a process that never ended.
type Restarts struct{ ended int }

// Ended takes how long the process has lived, and gives how long to wait.
func (r *Restarts) Ended(lived time.Duration) (wait time.Duration) {
	if lived >= restAtMost {
		r.ended = 0
	}
	r.ended++
	if r.ended == 1 {
		return 0
	}
	return doubled(time.Second, r.ended-2, restAtMost)
}

// Answered says that the process has answered a run, so that it is of use.
func (r *Restarts) Answered() { r.ended = 0 }

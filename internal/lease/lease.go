// Package lease defines the leases of exclusive tasks (rule K5): how long each of the two sides waits, and the messages
// between an executor and the leader.
//
// An executor asks for the leases of its tasks with the time of its own clock, which the leader returns unchanged. A
// lease lasts for its length from that time, so that a delayed answer doesn't stretch it. The leader counts from the
// arrival of the request, which is later. So it starts the next attempt only after the executor must have ended the
// task. The values of the two clocks may differ by any amount, and their rates by up to 9 percent.
package lease

import "time"

// The lengths of a lease that a job may have (leaseSeconds).
const (
	MinSeconds     = 10
	MaxSeconds     = 3600
	DefaultSeconds = 60
)

// UnkilledAfter is how long after SIGKILL an executor reports that processes of an exclusive task can't be killed. It is
// long, because a process with much memory ends slowly on a busy machine, and an operator must confirm the end of a task
// that was reported so.
const UnkilledAfter = time.Minute

// The parts of NextAttempt besides length and grace.
const (
	// rateMargin is how much faster the leader's clock may run than the executor's: NTP slews a clock by up to 8.3
	// percent, and 1.09/0.91 is 1.198.
	rateMargin = 1.2
	// CheckInterval is the longest interval between two checks of a task's deadline.
	CheckInterval = time.Second
	// killTime is how long the kernel may take to end the processes of a task after SIGKILL.
	killTime = 4 * time.Second
)

// NextAttempt returns how long after the arrival of the last request for a lease the next attempt may start at the
// earliest. By then the lease has ended, and after the task's grace every process of the task.
func NextAttempt(length, grace time.Duration) time.Duration {
	return time.Duration(rateMargin*float64(length+grace)) + CheckInterval + killTime
}

// renewInterval is the longest interval between two requests.
const renewInterval = 5 * time.Second

// Renewal returns the interval at which an executor asks for a lease of that length again.
func Renewal(length time.Duration) time.Duration { return min(renewInterval, length/6) }

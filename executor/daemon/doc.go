// Package daemon decides when a daemon's shard runs. It is a pure state machine, with no clock and no goroutine.
// Its driver (package tasks) passes in what has happened, and carries out the decisions.
//
//	             Tick: a fire is due             Began                Ended
//	idle ──────────────────────────▶ waiting ──────────▶ running ──────────────▶ idle, or the next of the queue
//	                                    ▲                    │ Ended, failed, with retries left
//	                                    └────── Tick ── backing off
//
// Invariants:
//   - A shard has one run at a time. It is busy from a fire until the last attempt of the fire's run has ended,
//     including the waits between attempts. Fires in that time are queued with misfire, and skipped without it.
//   - A fire is run at most once, whatever the wall clock does: the fire cursor goes back only after a leap, and
//     package cursor remembers the fires since the leap. If the clock jumped, or the machine stood still, fires that
//     are overdue by more than a minute are skipped.
//   - The end of a run is always reported if the run failed or its start was reported, except while too many updates
//     are unacknowledged.
//
// Only fire times use the wall clock. Everything else uses a time that does not jump (Moment.Up).
package daemon

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Sources of a run.
const (
	sourceNormal   = "NORMAL_TRIGGER"
	sourceMisfire  = "MISFIRE"
	sourceFailover = "FAILOVER"
)

const (
	// maxQueued is how many fires are queued with misfire. If there are more, the oldest is skipped.
	maxQueued = 100
	// maxDelay is how late a fire may be run. A fire that is overdue by more is skipped.
	maxDelay = time.Minute
	// shortRun is how long a run must last before its start is reported. Most runs are shorter; only their end is
	// reported.
	shortRun = 25 * time.Millisecond
	// lagCheck is the interval of checks whether the coarse clock has reached a fire time.
	lagCheck = 200 * time.Microsecond
	// maxBackoff limits waits that double, unless the first wait in the settings is longer.
	maxBackoff = time.Minute
)

const (
	// successBacklog is the number of unacknowledged updates of a task above which successful runs are not reported.
	successBacklog = 64
	// maxBacklog is the number from which on no run is reported.
	maxBacklog = 1000
)

// Moment is the time of an event, with the outside state that a shard needs.
type Moment struct {
	// Wall is the machine's wall clock, which may jump.
	Wall time.Time
	// Lag is how far the kernel's coarse clock, which time(2) and Python's time.gmtime read, is behind Wall: up to one
	// tick of the kernel, mostly 4 ms. A fire is due by the coarse clock, so that a program that asks for the date at
	// midnight gets the new one.
	Lag time.Duration
	// Up is a time that does not jump, counted from the start of the shard.
	Up time.Duration
	// Backlog is how many of the task's updates are not acknowledged.
	Backlog int
}

// Run is one run to begin.
type Run struct {
	// Number counts the runs of the shard from 1.
	Number  int64
	Fire    time.Time
	Source  string
	Attempt int
}

// Result is the outcome of a run.
type Result struct {
	// Cause is why the run failed; empty if it succeeded.
	Cause string
	// Note says what is unusual about a run that succeeded; mostly empty.
	Note string
	// ExitStatus and Signal are the same as in wire.Run.
	ExitStatus *int
	Signal     string
}

// Decision is what the driver must do, in the order of the fields.
type Decision struct {
	// ClockBack means that the wall clock was set back after a leap, and that the fires continue from before the leap.
	ClockBack bool
	// Reports are the updates to send, in this order.
	Reports []wire.Run
	// Start is the run to begin as soon as possible, or nil. The driver then calls Began and Ended, or only Ended if
	// the run could not begin.
	Start *Run
	// Cancel says why the current run must end early; empty if it need not. The driver then calls Ended.
	Cancel string
	// Kill means that a cancelled run must be forced to end.
	Kill bool
	// Drained means that the shard is drained and must end.
	Drained bool
}

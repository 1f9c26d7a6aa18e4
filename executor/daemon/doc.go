// Package daemon decides when a daemon's shard runs: it is a pure state machine, with no clock and no goroutine.
// Whoever drives it (package executor) says what has happened, and does what it answers.
//
//	             Tick: a fire is due             Began                Ended
//	idle ──────────────────────────▶ waiting ──────────▶ running ──────────────▶ idle, or the next of the queue
//	                                    ▲                    │ Ended, failed, with retries left
//	                                    └────── Tick ── resting
//
// What holds:
//   - A shard has one run at a time. It is busy from a fire until the last attempt at it has ended, the rest between
//     two attempts included; what fires meanwhile waits with misfire, and is counted as skipped without.
//   - A fire is run at most once: the cursor of fires never goes back, whatever the wall clock does. What a clock that
//     jumped, or a machine that stood still, leaves more than a minute behind is skipped.
//   - A run that failed is always reported, and so is the end of any whose begin was.
//
// Only fires see the wall clock. All else is reckoned in a time that goes on evenly (Moment.Up).
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
	// queued is how many fires wait with misfire; the oldest beyond it are skipped.
	queued = 100
	// late is how old a fire may be when it is made.
	late = time.Minute
	// shortRun is how long a run goes on before its begin is reported: most end before it, and are reported by their
	// end alone.
	shortRun = 25 * time.Millisecond
	// restAtMost bounds what doubles, where the settings don't begin with more.
	restAtMost = time.Minute
)

// While so many updates of a task wait for their acknowledgement, runs that succeeded, or all runs, are not reported.
const (
	backlogOfSuccesses = 64
	backlogOfAll       = 1000
)

// Moment is when something happened, with what a shard must know of the outside then.
type Moment struct {
	// Wall is the machine's clock, which may jump.
	Wall time.Time
	// Up goes on evenly.
	Up time.Duration
	// Backlog is how many of the task's updates are not acknowledged.
	Backlog int
}

// Run is one run that is to be made.
type Run struct {
	// Number counts the runs of the shard from 1.
	Number  int64
	Fire    time.Time
	Source  string
	Attempt int
}

// Result is how a run ended.
type Result struct {
	// Cause is why it failed; empty when it succeeded.
	Cause string
	// ExitStatus and Signal are as in wire.Run.
	ExitStatus *int
	Signal     string
}

// Decision is what is to be done, in the order of the fields.
type Decision struct {
	// Reports are to be reported, in this order.
	Reports []wire.Run
	// Start is to be begun as soon as it may; the answer is Began, and then Ended, or Ended alone.
	Start *Run
	// Cancel is why the run under way is to end early; empty if it isn't. The answer is Ended.
	Cancel string
	// Kill asks for the end of a run that was cancelled and goes on.
	Kill bool
	// Over asks for the end of the shard, which is drained.
	Over bool
}

package view

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// row is the kept row of a job. It takes about 110 bytes; its texts and its document are shared with the core.
type row struct {
	name     string
	config   *jobs.Config // nil if no document can be used
	schedule *cron.Schedule
	// Times are in milliseconds since 1970, 0 for none.
	nextFire, waitingSince               int64
	lastFire, lastStart, lastComplete    int64
	failingSince, lastMissed             int64
	running, waiting                     int32
	runningExecutions, waitingExecutions int32
	failures                             int32
	state, lastState                     uint8 // indexes of jobStates and runStates
	disabled                             bool
	// beyondASCII is set if the name, the app or the description has characters beyond ASCII.
	beyondASCII bool
}

var (
	// jobStates are the states of an explanation, sorted by name.
	jobStates = []string{"", "APP_DISABLED", "DISABLED", "FAULTY", "NEVER", "ON_TRIGGER", "PAUSED", "READY", "RUNNING",
		"SHUTTING_DOWN", "WAITING"}
	// runStates are the states of an ended run.
	runStates = []string{"", string(executions.Failed), string(executions.Finished), string(executions.Killed)}
)

// JobStates returns the states that a job can have in an explanation.
func JobStates() []string { return slices.Clone(jobStates[1:]) }

// RunStates returns the states that a last run can have.
func RunStates() []string { return slices.Clone(runStates[1:]) }

// indexOf returns the index of a state, 0 for an unknown one.
func indexOf(states []string, state string) uint8 { return uint8(max(slices.Index(states, state), 0)) }

// millis returns a time in milliseconds since 1970, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// timeOf is the inverse of millis. It returns nil for 0.
func timeOf(at int64) *time.Time {
	if at == 0 {
		return nil
	}
	t := time.UnixMilli(at).UTC()
	return &t
}

// compact returns a job's row as it is kept.
func compact(r *views.JobRow) *row {
	beyondASCII := !isASCII(r.Name)
	if c := r.Config; c != nil {
		beyondASCII = beyondASCII || !isASCII(c.AppName, c.Description)
	}
	return &row{
		beyondASCII: beyondASCII,
		name:        r.Name, config: r.Config, schedule: r.Schedule, disabled: r.Disabled,
		nextFire: millis(r.NextFire), waitingSince: millis(r.WaitingSince),
		lastFire: millis(r.LastFire), lastStart: millis(r.LastStart), lastComplete: millis(r.LastComplete),
		failingSince: millis(r.FailingSince), lastMissed: millis(r.LastMissed),
		running: int32(r.Running), waiting: int32(r.Waiting), runningExecutions: int32(r.RunningExecutions),
		waitingExecutions: int32(r.WaitingExecutions),
		failures:          int32(r.Failures), state: indexOf(jobStates, r.State),
		lastState: indexOf(runStates, string(r.LastState)),
	}
}

// covered reports whether a row is in a scope. The app of a job without a usable document is not known, so only a
// scope of all apps covers such a job.
func (r *row) covered(scope explain.Scope) bool {
	return scope.IsAll() || r.config != nil && scope.Covers(r.config.AppName)
}

func (r *row) app() string {
	if r.config == nil {
		return ""
	}
	return r.config.AppName
}

func (r *row) kind() string {
	if r.config == nil {
		return ""
	}
	return r.config.JobExecutionType
}

// duration returns how long the last run took, in milliseconds; -1 if that is not known.
func (r *row) duration() int64 {
	if r.lastStart == 0 || r.lastComplete == 0 {
		return -1
	}
	return max(r.lastComplete-r.lastStart, 0)
}

// fireAfter sets the next fire of a daemon to the first one after now, if the kept one has passed. No step of the core
// does that, because the executors of daemons make their fires.
func (r *row) fireAfter(now time.Time) {
	if r.schedule != nil && r.nextFire != 0 && r.nextFire <= now.UnixMilli() {
		r.nextFire = millis(r.schedule.Next(now))
	}
}

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

// row is a job's row as it is kept: about 110 bytes, whose texts and document are the core's own.
type row struct {
	name     string
	config   *jobs.Config // nil where no document can be used
	schedule *cron.Schedule
	// Moments are in milliseconds since 1970, 0 for none.
	nextFire, waitingSince               int64
	lastFire, lastStart, lastComplete    int64
	failingSince, lastMissed             int64
	running, waiting                     int32
	runningExecutions, waitingExecutions int32
	failures                             int32
	state, lastState                     uint8 // of jobStates and runStates
	disabled                             bool
	beyondASCII                          bool // of the name, the app or the description
}

var (
	// jobStates are the states of an explanation, by name.
	jobStates = []string{"", "APP_DISABLED", "DISABLED", "FAULTY", "NEVER", "ON_TRIGGER", "PAUSED", "READY", "RUNNING",
		"SHUTTING_DOWN", "WAITING"}
	// runStates are those of a run that ended.
	runStates = []string{"", string(executions.Failed), string(executions.Finished), string(executions.Killed)}
)

// JobStates are the states that a job can be in, as an explanation has them.
func JobStates() []string { return slices.Clone(jobStates[1:]) }

// RunStates are the states that a last run can be in.
func RunStates() []string { return slices.Clone(runStates[1:]) }

func indexOf(states []string, state string) uint8 { return uint8(max(slices.Index(states, state), 0)) }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// moment is the opposite of millis, nil for none.
func moment(at int64) *time.Time {
	if at == 0 {
		return nil
	}
	t := time.UnixMilli(at).UTC()
	return &t
}

func compact(r *views.JobRow) *row {
	beyond := !isASCII(r.Name)
	if c := r.Config; c != nil {
		beyond = beyond || !isASCII(c.AppName, c.Description)
	}
	return &row{
		beyondASCII: beyond,
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

// covered reports whether a row is in a scope. Of a job without a usable document nobody knows the app.
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

// duration is how long the last run took, -1 when that is not known.
func (r *row) duration() int64 {
	if r.lastStart == 0 || r.lastComplete == 0 {
		return -1
	}
	return max(r.lastComplete-r.lastStart, 0)
}

// fireAfter moves the next fire of a daemon, which is told by its schedule alone.
func (r *row) fireAfter(now time.Time) {
	if r.schedule != nil && r.nextFire != 0 && r.nextFire <= now.UnixMilli() {
		r.nextFire = millis(r.schedule.Next(now))
	}
}

package config

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/reason"
)

// appState is an app and what the core knows of it.
type App struct {
	name     string
	cfg      app.Config
	version  int64
	disabled bool
	// executorKey names the executors that can run its tasks: app and fingerprint.
	executorKey string
	jobs        map[string]*Job
	// nextDue is when the next of its jobs fires, zero when it is not known.
	nextDue time.Time
	notes   []string // about its document
	bytes   int      // of its document
}

// Config is its document, nil without an app. It is not to be changed.
func (a *App) Config() *app.Config {
	if a == nil {
		return nil
	}
	return &a.cfg
}

// jobState is a job, or a removed job whose tasks have not all ended (rule K2).
type Job struct {
	name string
	// cfg is nil for a removed job.
	cfg      *jobs.Config
	version  int64
	mark     Mark
	schedule *cron.Schedule
	// counted is its schedule among those by which jobs fire, nil while it does not; countedShards are its shards there.
	counted       *scheduleGroup
	countedShards int
	since         time.Time // rule F2
	notes         []string  // about its document
	bytes         int       // of its document
	stored        Record
	isStored      bool
	// countsWritten is when stored.Fires was written for the counts' sake.
	countsWritten time.Time
}

func (j *Job) IsDaemon() bool { return j.cfg != nil && j.cfg.JobExecutionType == jobs.Daemon }

// firedHere reports whether the core makes the job's fires: those of a daemon are made by its executors.
func (j *Job) FiredHere() bool { return j.schedule != nil && !j.IsDaemon() }

// jobRecord is what is kept of a job beside its document (rule F2).
type Record struct {
	Schedule string    `json:"schedule"`
	Inactive bool      `json:"off,omitempty"`
	Since    time.Time `json:"since"`
	// Paused is set from a pause to its end (rule F10).
	Paused bool `json:"paused,omitempty"`
	// Fires are those that became no run.
	Fires fireCounts `json:"fires,omitzero"`
}

// fireCounts are a job's fires that became no run. They are kept with the job's record, written with its first change and
// then at most every fireCountsEvery: a kill loses the count of that time at most, and no commit is larger for it.
type fireCounts struct {
	// Dropped are fires that found the job busy (rule F5), Missed stretches of time whose fires nobody made (rule F3).
	Dropped int64 `json:"dropped,omitempty"`
	Missed  int64 `json:"missed,omitempty"`
	// LastDropped and LastMissed are when it last happened, DroppedWhy and MissedWhy what was the matter.
	LastDropped time.Time     `json:"lastDropped,omitzero"`
	DroppedWhy  reason.Reason `json:"droppedWhy,omitzero"`
	LastMissed  time.Time     `json:"lastMissed,omitzero"`
	MissedWhy   reason.Reason `json:"missedWhy,omitzero"`
}

// fireCountsEvery is how often the counts of a job are written at most.
const fireCountsEvery = time.Minute

// JobState is what people have asked of a job.
type JobState string

// States of a job. One that is shut down is SHUTTING_DOWN until what was launched of it has ended, and DISABLED then.
const (
	JobEnabled      JobState = "ENABLED"
	JobPaused       JobState = "PAUSED"
	JobShuttingDown JobState = "SHUTTING_DOWN"
	JobDisabled     JobState = "DISABLED"
)

// state is what people have asked of a job; busy says that executions of it are open.
func (j *Job) State(busy bool) JobState {
	switch {
	case j.mark == markedShutdown && busy:
		return JobShuttingDown
	case j.mark.Disables():
		return JobDisabled
	case j.stored.Paused:
		return JobPaused
	}
	return JobEnabled
}

// paused reports whether nothing but its pause keeps a job from making fires (rule F10).
func (k *Set) Paused(j *Job) bool { return k.Inactive(j) == Paused }

// Name is the name.
func (a *App) Name() string { return a.name }

// Version is the version.
func (a *App) Version() int64 { return a.version }

// Disabled is the disabled.
func (a *App) Disabled() bool { return a.disabled }

// ExecutorKey names the executors that can run its tasks: app and fingerprint.
func (a *App) ExecutorKey() string { return a.executorKey }

// Jobs is the jobs.
func (a *App) Jobs() map[string]*Job { return a.jobs }

// NextDue is when the next of its jobs fires, zero when it is not known.
func (a *App) NextDue() time.Time { return a.nextDue }

// Notes: about its document
func (a *App) Notes() []string { return a.notes }

// Name is the name.
func (j *Job) Name() string { return j.name }

// Config is nil for a removed job.
func (j *Job) Config() *jobs.Config { return j.cfg }

// Version is the version.
func (j *Job) Version() int64 { return j.version }

// Mark is the mark.
func (j *Job) Mark() Mark { return j.mark }

// Schedule is the schedule.
func (j *Job) Schedule() *cron.Schedule { return j.schedule }

// Since: rule F2
func (j *Job) Since() time.Time { return j.since }

// Notes: about its document
func (j *Job) Notes() []string { return j.notes }

// Stored is the stored.
func (j *Job) Stored() Record { return j.stored }

// IsStored is the isStored.
func (j *Job) IsStored() bool { return j.isStored }

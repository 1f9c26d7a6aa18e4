package config

import (
	"iter"
	"maps"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// App is a registered app. Its methods only read; Set owns it, and alone changes it.
type App struct {
	name     string
	cfg      app.Config
	version  int64
	disabled bool
	// executorKey is the key of the executors that can run its tasks: its name and a fingerprint.
	executorKey string
	jobs        map[string]*Job
	// nextDue is when the next of its jobs fires, zero if that is not known.
	nextDue time.Time
	notes   []string // about its document
	bytes   int      // of its document
}

// Config is the app's document, nil for a nil App. It must not be changed.
func (a *App) Config() *app.Config {
	if a == nil {
		return nil
	}
	return &a.cfg
}

// Job is a job, or a deregistered job whose tasks have not all ended (rule K2), or one whose document cannot be used.
// Its methods only read; Set owns it, and alone changes it.
type Job struct {
	name string
	// cfg is nil for a job without a usable document.
	cfg      *jobs.Config
	version  int64
	mark     Mark
	schedule *cron.Schedule
	// counted is the group in which schedules counts the job, nil while the job does not fire. countedShards is the
	// number of shards that is counted for it there.
	counted       *scheduleGroup
	countedShards int
	since         time.Time // rule F2
	notes         []string  // about its document
	bytes         int       // of its document
	stored        Record
	isStored      bool
	// countsWritten is when stored.Fires was last written because of the counts.
	countsWritten time.Time
}

// IsDaemon reports whether the job is a daemon, whose fires its executors make (rule X8).
func (j *Job) IsDaemon() bool { return j.cfg != nil && j.cfg.JobExecutionType == jobs.Daemon }

// MakesFires reports whether the core makes the job's fires: it has a schedule, and is no daemon.
func (j *Job) MakesFires() bool { return j.schedule != nil && !j.IsDaemon() }

// Record is the stored record of a job, in addition to its document (rule F2).
type Record struct {
	// Schedule is the cron and the time zone by which the job has fired since Since, with a suffix for a daemon.
	Schedule string `json:"schedule"`
	// Inactive is set while the job makes no fires.
	Inactive bool `json:"off,omitempty"`
	// Since is the time of the wall clock after which the job's fires are made.
	Since time.Time `json:"since"`
	// Paused is set while the job is paused (rule F10).
	Paused bool `json:"paused,omitempty"`
	// Fires counts the fires without a run.
	Fires FireCounts `json:"fires,omitzero"`
}

// FireCounts count a job's fires without a run. They are part of the job's record. Changed counts are written at most
// every fireCountsInterval, so that not every commit grows by them. A crash loses at most the counts of that time.
type FireCounts struct {
	// Dropped counts fires that found the job busy (rule F5), Missed the missed windows (rule F3).
	Dropped int64 `json:"dropped,omitempty"`
	Missed  int64 `json:"missed,omitempty"`
	// LastDropped and LastMissed are when that last happened, by the wall clock, DroppedWhy and MissedWhy the reasons.
	LastDropped time.Time     `json:"lastDropped,omitzero"`
	DroppedWhy  reason.Reason `json:"droppedWhy,omitzero"`
	LastMissed  time.Time     `json:"lastMissed,omitzero"`
	MissedWhy   reason.Reason `json:"missedWhy,omitzero"`
}

// fireCountsInterval is the minimum interval between two writes of a job's counts.
const fireCountsInterval = time.Minute

// JobState is the state of a job that users have requested.
type JobState string

// States of a job. A job that is shut down is SHUTTING_DOWN until its launched executions have ended, and DISABLED
// after that.
const (
	JobEnabled      JobState = "ENABLED"
	JobPaused       JobState = "PAUSED"
	JobShuttingDown JobState = "SHUTTING_DOWN"
	JobDisabled     JobState = "DISABLED"
)

// State returns the requested state of the job; busy says that executions of it are open. It does not depend on the
// job's app or on faults (see Set.Inactive).
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

// Paused reports whether its pause is the only reason why a job makes no fires (rule F10).
func (k *Set) Paused(j *Job) bool { return k.Inactive(j) == Paused }

// Name is the name of the app, by which jobs refer to it.
func (a *App) Name() string { return a.name }

// Version is the version of the app's document in the registry, even if that document cannot be used and an earlier
// one is in force.
func (a *App) Version() int64 { return a.version }

// Disabled reports whether the app has a disabled mark (rule F6).
func (a *App) Disabled() bool { return a.disabled }

// ExecutorKey is the key of the executors that can run the app's tasks (executors.Key).
func (a *App) ExecutorKey() string { return a.executorKey }

// Jobs iterates over the jobs of the app, in no order.
func (a *App) Jobs() iter.Seq[*Job] { return maps.Values(a.jobs) }

// NextDue is when the next job of the app fires, as set by SetNextDue; zero if that is not known.
func (a *App) NextDue() time.Time { return a.nextDue }

// Notes are hints about the app's document, if it was edited externally.
func (a *App) Notes() []string { return a.notes }

// Name is the name of the job.
func (j *Job) Name() string { return j.name }

// Config is the job's document, nil for a job without a usable one. It must not be changed.
func (j *Job) Config() *jobs.Config { return j.cfg }

// Version is the version of the job's document in the registry, even if that document cannot be used and an earlier
// one is in force.
func (j *Job) Version() int64 { return j.version }

// Mark is the job's disabled mark.
func (j *Job) Mark() Mark { return j.mark }

// Schedule is the parsed cron of the job, nil if it has no document or the cron cannot be parsed.
func (j *Job) Schedule() *cron.Schedule { return j.schedule }

// Since is the time of the wall clock after which the job's fires are made. Earlier fires are not made any more (rule
// F2).
func (j *Job) Since() time.Time { return j.since }

// Notes are hints about the job's document, if it was edited externally.
func (j *Job) Notes() []string { return j.notes }

// Stored is the job's record as it is stored, or will be with the next commit, except for its Since. It is zero unless
// IsStored is true.
func (j *Job) Stored() Record { return j.stored }

// IsStored reports whether a record of the job is stored, or will be with the next commit.
func (j *Job) IsStored() bool { return j.isStored }

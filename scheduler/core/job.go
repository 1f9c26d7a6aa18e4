package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
	"github.com/elasticjob-go/elasticjob/reason"
)

// appState is an app and what the core knows of it.
type appState struct {
	name     string
	cfg      app.Config
	version  int64
	disabled bool
	// executorKey names the executors that can run its tasks: app and fingerprint.
	executorKey string
	jobs        map[string]*jobState
	// nextDue is when the next of its jobs fires, zero when it is not known.
	nextDue time.Time
	notes   []string // about its document
	bytes   int      // of its document
}

// jobState is a job, or a removed job whose tasks have not all ended (rule K2).
type jobState struct {
	name string
	// cfg is nil for a removed job.
	cfg      *jobs.Config
	version  int64
	mark     mark
	schedule *cron.Schedule
	// counted is its schedule among those by which jobs fire, nil while it does not; countedShards are its shards there.
	counted       *scheduleGroup
	countedShards int
	since         time.Time // rule F2
	notes         []string  // about its document
	bytes         int       // of its document
	stored        jobRecord
	isStored      bool
	// countsWritten is when stored.Fires was written for the counts' sake.
	countsWritten time.Time
}

func (j *jobState) isDaemon() bool { return j.cfg != nil && j.cfg.JobExecutionType == jobs.Daemon }

// firedHere reports whether the core makes the job's fires: those of a daemon are made by its executors.
func (j *jobState) firedHere() bool { return j.schedule != nil && !j.isDaemon() }

// jobRecord is what is kept of a job beside its document (rule F2).
type jobRecord struct {
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

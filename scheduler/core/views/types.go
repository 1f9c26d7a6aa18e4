package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// AppView is an app as the API shows it: its document and related data.
type AppView struct {
	app.Config
	Disabled bool `json:"disabled"`
	// Version is the version of the document, for a config.UpdateApp.
	Version int64 `json:"-"`
	// NotesView has hints for the author of the document, such as ignored fields.
	NotesView
}

// JobView is a job as the API shows it: its document and related data.
type JobView struct {
	jobs.Config
	Disabled bool `json:"disabled"`
	// State is more specific than Disabled.
	State   config.JobState `json:"state"`
	Version int64           `json:"-"`
	NotesView
}

// ShardView is one shard of an execution, with its present or last attempt.
type ShardView struct {
	Item         int              `json:"item"`
	State        executions.State `json:"state"`
	Attempt      int              `json:"attempt"`
	Agent        string           `json:"agent"`
	TaskID       string           `json:"taskId"`
	StartTime    *time.Time       `json:"startTime"`
	CompleteTime *time.Time       `json:"completeTime"`
	ExitStatus   *int             `json:"exitStatus"`
	// FailureCause is why the last attempt ended, unless it finished; FailureCode and FailureArgs are the same for
	// programs.
	FailureCause string         `json:"failureCause"`
	FailureCode  string         `json:"failureCode,omitempty"`
	FailureArgs  map[string]any `json:"failureArgs,omitempty"`
	// Note is what is notable about an attempt that finished, such as its use of memory; NoteCode and NoteArgs are the
	// same for programs.
	Note     string         `json:"note,omitempty"`
	NoteCode string         `json:"noteCode,omitempty"`
	NoteArgs map[string]any `json:"noteArgs,omitempty"`
	// PackageSHA256 is the checksum of the package that the attempt ran with, "" if it is not known.
	PackageSHA256 string `json:"packageSHA256"`
	// OptionalWhy is the reason why the shard of a launched execution waits, or why a launched task has not begun.
	OptionalWhy
	// Earlier has the attempts before this one whose output was kept, the oldest first.
	Earlier []AttemptView `json:"earlier,omitempty"`
	// Daemon describes the runs of a daemon's shard, nil for other shards.
	Daemon *DaemonView `json:"daemon,omitempty"`
	// Progress is the last progress that the attempt has reported to this leader; nil for none.
	Progress *executions.Progress `json:"progress,omitempty"`
}

// AttemptView is an attempt of a shard before its last one.
type AttemptView struct {
	Attempt int    `json:"attempt"`
	TaskID  string `json:"taskId"`
}

// DaemonView describes the runs of a daemon's shard. The counts are those of its present or last attempt.
type DaemonView struct {
	// NextFireTime is nil if its cron never fires again, or its job makes no fires.
	NextFireTime *time.Time `json:"nextFireTime"`
	// Running is the present run, nil between runs. A run that has just begun may not have been reported yet.
	Running *RunView `json:"running"`
	LastRun *RunView `json:"lastRun"`
	// LastFailure is the last run that did not finish and was not killed by a user, over all attempts; nil for none.
	LastFailure *RunView `json:"lastFailure,omitempty"`
	Runs        int64    `json:"runs"`
	Failed      int64    `json:"failed"`
	// Skipped counts the fires that found the shard running.
	Skipped int64 `json:"skipped"`
}

// RunView is one run of a daemon's shard.
type RunView struct {
	FireTime     time.Time  `json:"fireTime"`
	Source       string     `json:"source"`
	Attempt      int        `json:"attempt"`
	State        string     `json:"state"`
	StartTime    time.Time  `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	// DurationMillis is 0 while it runs.
	DurationMillis int64  `json:"durationMillis"`
	ExitStatus     *int   `json:"exitStatus"`
	FailureCause   string `json:"failureCause"`
	// Note is what is notable about a run that finished.
	Note string `json:"note,omitempty"`
}

// ExecutionView is an execution with all its shards.
type ExecutionView struct {
	ExecutionID string            `json:"executionId"`
	JobName     string            `json:"jobName"`
	FireTime    time.Time         `json:"fireTime"`
	Source      executions.Source `json:"source"`
	State       executions.State  `json:"state"`
	Why
	Shards []ShardView `json:"shards"`
	// Overrides are settings of this run alone, without secrets; nil if it has none, or if its job has moved to
	// another app.
	Overrides *jobs.Overrides `json:"overrides,omitempty"`
}

// WaitingView is a shard that waits, with the reason.
type WaitingView struct {
	ExecutionID string    `json:"executionId"`
	Item        int       `json:"item"`
	Since       time.Time `json:"since"`
	Why
}

// RunningView is a task on the cluster.
type RunningView struct {
	ExecutionID string           `json:"executionId"`
	Item        int              `json:"item"`
	TaskID      string           `json:"taskId"`
	State       executions.State `json:"state"`
	Agent       string           `json:"agent"`
	Since       time.Time        `json:"since"`
	// OptionalWhy is the reason why it has not begun, if its agent reports one.
	OptionalWhy
	// Progress is nil until its program has reported some.
	Progress *executions.Progress `json:"progress,omitempty"`
}

// EndedView is a shard that has ended and did not finish, while its execution runs on.
type EndedView struct {
	ExecutionID string           `json:"executionId"`
	Item        int              `json:"item"`
	TaskID      string           `json:"taskId"`
	State       executions.State `json:"state"`
	Agent       string           `json:"agent"`
	Why
}

// Explanation is the state of a job with all reasons.
type Explanation struct {
	JobName string `json:"jobName"`
	// State is one of DISABLED, APP_DISABLED, SHUTTING_DOWN, PAUSED, RUNNING, WAITING (also if all launched tasks wait
	// on their agents), READY (fires on its cron), ON_TRIGGER (no cron), NEVER (its cron never fires again) or FAULTY
	// (its document cannot be used).
	State string `json:"state"`
	NotesView
	// NextFires are in the zone of the cron, which TimeZone names; "" if there is no cron, or its zone has no name.
	NextFires []time.Time   `json:"nextFires"`
	TimeZone  string        `json:"timeZone,omitempty"`
	Waiting   []WaitingView `json:"waiting"`
	Running   []RunningView `json:"running"`
	// Ended has the shards of running executions that have ended and did not finish, so that their executions will not
	// finish either.
	Ended []EndedView `json:"ended,omitempty"`
	// LastRun is the last run that ended, LastSuccess the last that finished; nil if none is kept.
	LastRun     *ExecutionSummary `json:"lastRun,omitempty"`
	LastSuccess *ExecutionSummary `json:"lastSuccess,omitempty"`
	// LastFailure is the last run of a daemon that did not finish and was not killed by a user; nil for none.
	LastFailure *ExecutionSummary `json:"lastFailure,omitempty"`
	// DroppedFires counts fires that found the job busy (rule F5), MissedFires missed windows, whose fires were not
	// made in time (rule F3); nil if there were none.
	DroppedFires *FiresView `json:"droppedFires,omitempty"`
	MissedFires  *FiresView `json:"missedFires,omitempty"`
}

// TaskView is one task in a list; ElasticJob-Cloud calls it a task context.
type TaskView struct {
	TaskID      string
	JobName     string
	Item        int
	Type        string // READY or FAILOVER
	Agent       string
	ExecutionID string
	State       executions.State
	Progress    *executions.Progress
}

// ReadyView is a job with Times executions that were not launched yet.
type ReadyView struct {
	JobName string
	Times   int
}

// FailoverView is a shard that waits to be run again after its task was lost.
type FailoverView struct {
	JobName        string
	Item           int
	OriginalTaskID string
}

// LogPlace is where a task's output is: a folder behind an agent's files API.
type LogPlace struct {
	// AgentURL is "http://host:port".
	AgentURL string
	// Dir is the path of the task's folder for the agent's /files API.
	Dir string
	// Live is set while the task may still write.
	Live bool
}

// SandboxView is where an executor keeps its files: the host name of its agent, and the path of the folder in the form
// that the agent's files API expects. The path is the absolute one on that host once a task of the executor was
// reported.
type SandboxView struct {
	Hostname string `json:"hostname"`
	Path     string `json:"path"`
	// LastReport is when this leader last received a report of the executor, nil if it received none.
	LastReport *time.Time `json:"lastReport,omitempty"`
	// Note says that the clock of its agent is wrong, "" while it is right.
	Note     string         `json:"note,omitempty"`
	NoteCode string         `json:"noteCode,omitempty"`
	NoteArgs map[string]any `json:"noteArgs,omitempty"`
}

// ExecutionSummary is one run of a job in a list: an ExecutionView without its shards.
type ExecutionSummary struct {
	ExecutionID string            `json:"executionId"`
	JobName     string            `json:"jobName"`
	FireTime    time.Time         `json:"fireTime"`
	Source      executions.Source `json:"source"`
	State       executions.State  `json:"state"`
	// Why is the reason why the run waits, or why an ended run did not finish.
	Why
	// LaunchTime is when its first task was launched.
	LaunchTime *time.Time `json:"-"`
	// StartTime is when its first process began, CompleteTime when its last shard ended.
	StartTime    *time.Time `json:"startTime"`
	CompleteTime *time.Time `json:"completeTime"`
	// Shards counts its shards by state; it is empty before the first launch.
	Shards map[executions.State]int `json:"shards"`
}

// FiresView counts the fires of a job that led to no run.
type FiresView struct {
	Count int64 `json:"count"`
	// Last is when it last happened, and Why the reason.
	Last time.Time `json:"last"`
	Why
}

// Package wire is what travels between scheduler and executor through Mesos:
// the description of one task (TaskInfo.data) and what the executor reports of it
// (TaskStatus.data). Both are JSON with a version, so that executors and
// schedulers of different age understand each other: a reader ignores fields
// it does not know and refuses versions above its own.
package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Version is the newest version that this code writes and reads. A task without references to secrets is of the first
// version, which older executors read, too; one with them would be run without its secrets there.
const (
	Version      = 2
	firstVersion = 1
)

// Task is all that an executor needs to run one attempt of one shard.
type Task struct {
	Version     int    `json:"v"`
	TaskID      string `json:"taskId"`
	ExecutionID string `json:"executionId"`
	JobName     string `json:"jobName"`
	// Item is the shard, 0 to Total-1.
	Item  int `json:"item"`
	Total int `json:"total"`
	// JobParameter goes to every shard, ShardingParameter to this one.
	JobParameter      string `json:"jobParameter,omitempty"`
	ShardingParameter string `json:"shardingParameter,omitempty"`
	// Source is NORMAL_TRIGGER, TRIGGER, MISFIRE or FAILOVER.
	Source string `json:"source"`
	// FireTime is the same for all shards and attempts of an execution.
	FireTime time.Time `json:"fireTime"`
	// Attempt counts from 1.
	Attempt int     `json:"attempt"`
	Package Package `json:"package"`
	// Command is the app's bootstrap script or the job's own command line,
	// already split into words: program and arguments. Nothing in it is
	// expanded, no shell reads it.
	Command []string `json:"command"`
	// PlainCommand says that Command is run as it is. Otherwise the sharding context, in JSON, is one more argument,
	// the last; so it is in tasks of schedulers that don't know the field.
	PlainCommand bool `json:"plainCommand,omitempty"`
	// AppName is the app that the job belongs to.
	AppName string `json:"appName,omitempty"`
	// Env is the job's own environment; EnvFiles and EnvVariables are variables of it whose values are in a file on
	// the agent, or in a variable of the executor's own environment, by those names.
	Env          map[string]string `json:"env,omitempty"`
	EnvFiles     map[string]string `json:"envFiles,omitempty"`
	EnvVariables map[string]string `json:"envVariables,omitempty"`
	// Props are the job's own properties; those that the scheduler or the executor reads, secrets of error handlers
	// among them, are left out.
	Props map[string]string `json:"props,omitempty"`
	// Secrets are the names of those in Env and Props that are marked as secrets; others say so by their names.
	Secrets []string `json:"secrets,omitempty"`
	// KillGraceMillis is the time between SIGTERM and SIGKILL.
	KillGraceMillis int64 `json:"killGraceMillis"`
	// HTTP is set for a job that is a request: it has neither package nor process.
	HTTP *HTTP `json:"http,omitempty"`
	// Daemon is set for a shard of a daemon job, which stays and is fired by its executor. FireTime and ExecutionID
	// are then not of a run: each run has its own.
	Daemon *Daemon `json:"daemon,omitempty"`
}

// HTTP is a request that is the whole of a job's run.
type HTTP struct {
	URL string `json:"url"`
	// Method is in capitals; Data is the body of methods that have one.
	Method      string `json:"method"`
	Data        string `json:"data,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	// The connection must stand within the one, and each part of the answer come within the other.
	ConnectTimeoutMillis int64 `json:"connectTimeoutMillis"`
	ReadTimeoutMillis    int64 `json:"readTimeoutMillis"`
}

// How many shards of a daemon job one executor runs at once (Daemon.Concurrency); "" sets no bound.
const (
	ConcurrencyCPU    = "CPU"           // twice the CPUs of its machine, as the original's
	ConcurrencySingle = "SINGLE_THREAD" // one
)

// Daemon is when a daemon's shard is fired, and what its executor does about runs that are late, fail or take too
// long.
type Daemon struct {
	// Cron is in Quartz's dialect (jobs/cron), in the zone of that IANA name.
	Cron     string `json:"cron"`
	TimeZone string `json:"timeZone"`
	// Misfire keeps up to 100 fires that find the shard running, to be run after it; without it they are dropped.
	Misfire bool `json:"misfire,omitempty"`
	// SamplingCount N has every Nth run reported; 0 and 1 every one. Runs that fail are always reported, and with
	// Failover all.
	SamplingCount int  `json:"samplingCount,omitempty"`
	Failover      bool `json:"failover,omitempty"`
	// Concurrency is "", ConcurrencyCPU or ConcurrencySingle.
	Concurrency string `json:"concurrency,omitempty"`
	// TimeoutMillis ends a run that takes longer; 0 sets no bound.
	TimeoutMillis int64 `json:"timeoutMillis,omitempty"`
	// A run that failed is run again MaxRetries times: RetryBackoffMillis later, then after twice that, and so on, at
	// most a minute or, if longer, RetryBackoffMillis.
	MaxRetries         int   `json:"maxRetries,omitempty"`
	RetryBackoffMillis int64 `json:"retryBackoffMillis,omitempty"`
	// Rerun is a fire that was cut off with the shard's last attempt, to be run at once with the source FAILOVER; zero
	// without one.
	Rerun time.Time `json:"rerun,omitzero"`
}

// Package is what the executor fetches before it runs a task.
type Package struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256,omitempty"`
	// Cache keeps the unpacked package for later tasks.
	Cache bool `json:"cache"`
}

// Phases of a task that an executor reports in Status.
const (
	PhaseFetch  = "FETCH"
	PhaseUnpack = "UNPACK"
	PhaseStart  = "START"
	PhaseRun    = "RUN"
)

// Status is what an executor adds to a status update.
type Status struct {
	Version int `json:"v"`
	// Dir is the task's folder of output, relative to the executor's sandbox: "tasks/7".
	Dir string `json:"dir,omitempty"`
	// Sandbox is the executor's sandbox as its agent names it: an absolute path in the file system of the agent's
	// host (MESOS_DIRECTORY), also where the executor sees the folder at another path. The agent's files API serves
	// it for as long as the sandbox is kept. Every update says it, since any of them can be the first that is seen.
	Sandbox string `json:"sandbox,omitempty"`
	// Phase is what was under way when a task failed.
	Phase string `json:"phase,omitempty"`
	// Unreachable is the host, with its port if the URL names one, that gave no answer when the package was to be
	// fetched.
	Unreachable string `json:"unreachable,omitempty"`
	// Unanswered says that the host was reached when the package was to be fetched, and that its answer for the
	// package's URL was bad or late.
	Unanswered bool `json:"unanswered,omitempty"`
	// SupervisorLost says that the process which supervises the executor's tasks was killed, and this one with it, or
	// that its container was started a second time. It may have begun.
	SupervisorLost bool `json:"supervisorLost,omitempty"`
	// PackageSHA256 is the checksum, in hex, of the package that the task ran with, as it was fetched.
	PackageSHA256 string `json:"packageSHA256,omitempty"`
	// PackageNote says that the package kept on the agent had been changed by somebody, so that it was fetched again
	// for this task.
	PackageNote string `json:"packageNote,omitempty"`
	// ExitStatus is the process's exit status, or nil when it was never
	// started or ended by a signal.
	ExitStatus *int `json:"exitStatus,omitempty"`
	// Signal names the signal that ended the process, e.g. "killed".
	Signal string `json:"signal,omitempty"`
	// Cause says why the task failed, with the end of its stderr.
	Cause string `json:"cause,omitempty"`
	// StartTime and CompleteTime are the process's, zero when it never started.
	StartTime    time.Time `json:"startTime,omitzero"`
	CompleteTime time.Time `json:"completeTime,omitzero"`
	// Run is set in an update of a daemon's shard that is about one of its runs: one that began, or ended. An update
	// that ends the task has the run that it cut off.
	Run *Run `json:"run,omitempty"`
	// Totals count the runs of a daemon's attempt since it began; each of its updates has them.
	Totals *Totals `json:"totals,omitempty"`
}

// States of a daemon's run.
const (
	RunRunning  = "RUNNING"
	RunFinished = "FINISHED"
	RunFailed   = "FAILED"
	RunTimedOut = "TIMED_OUT"
	RunKilled   = "KILLED" // cut off by the end of its task
)

// Run is one run of a daemon's shard.
type Run struct {
	// Number counts the runs of the shard's attempt from 1, each try of a fire as one: two clocks, or one that was
	// set, give no order.
	Number int64 `json:"number"`
	// Fire is the cron's moment, or that of the run that is run again.
	Fire time.Time `json:"fire"`
	// Source is NORMAL_TRIGGER, MISFIRE or FAILOVER. Attempt counts from 1.
	Source  string `json:"source"`
	Attempt int    `json:"attempt"`
	// State is one of the states of a run.
	State    string    `json:"state"`
	Start    time.Time `json:"start,omitzero"`
	Complete time.Time `json:"complete,omitzero"`
	// ExitStatus, Signal and Cause are as in Status. A resident process that goes on after its run has none of the
	// first two.
	ExitStatus *int   `json:"exitStatus,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Cause      string `json:"cause,omitempty"`
	// Sampled is set on every Nth run of the sampling: others are reported for another reason.
	Sampled bool `json:"sampled,omitempty"`
	// Retried is set when the run failed and will be run again: it is not the last word on its fire.
	Retried bool `json:"retried,omitempty"`
}

// Totals count what became of the fires of a daemon's attempt.
type Totals struct {
	// Runs have ended, Failed of them failed or timed out. Skipped fires found the shard running and were dropped.
	Runs    int64 `json:"runs"`
	Failed  int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
	// SkippedAt is the newest of the skipped fires.
	SkippedAt time.Time `json:"skippedAt,omitzero"`
}

// Report is what an executor says of its tasks between updates, at most once a second and, while it has a daemon's
// shard, at least every ReportEvery. It may get lost: nothing that must not be lost is in it.
type Report struct {
	Version int `json:"v"`
	// Time is the executor's clock when it was sent.
	Time time.Time `json:"time"`
	// Tasks are those whose progress has changed, and all shards of daemons.
	Tasks []TaskReport `json:"tasks,omitempty"`
}

// ReportEvery is how often an executor with a daemon's shard sends a Report at least.
const ReportEvery = 10 * time.Second

// TaskReport is one task's part of a Report.
type TaskReport struct {
	TaskID   string    `json:"taskId"`
	Progress *Progress `json:"progress,omitempty"`
	// Fire is that of the run under way of a daemon's shard, zero while it waits for the next, and Totals are its
	// counts.
	Fire   time.Time `json:"fire,omitzero"`
	Totals *Totals   `json:"totals,omitempty"`
}

// Progress is how far a run has come, as its program says.
type Progress struct {
	// Fraction is from 0 to 1.
	Fraction float64 `json:"fraction"`
	// Message is of at most MaxProgressMessage bytes.
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
}

// MaxProgressMessage bounds Progress.Message, in bytes.
const MaxProgressMessage = 200

// Encode writes t with the oldest version that has all of it.
func (t Task) Encode() ([]byte, error) {
	t.Version = t.version()
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("describe task %s: %w", t.TaskID, err)
	}
	return data, nil
}

// Shared is the encoded part of a task that is the same for all shards and attempts of an execution: all that can be
// large but the parameter of a shard. It never changes, so that all of them can have one copy.
type Shared []byte

// shared are the fields of a task that Shared has: the names of the others hide them.
type shared struct {
	Task
	Version           *struct{} `json:"v,omitempty"`
	TaskID            *struct{} `json:"taskId,omitempty"`
	Item              *struct{} `json:"item,omitempty"`
	ShardingParameter *struct{} `json:"shardingParameter,omitempty"`
	Source            *struct{} `json:"source,omitempty"`
	Attempt           *struct{} `json:"attempt,omitempty"`
	Daemon            *struct{} `json:"daemon,omitempty"`
}

// own are the other fields.
type own struct {
	Version           int     `json:"v"`
	TaskID            string  `json:"taskId"`
	Item              int     `json:"item"`
	ShardingParameter string  `json:"shardingParameter,omitempty"`
	Source            string  `json:"source"`
	Attempt           int     `json:"attempt"`
	Daemon            *Daemon `json:"daemon,omitempty"`
}

// EncodeShared writes what of t is the same for all shards and attempts of its execution.
func (t Task) EncodeShared() (Shared, error) {
	data, err := json.Marshal(shared{Task: t})
	if err != nil {
		return nil, fmt.Errorf("describe the shards of execution %s: %w", t.ExecutionID, err)
	}
	return data[1:], nil // a field follows the brace: the execution's id is never left out
}

// EncodeWith writes t as Encode does, but for the order of fields, with what EncodeShared has written of it or of
// another task of its execution. Without that it is Encode.
func (t Task) EncodeWith(shared Shared) ([]byte, error) {
	if len(shared) == 0 {
		return t.Encode()
	}
	data, err := json.Marshal(own{t.version(), t.TaskID, t.Item, t.ShardingParameter, t.Source, t.Attempt, t.Daemon})
	if err != nil {
		return nil, fmt.Errorf("describe task %s: %w", t.TaskID, err)
	}
	data[len(data)-1] = ','
	return append(data, shared...), nil
}

// version is the oldest that has all of t.
func (t Task) version() int {
	if len(t.EnvFiles)+len(t.EnvVariables) > 0 {
		return Version
	}
	return firstVersion
}

// DecodeTask reads a task description. A newer version than this one is an error
// that says so.
func DecodeTask(data []byte) (Task, error) {
	var t Task
	if err := json.Unmarshal(data, &t); err != nil {
		return Task{}, fmt.Errorf("read task description: %w", err)
	}
	if t.Version < 1 || t.Version > Version {
		return Task{}, fmt.Errorf("read task description: version %d, this executor knows 1 to %d: update the executor", t.Version, Version)
	}
	return t, nil
}

// Encode writes s; its form has not changed since the first version.
func (s Status) Encode() ([]byte, error) {
	s.Version = firstVersion
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("describe task status: %w", err)
	}
	return data, nil
}

// DecodeStatus reads what an executor reported. Data of other executors is no
// error: it gives a zero Status and false.
func DecodeStatus(data []byte) (Status, bool) {
	var s Status
	if len(data) == 0 || json.Unmarshal(data, &s) != nil || s.Version < 1 {
		return Status{}, false
	}
	return s, true
}

// Encode writes r; its form has not changed since the first version.
func (r Report) Encode() ([]byte, error) {
	r.Version = firstVersion
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("describe report: %w", err)
	}
	return data, nil
}

// DecodeReport reads an executor's report. Data of other executors is no error: it gives a zero Report and false.
func DecodeReport(data []byte) (Report, bool) {
	var r Report
	if len(data) == 0 || json.Unmarshal(data, &r) != nil || r.Version < 1 {
		return Report{}, false
	}
	return r, true
}

// Package wire defines the data that scheduler and executor exchange through Mesos: the description of one task
// (TaskInfo.data) and the executor's report about it (TaskStatus.data). Both are JSON with a version, so that
// executors and schedulers of different releases work together: a reader ignores unknown fields and refuses versions
// above its own.
package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// Version is the newest version that this code writes and reads. A task has the oldest version that supports its
// fields, so that older executors read it too. An older executor must refuse a task with references to secrets, a
// request with headers or a proxy of its own, and an exclusive task, because it would ignore them.
const (
	Version          = 4
	requestVersion   = 3
	referenceVersion = 2
	firstVersion     = 1
)

// Task is everything that an executor needs to run one attempt of one shard.
//
// The fingerprint of a daemon's shard covers the encoded Task (scheduler/core/tasks). A new field without omitempty
// changes the fingerprints of all daemons that run, so an update of the scheduler would replace them.
type Task struct {
	Version     int    `json:"v"`
	TaskID      string `json:"taskId"`
	ExecutionID string `json:"executionId"`
	JobName     string `json:"jobName"`
	// Item is the number of the shard, 0 to Total-1.
	Item  int `json:"item"`
	Total int `json:"total"`
	// JobParameter is the same for all shards, and ShardingParameter is the parameter of this shard.
	JobParameter      string `json:"jobParameter,omitempty"`
	ShardingParameter string `json:"shardingParameter,omitempty"`
	// Source is NORMAL_TRIGGER, TRIGGER, MISFIRE or FAILOVER.
	Source string `json:"source"`
	// FireTime is the same for all shards and attempts of an execution.
	FireTime time.Time `json:"fireTime"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// FencingToken is greater than the token of every earlier attempt of any job (rule K6); 0 if the scheduler is older
	// than this field.
	FencingToken int64   `json:"fencingToken,omitempty"`
	Package      Package `json:"package"`
	// Command is the app's bootstrap script or the job's own command line, split into words: program and arguments.
	// Nothing in it is expanded, and no shell interprets it.
	Command []string `json:"command"`
	// PlainCommand means that Command runs unchanged. Otherwise, and in tasks of schedulers that do not know this
	// field, the sharding context in JSON is added as the last argument.
	PlainCommand bool `json:"plainCommand,omitempty"`
	// AppName is the app of the job.
	AppName string `json:"appName,omitempty"`
	// Env is the job's own environment. EnvFiles and EnvVariables are more variables: each has the name of the file on
	// the agent, or of the variable in the executor's own environment, that contains the value.
	Env          map[string]string `json:"env,omitempty"`
	EnvFiles     map[string]string `json:"envFiles,omitempty"`
	EnvVariables map[string]string `json:"envVariables,omitempty"`
	// Props are the job's own properties, without those that the scheduler or the executor reads, such as secrets of
	// error handlers.
	Props map[string]string `json:"props,omitempty"`
	// CPUs and MemoryMB are the job's demand for one shard; 0 if the scheduler is older than these fields.
	CPUs     float64 `json:"cpus,omitempty"`
	MemoryMB float64 `json:"memoryMB,omitempty"`
	// KeepFailed is how many working folders of the job's failed and timed-out processes are kept; 0 leaves that to the
	// executor.
	KeepFailed int `json:"keepFailed,omitempty"`
	// TimeZone is the IANA name of the job's time zone, for its variable TZ. It is empty for UTC, for a zone without
	// such a name, and for a daemon, which has it in Daemon.
	TimeZone string `json:"timeZone,omitempty"`
	// Secrets are the names in Env and Props that are marked as secrets. Other secrets are recognized by their names.
	Secrets []string `json:"secrets,omitempty"`
	// Lease is set for an exclusive task: it runs only while it has a lease (rule K5).
	Lease *lease.Grant `json:"lease,omitempty"`
	// KillGraceMillis is the time between SIGTERM and SIGKILL; 0 means DefaultKillGrace.
	KillGraceMillis int64 `json:"killGraceMillis"`
	// TimeoutMillis is the time after which the scheduler kills the task. It is 0 for no timeout, for a daemon, and if
	// the scheduler is older than this field. From it the executor knows that a kill at that time is for the timeout.
	TimeoutMillis int64 `json:"timeoutMillis,omitempty"`
	// HTTP is set for a job that is an HTTP request. Such a job has neither package nor process.
	HTTP *HTTP `json:"http,omitempty"`
	// Daemon is set for a shard of a daemon job, which keeps running and is fired by its executor. FireTime and
	// ExecutionID do not belong to a run then: each run has its own.
	Daemon *Daemon `json:"daemon,omitempty"`
}

// DefaultKillGrace is the time between SIGTERM and SIGKILL of a task that names none.
const DefaultKillGrace = 5 * time.Second

// HTTP is the request of an HTTP job.
type HTTP struct {
	URL string `json:"url"`
	// Method is in capitals. Data is the body, for methods that have one.
	Method      string `json:"method"`
	Data        string `json:"data,omitempty"`
	ContentType string `json:"contentType,omitempty"`
	// ConnectTimeoutMillis bounds the connection, and ReadTimeoutMillis the wait for each part of the answer.
	ConnectTimeoutMillis int64 `json:"connectTimeoutMillis"`
	ReadTimeoutMillis    int64 `json:"readTimeoutMillis"`
	// Headers are additional headers by their names.
	Headers map[string]Header `json:"headers,omitempty"`
	// Proxy is the URL of the proxy for the request, or ProxyEnvironment; "" is no proxy.
	Proxy string `json:"proxy,omitempty"`
}

// ProxyEnvironment means that the proxy is in HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the executor's environment.
const ProxyEnvironment = "environment"

// Header is the value of a header: a text, or the file on the agent or the variable of the executor's environment that
// contains it.
type Header struct {
	Value    string `json:"value,omitempty"`
	File     string `json:"file,omitempty"`
	Variable string `json:"variable,omitempty"`
	// Secret means that no report may contain the value.
	Secret bool `json:"secret,omitempty"`
}

// The values of Daemon.Concurrency: how many shards of a daemon job one executor runs at once. "" is unlimited.
const (
	ConcurrencyCPU    = "CPU"           // twice the number of the machine's CPUs, as in the original
	ConcurrencySingle = "SINGLE_THREAD" // one shard
)

// Daemon tells the executor when to fire a daemon's shard, and how to handle runs that are late, fail or take too
// long.
type Daemon struct {
	// Cron is in Quartz's dialect (jobs/cron), in the zone with that IANA name.
	Cron     string `json:"cron"`
	TimeZone string `json:"timeZone"`
	// Misfire means that up to 100 fires that find the shard running are queued. Otherwise they are dropped.
	Misfire bool `json:"misfire,omitempty"`
	// SamplingCount N means that only every Nth run is reported; 0 and 1 mean every run. Failed runs are always
	// reported, and with Failover all runs are.
	SamplingCount int  `json:"samplingCount,omitempty"`
	Failover      bool `json:"failover,omitempty"`
	// Concurrency is "", ConcurrencyCPU or ConcurrencySingle.
	Concurrency string `json:"concurrency,omitempty"`
	// TimeoutMillis bounds the time of a run; 0 is unlimited.
	TimeoutMillis int64 `json:"timeoutMillis,omitempty"`
	// MaxRetries is how often a failed run is retried: after RetryBackoffMillis, then after twice that, and so on, at
	// most after a minute or, if longer, RetryBackoffMillis.
	MaxRetries         int   `json:"maxRetries,omitempty"`
	RetryBackoffMillis int64 `json:"retryBackoffMillis,omitempty"`
	// Rerun is the fire that was cut off with the shard's last attempt. It runs at once with the source FAILOVER. It
	// is zero if there is none.
	Rerun time.Time `json:"rerun,omitzero"`
}

// Package is the package that the executor fetches before it runs a task.
type Package struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256,omitempty"`
	// Cache means that the executor keeps the unpacked package for later tasks.
	Cache bool `json:"cache"`
}

// The phases of a task in Status.
const (
	PhaseFetch  = "FETCH"
	PhaseUnpack = "UNPACK"
	PhaseStart  = "START"
	PhaseRun    = "RUN"
)

// FormatFireTime returns the text of a fire time for programs of jobs: RFC 3339 in UTC with milliseconds.
func FormatFireTime(fire time.Time) string { return fire.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Status is what an executor adds to a status update.
type Status struct {
	Version int `json:"v"`
	// Dir is the task's output folder, relative to the executor's sandbox: "tasks/7".
	Dir string `json:"dir,omitempty"`
	// Sandbox is the path of the executor's sandbox in the file system of the agent's host (MESOS_DIRECTORY), even if
	// the executor sees the folder at another path. The agent's files API serves it as long as the sandbox is kept.
	// Every update contains it, because any update may be the first that arrives.
	Sandbox string `json:"sandbox,omitempty"`
	// Phase is the phase in which a task failed.
	Phase string `json:"phase,omitempty"`
	// Unreachable is the host, with its port if the URL has one, that did not answer when the package was fetched.
	Unreachable string `json:"unreachable,omitempty"`
	// Unanswered means that the host was reached when the package was fetched, but its answer for the URL was bad or
	// late.
	Unanswered bool `json:"unanswered,omitempty"`
	// SupervisorLost means that the process that supervises the executor's tasks was killed together with this task,
	// or that the task's container was started a second time. The task may have begun.
	SupervisorLost bool `json:"supervisorLost,omitempty"`
	// Unkilled means that processes of the task are left, because the kernel could not end them.
	Unkilled bool `json:"unkilled,omitempty"`
	// LeaseLost means that the task was killed because it had no lease any more (rule K5).
	LeaseLost bool `json:"leaseLost,omitempty"`
	// PackageSHA256 is the checksum in hexadecimal of the fetched package with which the task ran.
	PackageSHA256 string `json:"packageSHA256,omitempty"`
	// PackageNote says that the cached package on the agent had been modified, so that it was fetched again for this
	// task.
	PackageNote string `json:"packageNote,omitempty"`
	// ExitStatus is the exit status of the process; nil if it never started or was ended by a signal.
	ExitStatus *int `json:"exitStatus,omitempty"`
	// Signal is the signal that ended the process, e.g. "killed".
	Signal string `json:"signal,omitempty"`
	// Forced means that the process did not end within its kill grace after SIGTERM, so that SIGKILL ended it.
	Forced bool `json:"forced,omitempty"`
	// Cause says why the task failed, with the end of its stderr. The cause of a killed task begins with CauseKilled
	// if the executor does not know why the task was killed.
	Cause string `json:"cause,omitempty"`
	// Progress is the last progress that the task's program reported; nil for a daemon's shard.
	Progress *Progress `json:"progress,omitempty"`
	// StartTime and CompleteTime are the times of the process; zero if it never started.
	StartTime    time.Time `json:"startTime,omitzero"`
	CompleteTime time.Time `json:"completeTime,omitzero"`
	// Run is set in an update about one run of a daemon's shard that began or ended. An update that ends the task
	// contains the run that was cut off.
	Run *Run `json:"run,omitempty"`
	// Totals count the runs of a daemon's attempt since it began. Each of its updates contains them.
	Totals *Totals `json:"totals,omitempty"`
}

// CauseKilled is the Cause of a task that was killed on the scheduler's request, or the beginning of a longer cause.
const CauseKilled = "killed"

// LastWords returns Cause without CauseKilled: the last words of a task that was killed on the scheduler's request.
func (s Status) LastWords() string {
	words, _ := strings.CutPrefix(s.Cause, CauseKilled)
	return strings.TrimLeft(words, ";: ")
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
	// Number counts the runs of the shard's attempt from 1, including each retry of a fire. It shows the order of
	// runs, which their times may not show if a clock was set.
	Number int64 `json:"number"`
	// Fire is the time of the cron, also for a run that is a retry.
	Fire time.Time `json:"fire"`
	// Source is NORMAL_TRIGGER, MISFIRE or FAILOVER. Attempt counts from 1.
	Source  string `json:"source"`
	Attempt int    `json:"attempt"`
	// State is one of the states of a run.
	State    string    `json:"state"`
	Start    time.Time `json:"start,omitzero"`
	Complete time.Time `json:"complete,omitzero"`
	// ExitStatus, Signal and Cause are as in Status. ExitStatus and Signal are not set for a resident process that
	// continues after its run.
	ExitStatus *int   `json:"exitStatus,omitempty"`
	Signal     string `json:"signal,omitempty"`
	Cause      string `json:"cause,omitempty"`
	// Note says what is unusual about a run that finished; mostly empty.
	Note string `json:"note,omitempty"`
	// Sampled is set on every Nth run of the sampling. It is not set on runs that are reported for another reason.
	Sampled bool `json:"sampled,omitempty"`
	// Retried is set if the run failed and will be retried, so that it is not the final result of its fire.
	Retried bool `json:"retried,omitempty"`
}

// Totals count the results of the fires of a daemon's attempt.
type Totals struct {
	// Runs counts the runs that have ended, and Failed those of them that failed or timed out. Skipped counts the
	// fires that found the shard running and were dropped.
	Runs    int64 `json:"runs"`
	Failed  int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
	// SkippedAt is the newest skipped fire.
	SkippedAt time.Time `json:"skippedAt,omitzero"`
}

// Encode encodes t with the oldest version that supports all of its fields.
func (t Task) Encode() ([]byte, error) {
	t.Version = t.version()
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("describe task %s: %w", t.TaskID, err)
	}
	return data, nil
}

// Shared is the encoded part of a task that is the same for all shards and attempts of an execution. It contains
// everything that can be large, except the parameter of a shard. It is immutable, so that all shards can use one copy.
type Shared []byte

// shared selects the fields of Shared. Its own fields hide the fields of Task that do not belong to Shared.
type shared struct {
	Task
	Version           *struct{} `json:"v,omitempty"`
	TaskID            *struct{} `json:"taskId,omitempty"`
	Item              *struct{} `json:"item,omitempty"`
	ShardingParameter *struct{} `json:"shardingParameter,omitempty"`
	Source            *struct{} `json:"source,omitempty"`
	Attempt           *struct{} `json:"attempt,omitempty"`
	FencingToken      *struct{} `json:"fencingToken,omitempty"`
	Lease             *struct{} `json:"lease,omitempty"`
	Daemon            *struct{} `json:"daemon,omitempty"`
}

// own has the fields of Task that are not in Shared.
type own struct {
	Version           int          `json:"v"`
	TaskID            string       `json:"taskId"`
	Item              int          `json:"item"`
	ShardingParameter string       `json:"shardingParameter,omitempty"`
	Source            string       `json:"source"`
	Attempt           int          `json:"attempt"`
	FencingToken      int64        `json:"fencingToken,omitempty"`
	Lease             *lease.Grant `json:"lease,omitempty"`
	Daemon            *Daemon      `json:"daemon,omitempty"`
}

// EncodeShared encodes the part of t that is the same for all shards and attempts of its execution.
func (t Task) EncodeShared() (Shared, error) {
	data, err := json.Marshal(shared{Task: t})
	if err != nil {
		return nil, fmt.Errorf("describe the shards of execution %s: %w", t.ExecutionID, err)
	}
	return data[1:], nil // without the brace; a field always follows it, because the execution id is never left out
}

// EncodeWith encodes t like Encode, but with another order of fields. shared is the result of EncodeShared for t or
// another task of its execution. If it is empty, EncodeWith is Encode.
func (t Task) EncodeWith(shared Shared) ([]byte, error) {
	if len(shared) == 0 {
		return t.Encode()
	}
	data, err := json.Marshal(own{t.version(), t.TaskID, t.Item, t.ShardingParameter, t.Source, t.Attempt,
		t.FencingToken, t.Lease, t.Daemon})
	if err != nil {
		return nil, fmt.Errorf("describe task %s: %w", t.TaskID, err)
	}
	data[len(data)-1] = ','
	return append(data, shared...), nil
}

// version returns the oldest version that supports all fields of t.
func (t Task) version() int {
	switch {
	case t.Lease != nil:
		return Version
	case t.HTTP != nil && (len(t.HTTP.Headers) > 0 || t.HTTP.Proxy != ""):
		return requestVersion
	case len(t.EnvFiles)+len(t.EnvVariables) > 0:
		return referenceVersion
	}
	return firstVersion
}

// DecodeTask decodes a task. A version above Version is an error that says so.
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

// Encode encodes s. The format has not changed since the first version.
func (s Status) Encode() ([]byte, error) {
	s.Version = firstVersion
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("describe task status: %w", err)
	}
	return data, nil
}

// DecodeStatus decodes an executor's status. It returns a zero Status and false for data of other executors.
func DecodeStatus(data []byte) (Status, bool) {
	var s Status
	if len(data) == 0 || json.Unmarshal(data, &s) != nil || s.Version < 1 {
		return Status{}, false
	}
	return s, true
}

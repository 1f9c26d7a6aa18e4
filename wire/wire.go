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

// Version is the newest version that this code writes and reads.
const Version = 1

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
	// Env is the job's own environment.
	Env map[string]string `json:"env,omitempty"`
	// KillGraceMillis is the time between SIGTERM and SIGKILL.
	KillGraceMillis int64 `json:"killGraceMillis"`
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
	// Unreachable is the host, with its port if the URL names one, that gave no answer when the package was to be fetched.
	Unreachable string `json:"unreachable,omitempty"`
	// SupervisorLost says that the process which supervises the executor's tasks was killed, and this one with it. It
	// may have begun.
	SupervisorLost bool `json:"supervisorLost,omitempty"`
	// PackageSHA256 is the checksum, in hex, of the package that the task ran with, as it was fetched.
	PackageSHA256 string `json:"packageSHA256,omitempty"`
	// PackageNote says that the package kept on the agent had been changed by somebody, so that it was fetched again for this task.
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
}

// Encode writes t with the present version.
func (t Task) Encode() ([]byte, error) {
	t.Version = Version
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("describe task %s: %w", t.TaskID, err)
	}
	return data, nil
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

// Encode writes s with the present version.
func (s Status) Encode() ([]byte, error) {
	s.Version = Version
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

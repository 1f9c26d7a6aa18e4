// Package event defines the events of the history: what the scheduler core decides to record together with a commit.
// It does not store anything, so that the core can import it and stay free of I/O. Reasons are structured values; the
// storage turns them into text. Earlier releases stored text, which is read as plain text.
//
// Every event has a key: an id that derives from its content (ID), the id of the execution, the time of a sample or a
// load, or the number of a term. So an event that is recorded twice, after a crash or by a leader that found it in the
// registry, is stored once. Some rows have several versions, such as the begin and the end of a run. Each version has
// all columns, and a higher Revision replaces a lower one, whatever the order in which they arrive.
package event

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// Batch is what one commit of one term records. It is valid if the commit with that number has happened.
type Batch struct {
	Term int64 `json:"term"`
	// Number counts the commits of the term that record something, from 1. Batch n+1 is created only after the commit
	// of batch n has happened.
	Number int64 `json:"number"`
	Rows
}

// Rows are events by table.
type Rows struct {
	Executions []Execution `json:"executions,omitempty"`
	Steps      []Step      `json:"steps,omitempty"`
	Runs       []Run       `json:"runs,omitempty"`
	Traces     []Trace     `json:"traces,omitempty"`
	Tallies    []Tally     `json:"tallies,omitempty"`
	Samples    []Sample    `json:"samples,omitempty"`
	Loads      []Load      `json:"loads,omitempty"`
	// Terms report how many batches of former terms are valid.
	Terms  []Term  `json:"terms,omitempty"`
	Audits []Audit `json:"audits,omitempty"`
}

// Len returns the number of rows.
func (r *Rows) Len() int {
	return len(r.Executions) + len(r.Steps) + len(r.Runs) + len(r.Traces) + len(r.Tallies) + len(r.Samples) +
		len(r.Loads) + len(r.Terms) + len(r.Audits)
}

// Revisions of the row of an execution or of a run. A higher revision replaces a lower one.
const (
	Begun = 1 + iota // an execution that has fired, or a run whose process has started
	Launched
	Ended
)

// Again returns the revision of a row that is written again after its final version was reopened for the n-th time. It
// is at most 127, the greatest number that the column holds. Versions after that have the same revision.
func Again(revision, n int) int {
	const maxReopened = 62
	switch n = min(n, maxReopened); {
	case n == 0:
		return revision
	case revision == Ended:
		return Ended + 2*n
	}
	return Ended + 2*n - 1
}

// Execution is a row of JOB_EXECUTION: one execution at its fire, its first launch and its end. The standing execution
// of a daemon job is one too.
type Execution struct {
	ID       string `json:"id"` // the execution's id, at most 150 bytes
	Revision int    `json:"rev"`
	Job      string `json:"job"`
	App      string `json:"app,omitempty"`
	Source   string `json:"source"`
	State    string `json:"state"`
	// Reason is why an ended execution is not FINISHED.
	Reason reason.Reason `json:"reason,omitzero"`
	Fire   time.Time     `json:"fire"`
	Made   time.Time     `json:"made"` // the time of its creation; later than Fire after a time without a leader
	Launch time.Time     `json:"launch,omitzero"`
	Begin  time.Time     `json:"begin,omitzero"` // the start of its first process
	End    time.Time     `json:"end,omitzero"`   // the end of its last process; without a process, of the execution
	Shards int           `json:"shards,omitempty"`
	// States counts its shards by their final states.
	States map[string]int `json:"states,omitempty"`
}

// Step is a row of JOB_EXECUTION_EVENT: an event of an execution that is neither in its row nor in a status trace.
type Step struct {
	ID        string        `json:"id"`
	Execution string        `json:"exec"`
	Job       string        `json:"job"`
	Kind      Kind          `json:"kind"`
	Item      int           `json:"item"` // NoItem for the whole execution
	Task      string        `json:"task,omitempty"`
	Message   reason.Reason `json:"msg,omitzero"`
	Time      time.Time     `json:"t"`
}

// NoItem is the Item of an event that concerns no particular shard.
const NoItem = -1

// Kind is the kind of a Step.
type Kind string

const (
	Waited   Kind = "WAITED"   // a shard has waited; Message says for what; at most a few per execution
	Requeued Kind = "REQUEUED" // a shard waits for another attempt; Message says why
	Killing  Kind = "KILLING"  // a kill of the execution or of a shard is requested; Message says why
	Dropped  Kind = "DROPPED"  // a fire found its job busy, so Execution does not exist; Message says why
	Missed   Kind = "MISSED"   // fires were missed, of which Execution is the last; Message says which
)

// Run is a row of JOB_EXECUTION_LOG: one run of one shard, which is an attempt of a transient job, or one fire of a
// daemon. The columns are those of the original and some more.
type Run struct {
	ID        string        `json:"id"`
	Revision  int           `json:"rev"` // Begun or Ended
	Job       string        `json:"job"`
	Task      string        `json:"task"`
	Execution string        `json:"exec"`
	Item      int           `json:"item"`
	Attempt   int           `json:"attempt"`
	Number    int64         `json:"number,omitempty"` // of a daemon's run, from 1 in each attempt
	Source    string        `json:"source"`
	State     string        `json:"state"` // RUNNING, or the final state
	Success   bool          `json:"ok,omitempty"`
	Cause     reason.Reason `json:"cause,omitzero"`
	Exit      *int          `json:"exit,omitempty"`
	Agent     string        `json:"agent"`
	Host      string        `json:"host,omitempty"`
	// IP is the address of the agent, if it is an IP address.
	IP    string    `json:"ip,omitempty"`
	Fire  time.Time `json:"fire,omitzero"`
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// Trace is a row of JOB_STATUS_TRACE_LOG: one change of the state of one task.
type Trace struct {
	ID           string        `json:"id"`
	Job          string        `json:"job"`
	OriginalTask string        `json:"orig,omitempty"` // for a failover: the task that was lost
	Task         string        `json:"task"`
	Agent        string        `json:"agent"`
	Source       string        `json:"source"` // FromScheduler or FromExecutor
	Type         string        `json:"type"`   // READY or FAILOVER, as in the task id
	Item         int           `json:"item"`
	State        string        `json:"state"`            // the Mesos name, TASK_RUNNING
	Reason       string        `json:"reason,omitempty"` // the Mesos name
	Message      reason.Reason `json:"msg,omitzero"`
	Execution    string        `json:"exec"`
	Attempt      int           `json:"attempt"`
	Time         time.Time     `json:"t"`
}

// Sources of traces, with the names of the original.
const (
	FromScheduler = "CLOUD_SCHEDULER"
	FromExecutor  = "CLOUD_EXECUTOR"
)

// Tally counts runs of a daemon's shard that were not reported individually, because its app has sampling.
type Tally struct {
	ID      string    `json:"id"`
	Job     string    `json:"job"`
	Task    string    `json:"task"`
	Success int64     `json:"ok"`
	Failed  int64     `json:"failed"`
	Time    time.Time `json:"t"`
}

// Sample is the value of a gauge at a full minute.
type Sample struct {
	Of    Gauge     `json:"of"`
	Value int64     `json:"value"`
	Time  time.Time `json:"t"`
}

// Gauge names what a sample measures.
type Gauge string

const (
	TasksRunning   Gauge = "TASKS_RUNNING"   // tasks on the cluster: TASK_RUNNING_STATISTICS
	JobsRunning    Gauge = "JOBS_RUNNING"    // jobs with at least one running task: JOB_RUNNING_STATISTICS
	JobsRegistered Gauge = "JOBS_REGISTERED" // JOB_REGISTER_STATISTICS: the newest sample of a day counts
)

// Load is a row of SCHEDULING_STATISTICS: the activity of a leader in one minute.
type Load struct {
	Time     time.Time `json:"t"`        // the start of the minute
	Launched int64     `json:"launched"` // launched tasks
	Waiting  int64     `json:"waiting"`  // shards that wait at the end of the minute
	// Fires counts the cron fires whose executions were launched. DelayP50 and DelayP95 are quantiles of their delays
	// in milliseconds; 0 without fires.
	Fires    int64   `json:"fires"`
	DelayP50 float64 `json:"p50,omitempty"`
	DelayP95 float64 `json:"p95,omitempty"`
}

// Term reports that exactly the batches with numbers up to Batches are valid of a former term.
type Term struct {
	Number  int64 `json:"number"`
	Batches int64 `json:"batches"`
}

// ID derives an id from the parts that identify an event: 36 characters, in the form of a UUID.
func ID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: custom format
	var text [36]byte
	for i, group := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		hex.Encode(text[i+2*group[0]:], sum[group[0]:group[1]])
		if group[1] < 16 {
			text[i+2*group[1]] = '-'
		}
	}
	return string(text[:])
}

// Actor is the user or program that requested a change.
type Actor struct {
	// Name is the name of the user or token; empty without authentication.
	Name string `json:"name,omitempty"`
	// Kind is the kind of credential: user, token, token-file, oidc, machine, or registry for an external edit.
	Kind string `json:"kind,omitempty"`
	// From is the address from which the request came.
	From string `json:"from,omitempty"`
}

// Audit is a change that an actor has made.
type Audit struct {
	ID   string    `json:"id"`
	Time time.Time `json:"t"`
	Actor
	// Action names the change, such as job.update; Target is the kind of the changed object, and TargetName its name.
	Action     string `json:"action"`
	Target     string `json:"target"`
	TargetName string `json:"targetName"`
	// App is the app of the target, or the target itself if it is an app; empty otherwise.
	App string `json:"app,omitempty"`
	// Before and After are JSON objects of the changed fields, without secrets. Before is empty if the object did not
	// exist before, and After if it does not exist any more.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

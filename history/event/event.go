// Package event is what the history is made of: what the scheduler core decides to record, beside the commit that
// makes it true. It holds no way to store anything, so that the core can import it and stay pure. Reasons in it are
// values: what they say in words is made where they are stored. Earlier releases had the words there, which are read
// as what somebody said.
//
// Every event has an id that is made of what it says (ID), or is the execution's. So what is recorded twice, as after
// a crash or by a leader that found it in the registry, stands once. Of some rows there are several versions, such as
// a run's begin and its end: each has all columns, and a higher Revision replaces a lower one, in whatever order they
// arrive.
package event

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// Batch is what one commit of one term records. It is true when the commit of that number has happened.
type Batch struct {
	Term int64 `json:"term"`
	// Number counts the commits of the term that record something, from 1. Number n+1 is made only after the commit of
	// n has happened.
	Number int64 `json:"number"`
	Rows
}

// Rows are events by the table that they are stored in.
type Rows struct {
	Executions []Execution `json:"executions,omitempty"`
	Steps      []Step      `json:"steps,omitempty"`
	Runs       []Run       `json:"runs,omitempty"`
	Traces     []Trace     `json:"traces,omitempty"`
	Tallies    []Tally     `json:"tallies,omitempty"`
	Samples    []Sample    `json:"samples,omitempty"`
	Loads      []Load      `json:"loads,omitempty"`
	// Terms say of former terms which of their batches are true.
	Terms  []Term  `json:"terms,omitempty"`
	Audits []Audit `json:"audits,omitempty"`
}

// Len is how many rows there are.
func (r *Rows) Len() int {
	return len(r.Executions) + len(r.Steps) + len(r.Runs) + len(r.Traces) + len(r.Tallies) + len(r.Samples) +
		len(r.Loads) + len(r.Terms) + len(r.Audits)
}

// Revisions of an execution and of a run: later ones replace earlier ones.
const (
	Begun = 1 + iota // an execution that was fired; a run whose process began
	Launched
	Ended
)

// Execution is a row of JOB_EXECUTION: one execution as it was when it was fired, when it was first launched, and when
// it ended. The standing execution of a daemon job is one, too.
type Execution struct {
	ID       string `json:"id"` // the execution's, at most 150 bytes
	Revision int    `json:"rev"`
	Job      string `json:"job"`
	App      string `json:"app,omitempty"`
	Source   string `json:"source"`
	State    string `json:"state"`
	// Reason is why an execution that ended is not FINISHED.
	Reason reason.Reason `json:"reason,omitzero"`
	Fire   time.Time     `json:"fire"`
	Made   time.Time     `json:"made"` // when it was made, later than Fire after a time without a leader
	Launch time.Time     `json:"launch,omitzero"`
	Begin  time.Time     `json:"begin,omitzero"` // of its first process
	End    time.Time     `json:"end,omitzero"`   // of its last process; without one, when it was ended
	Shards int           `json:"shards,omitempty"`
	// States counts its shards by the state that they ended in.
	States map[string]int `json:"states,omitempty"`
}

// Step is a row of JOB_EXECUTION_EVENT: something in the life of an execution that neither its row nor a status trace
// says.
type Step struct {
	ID        string        `json:"id"`
	Execution string        `json:"exec"`
	Job       string        `json:"job"`
	Kind      Kind          `json:"kind"`
	Item      int           `json:"item"` // NoItem when it is of the whole execution
	Task      string        `json:"task,omitempty"`
	Message   reason.Reason `json:"msg,omitzero"`
	Time      time.Time     `json:"t"`
}

// NoItem stands for no shard.
const NoItem = -1

// Kind is what happened to an execution.
type Kind string

const (
	Waited   Kind = "WAITED"   // Message is what for; at most a few for each execution
	Requeued Kind = "REQUEUED" // a shard waits for another attempt; Message is why
	Killing  Kind = "KILLING"  // its kill, or that of a shard, is wanted; Message is why
	Dropped  Kind = "DROPPED"  // a fire that found its job busy: there is no execution of that id; Message is why
	Missed   Kind = "MISSED"   // fires up to that of that id were not made in time; Message is which
)

// Run is a row of JOB_EXECUTION_LOG: one run of one shard: an attempt of a transient job's, or one fire of a daemon's.
// Columns are the original's, and ours beside them.
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
	State     string        `json:"state"` // RUNNING, or how it ended
	Success   bool          `json:"ok,omitempty"`
	Cause     reason.Reason `json:"cause,omitzero"`
	Exit      *int          `json:"exit,omitempty"`
	Agent     string        `json:"agent"`
	Host      string        `json:"host,omitempty"`
	// IP is the agent's address, if it is an IP address.
	IP    string    `json:"ip,omitempty"`
	Fire  time.Time `json:"fire,omitzero"`
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// Trace is a row of JOB_STATUS_TRACE_LOG: one change of one task's state.
type Trace struct {
	ID           string        `json:"id"`
	Job          string        `json:"job"`
	OriginalTask string        `json:"orig,omitempty"` // of a failover: the task that was lost
	Task         string        `json:"task"`
	Agent        string        `json:"agent"`
	Source       string        `json:"source"` // FromScheduler or FromExecutor
	Type         string        `json:"type"`   // READY or FAILOVER, as in the task's id
	Item         int           `json:"item"`
	State        string        `json:"state"`            // Mesos' name, TASK_RUNNING
	Reason       string        `json:"reason,omitempty"` // Mesos' name
	Message      reason.Reason `json:"msg,omitzero"`
	Execution    string        `json:"exec"`
	Attempt      int           `json:"attempt"`
	Time         time.Time     `json:"t"`
}

// Sources of traces, as the original's.
const (
	FromScheduler = "CLOUD_SCHEDULER"
	FromExecutor  = "CLOUD_EXECUTOR"
)

// Tally counts runs of a daemon's shard that were not reported one by one (jobs with sampling).
type Tally struct {
	ID      string    `json:"id"`
	Job     string    `json:"job"`
	Task    string    `json:"task"`
	Success int64     `json:"ok"`
	Failed  int64     `json:"failed"`
	Time    time.Time `json:"t"`
}

// Sample is a gauge at a full minute.
type Sample struct {
	Of    Gauge     `json:"of"`
	Value int64     `json:"value"`
	Time  time.Time `json:"t"`
}

// Gauge is what a sample is of.
type Gauge string

const (
	TasksRunning   Gauge = "TASKS_RUNNING"   // tasks on the cluster: TASK_RUNNING_STATISTICS
	JobsRunning    Gauge = "JOBS_RUNNING"    // jobs with at least one: JOB_RUNNING_STATISTICS
	JobsRegistered Gauge = "JOBS_REGISTERED" // JOB_REGISTER_STATISTICS: the newest of a day counts for it
)

// Load is a row of SCHEDULING_STATISTICS: what a leader did within a minute.
type Load struct {
	Time     time.Time `json:"t"`        // the minute's begin
	Launched int64     `json:"launched"` // tasks
	Waiting  int64     `json:"waiting"`  // shards that wait at its end
	// Fires are those of crons whose executions were launched, DelayP50 and DelayP95 quantiles, in milliseconds, of
	// how long after its moment each was; 0 without any.
	Fires    int64   `json:"fires"`
	DelayP50 float64 `json:"p50,omitempty"`
	DelayP95 float64 `json:"p95,omitempty"`
}

// Term says of a former term how many of its batches are true: those up to Batches.
type Term struct {
	Number  int64 `json:"number"`
	Batches int64 `json:"batches"`
}

// ID makes an id of what tells an event from all others: 36 characters, as a UUID's.
func ID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: of our own making
	var text [36]byte
	for at, from := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		hex.Encode(text[at+2*from[0]:], sum[from[0]:from[1]])
		if from[1] < 16 {
			text[at+2*from[1]] = '-'
		}
	}
	return string(text[:])
}

// Actor is who asked for a change.
type Actor struct {
	// Name is the user's or token's; empty where nobody is asked who they are.
	Name string `json:"name,omitempty"`
	// Kind says by what they are known: user, token, token-file, oidc, machine, or registry for an edit by hand.
	Kind string `json:"kind,omitempty"`
	// From is the address that the request came from.
	From string `json:"from,omitempty"`
}

// Audit is a change that somebody has made.
type Audit struct {
	ID   string    `json:"id"`
	Time time.Time `json:"t"`
	Actor
	// Action is what was done, such as job.update; Target is the kind of what it was done to, and TargetName its name.
	Action     string `json:"action"`
	Target     string `json:"target"`
	TargetName string `json:"targetName"`
	// App is the app that the target belongs to, or is; empty for what belongs to none.
	App string `json:"app,omitempty"`
	// Before and After are JSON objects of the fields that have changed, without secrets; null for a thing that was
	// not there, or is no more.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

package executions

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// attempt is one task of a shard, from its launch to its end. A launch makes a new one by assignment, so that
// no state leaks from one attempt into the next.
type attempt struct {
	TaskID   string `json:"t,omitempty"`
	Agent    string `json:"g,omitempty"`
	AgentURL string `json:"h,omitempty"`
	Host     string `json:"hn,omitempty"`
	// Original is the task that was lost, of an attempt by failover.
	Original string `json:"ot,omitempty"`
	Executor string `json:"x,omitempty"`
	// WorkDir is the agent's work folder and Container the executor's run: with them the absolute path of the
	// sandbox that the executor reported is rebuilt (package sandbox). Both are empty until it has reported one.
	WorkDir   string `json:"w,omitempty"`
	Container string `json:"c,omitempty"`
	Dir       string `json:"d,omitempty"`
	// Framework is the id that it ran under, if that is not the present one.
	Framework string `json:"f,omitempty"`

	// Since when, for everything that has a timeout (rule F8).
	Launched    time.Time `json:"la,omitzero"`
	Unreachable time.Time `json:"un,omitzero"`
	// Away is set when a master had its agent marked unreachable, and not only did not know the task.
	Away       bool          `json:"aw,omitempty"`
	EndUnclear time.Time     `json:"eu,omitzero"` // rule S5
	EndState   string        `json:"es,omitempty"`
	KillSince  time.Time     `json:"ks,omitzero"`  // rule K1: a wanted kill is state
	Kill       reason.Reason `json:"kr,omitzero"`  // why its own end is wanted, if its execution is to go on
	RunningAt  time.Time     `json:"ra,omitzero"`  // rule K4: when RUNNING was heard, kept for jobs with a timeout
	TimedOut   bool          `json:"to,omitempty"` // rule K4: its kill is wanted because it ran for too long

	// Seen is how far it was seen to go: 0 nothing, 1 staging, 2 starting, 3 running.
	Seen int `json:"sn,omitempty"`
	// Fetching is set while the last report of its executor is that it fetches the package: no process of it
	// was made yet (rule E1).
	Fetching bool   `json:"fe,omitempty"`
	UUID     []byte `json:"u,omitempty"` // of the last update that changed something

	Start    time.Time     `json:"st,omitzero"`
	Complete time.Time     `json:"co,omitzero"`
	Exit     *int          `json:"ex,omitempty"`
	Cause    reason.Reason `json:"ca,omitzero"` // why it ended
	// Package is the checksum of the package that it ran with, as its executor reported it.
	Package string `json:"pk,omitempty"`

	// Need is what a daemon's attempt was allotted, Settings the fingerprint of what it was launched with, and Grace
	// what its kills name: the settings of its execution may have changed since, and a longer grace than the task's
	// own would drain the shard (rule X12).
	Need     resources.Amount `json:"rs,omitzero"`
	Settings string           `json:"sf,omitempty"`
	Grace    time.Duration    `json:"gr,omitempty"`
	// Drain is set while the kill that is wanted lets the run under way come to its end.
	Drain bool `json:"dr,omitempty"`

	// acceptSeq is the ACCEPT that was sent and not answered; 0 when it was
	// answered or voided. An attempt loaded from the registry counts as voided
	// with the first subscription (rule L4).
	acceptSeq int64
	// sentWith is the ACCEPT that launched it, in this term.
	sentWith int64
	// known is set when the cluster reported anything of the task in this session.
	known bool
	// killSent and killTry pace the repetition of kills.
	killSent time.Time
	killTry  int
	// staged counts the sweeps that found it staged; stuckStaging: it got no further, in spite of a kill.
	staged       int
	stuckStaging bool
	// runningSince is when this leader heard that it runs, or took over.
	runningSince time.Time
	// waits is what keeps a task from beginning that is on its agent, in the words of the agent; nothing is decided
	// by it.
	waits string
	// progress is what its program said last, or nil; nothing is decided by it (wire.Report).
	progress *Progress
}

// past is what stays of an attempt that ended while its shard waits for the next: where it ran, and why it ended.
func (a *attempt) past() attempt {
	return attempt{TaskID: a.TaskID, Agent: a.Agent, Host: a.Host, Executor: a.Executor, Framework: a.Framework,
		Cause: a.Cause, Package: a.Package}
}

// EarlierAttempt is what is kept of an attempt after another one has followed it: where its output is.
type EarlierAttempt struct {
	Attempt  int    `json:"a"`
	TaskID   string `json:"t"`
	AgentURL string `json:"h"`
	// Path is the absolute path of the task's folder, because its parts may not be known later.
	Path string `json:"p"`
}

// MostEarlier is the largest number of earlier attempts that a shard keeps: each takes as much room as a quarter of
// a cause.
const MostEarlier = 3

// How far a task was reported to have come (Shard.Seen). A higher number is further.
const (
	// SeenStaging is a task that its agent has not handed over yet.
	SeenStaging = 1
	// SeenStarting is a task that its executor has, or that its agent prepares.
	SeenStarting = 2
	// SeenRunning is a task that was reported running, or being killed.
	SeenRunning = 3
)

// Tries count the attempts of a shard that the master refused, that were lost, that failed and were retried, and
// that failed to start on agents (rules E1-E3, L6).
type Tries struct {
	Errors int `json:"ne,omitempty"`
	Losses int `json:"nl,omitempty"`
	Fails  int `json:"nf,omitempty"`
	Starts int `json:"ns,omitempty"`
}

// Sum is the number of all attempts that are counted.
func (t Tries) Sum() int { return t.Errors + t.Losses + t.Fails + t.Starts }

// keepOutput adds the present attempt, whose output is at path, to the earlier ones.
func (s *Shard) keepOutput(path string) {
	if path == "" {
		return
	}
	s.rec.Earlier = append(s.rec.Earlier,
		EarlierAttempt{Attempt: s.rec.Attempt, TaskID: s.rec.TaskID, AgentURL: s.rec.AgentURL, Path: path})
	if over := len(s.rec.Earlier) - MostEarlier; over > 0 {
		s.rec.Earlier = slices.Clone(s.rec.Earlier[over:])
	}
}

package executions

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// attempt is one task of a shard, from its launch to its end. A launch assigns a new value, so that no state leaks
// from one attempt into the next.
type attempt struct {
	TaskID   string `json:"t,omitempty"`
	Agent    string `json:"g,omitempty"`
	AgentURL string `json:"h,omitempty"`
	Host     string `json:"hn,omitempty"`
	// Original is the id of the lost task that an attempt by failover replaces.
	Original string `json:"ot,omitempty"`
	Executor string `json:"x,omitempty"`
	// WorkDir is the agent's work folder and Container the id of the executor's run. From both, package sandbox
	// rebuilds the absolute path of the sandbox that the executor reported. Both are empty until it has reported one.
	WorkDir   string `json:"w,omitempty"`
	Container string `json:"c,omitempty"`
	Dir       string `json:"d,omitempty"`
	// Framework is the framework id that the attempt ran under, if that is not the present one.
	Framework string `json:"f,omitempty"`

	// The times from which its timeouts count (rule F8).
	Launched    time.Time `json:"la,omitzero"`
	Unreachable time.Time `json:"un,omitzero"`
	// Away is set when a master has marked the agent as unreachable, not when it only did not know the task.
	Away bool `json:"aw,omitempty"`
	// Silent is set if its executor sends no heartbeats.
	Silent     bool          `json:"si,omitempty"`
	EndUnclear time.Time     `json:"eu,omitzero"` // rule S5
	EndState   string        `json:"es,omitempty"`
	KillSince  time.Time     `json:"ks,omitzero"` // rule K1: a wanted kill is state
	Kill       reason.Reason `json:"kr,omitzero"` // why this task alone is to be killed
	RunningAt  time.Time     `json:"ra,omitzero"` // rule K4: when RUNNING was reported, for jobs with a timeout
	// Rule K4: the kill is wanted because the task exceeded its timeout.
	TimedOut bool `json:"to,omitempty"`

	// Seen is the furthest reported state: 0 none, 1 staging, 2 starting, 3 running.
	Seen int `json:"sn,omitempty"`
	// Fetching is set while the last report of its executor says that it fetches the package: no process has begun yet
	// (rule E1).
	Fetching bool   `json:"fe,omitempty"`
	UUID     []byte `json:"u,omitempty"` // of the last update that changed something

	Start    time.Time     `json:"st,omitzero"`
	Complete time.Time     `json:"co,omitzero"`
	Exit     *int          `json:"ex,omitempty"`
	Cause    reason.Reason `json:"ca,omitzero"` // why it ended
	// Package is the checksum of the package that it ran with, as its executor reported it.
	Package string `json:"pk,omitempty"`

	// Need is the resources that a daemon's attempt was allotted, Settings the fingerprint of the settings that it was
	// launched with, and Grace the grace of its kills. They are stored because the settings of its execution may have
	// changed since, and a grace longer than the task's own would drain the shard (rule X12).
	Need     resources.Amount `json:"rs,omitzero"`
	Settings string           `json:"sf,omitempty"`
	Grace    time.Duration    `json:"gr,omitempty"`
	// Lease is the length of the leases of an exclusive attempt; 0 for any other. It is stored because the settings of
	// its execution may have changed since.
	Lease time.Duration `json:"le,omitempty"`
	// Unleased is set for an exclusive attempt that has no lease, because its task can't ask for one. Only a report of
	// its end, or an operator, ends it.
	Unleased bool `json:"ul,omitempty"`
	// Drain is set while the wanted kill lets the present run come to its end.
	Drain bool `json:"dr,omitempty"`

	// Returns counts how often it was given up and taken back.
	Returns int `json:"rt,omitempty"`

	// acceptSeq is the number of the unanswered ACCEPT that launched it; 0 once it was answered or voided. An attempt
	// loaded from the registry counts as voided with the first subscription (rule L4).
	acceptSeq int64
	// sentWith is the number of the ACCEPT that launched it in this term.
	sentWith int64
	// reported is set when the cluster reported anything of the task in this session.
	reported bool
	// unknown is set when the cluster has said in this session that it does not know the task, and agents had had the
	// time to register.
	unknown bool
	// killSent and killTry determine when a kill is repeated.
	killSent time.Time
	killTry  int
	// staged counts the sweeps that found it staged; stuckStaging is set when it stayed staged in spite of a kill.
	staged       int
	stuckStaging bool
	// runningSince is when this leader learned that it runs, or loaded it.
	runningSince time.Time
	// waitText is the reason, in the words of the agent, why a task on its agent has not begun; no decision uses it.
	waitText string
	// progress is the last report of its program, or nil; no decision uses it (wire.Report).
	progress *Progress
}

// past returns the part of an ended attempt that its shard keeps while it waits for the next one: where it ran, and
// why it ended.
func (a *attempt) past() attempt {
	return attempt{TaskID: a.TaskID, Agent: a.Agent, Host: a.Host, Executor: a.Executor, Framework: a.Framework,
		Cause: a.Cause, Package: a.Package}
}

// EarlierAttempt is the part of an attempt that is kept after another one has followed it: where its output is.
type EarlierAttempt struct {
	Attempt  int    `json:"a"`
	TaskID   string `json:"t"`
	AgentURL string `json:"h"`
	// Path is the absolute path of the task's folder. It is stored whole, because its parts may not be known later.
	Path string `json:"p"`
}

// MaxEarlier is the maximum number of earlier attempts that a shard keeps. Each takes a quarter of the room of a
// cause.
const MaxEarlier = 3

// The furthest reported states of a task (Shard.Seen), in ascending order.
const (
	// SeenStaging is the state of a task that its agent has not handed over yet.
	SeenStaging = 1
	// SeenStarting is the state of a task that its executor has, or that its agent prepares.
	SeenStarting = 2
	// SeenRunning is the state of a task that was reported as running or as being killed.
	SeenRunning = 3
)

// Tries count the attempts of a shard that the master refused, that were lost, that failed and were retried, and
// that failed to start on agents (rules E1-E3, L6).
type Tries struct {
	Errors int `json:"ne,omitempty"`
	Losses int `json:"nl,omitempty"`
	Fails  int `json:"nf,omitempty"`
	Starts int `json:"ns,omitempty"`
	// Machines counts the different machines with which attempts were lost; Machine is the last of them.
	Machines int    `json:"nm,omitempty"`
	Machine  string `json:"mm,omitempty"`
}

// CountMachine counts a machine with which an attempt was lost, unless it is the one that was counted last.
func (t *Tries) CountMachine(name string) {
	if t.Machine != name {
		t.Machine = name
		t.Machines++
	}
}

// Sum returns the number of all counted attempts. It leaves out those that were lost with their agents, which only
// Machines counts.
func (t Tries) Sum() int { return t.Errors + t.Losses + t.Fails + t.Starts }

// keepOutput adds the present attempt, whose output is at path, to the earlier ones, and keeps the newest MaxEarlier of
// them. It does nothing if path is "".
func (s *Shard) keepOutput(path string) {
	if path == "" {
		return
	}
	s.rec.Earlier = append(s.rec.Earlier,
		EarlierAttempt{Attempt: s.rec.Attempt, TaskID: s.rec.TaskID, AgentURL: s.rec.AgentURL, Path: path})
	if over := len(s.rec.Earlier) - MaxEarlier; over > 0 {
		s.rec.Earlier = slices.Clone(s.rec.Earlier[over:])
	}
}

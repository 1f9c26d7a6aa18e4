package core

import (
	"cmp"
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
)

// settings are what an execution runs with: copied when it first launches, and
// held to its end (rule F7).
type settings struct {
	App app.Config  `json:"app"`
	Job jobs.Config `json:"job"`
}

// execution is one run of a job. Before its first launch it has neither
// settings nor shards.
type execution struct {
	ID     string    `json:"id"`
	Job    string    `json:"job"`
	Fire   time.Time `json:"fire"`
	Source Source    `json:"source"`
	// Made is when it began to wait: who has waited longest gets the reservation (rule L2).
	Made     time.Time `json:"made"`
	Settings *settings `json:"settings,omitempty"`
	// Overrides are what the run has instead of its job's settings, until these are copied with its first launch.
	Overrides *jobs.Overrides `json:"overrides,omitempty"`
	// Shards is empty in the stored header when Chunks is set (rule T5).
	Shards []shard `json:"shards,omitempty"`
	Chunks int     `json:"chunks,omitempty"`
	// KillReason is set when all that is left of it is to be killed (rule K1).
	KillReason string `json:"killReason,omitempty"`
	// Dropped is set when it was a fire that other fires have crowded out while it waited (rule F5).
	Dropped bool `json:"dropped,omitempty"`
	// Ended is the place in the order of ends, 0 while the execution is not over.
	Ended int64 `json:"ended,omitempty"`
	// EndedAt is when it ended by the wall clock; endedAt is the same in the time of the term.
	EndedAt time.Time `json:"endedAt,omitzero"`
	endedAt time.Time
	// LaunchedAt is when it was first launched, by the wall clock.
	LaunchedAt time.Time `json:"launchedAt,omitzero"`
	// Begun is when the first process of an attempt began that another one has followed, or will.
	Begun time.Time `json:"begun,omitzero"`

	// Not stored.
	stored       bool
	dirty        bool
	dirtyChunks  map[int]bool
	unplaced     unplaced
	launchable   bool // in executions.launchable
	launchKey    launchKey
	prepared     *prepared // what all its tasks share
	shardsOpen   int       // shards that are not terminal
	storedChunks int
	// settingsEncoded are the settings as stored; they never change.
	settingsEncoded []byte
	// ring and place are where history keeps it once it has ended.
	ring  *ring
	place *list.Element
	// outdated are the items of a daemon's shards that may run with other settings than the present ones, in order.
	outdated []int
	// unrecorded is set when its end was found in the registry and is to be recorded by this term.
	unrecorded bool
	// What was last recorded of what it waits for, when, and how often.
	waitRecorded   string
	waitRecordedAt time.Time
	waitsRecorded  int
}

// daemon reports whether it is the standing execution of a daemon job: its shards end only to be replaced, and its
// settings are always the newest (rule X8).
func (e *execution) daemon() bool { return e.Source == DaemonSource }

// reruns reports whether a lost shard is run again (rule E2).
func (e *execution) reruns() bool { return e.daemon() || e.Settings.Job.Failover }

// needs is what the present attempt of a shard takes.
func (e *execution) needs(s *shard) resources.Amount {
	if e.daemon() {
		return s.Need
	}
	return e.Settings.Job.Resources()
}

// shard is one part of an execution, with its present attempt, or its last one while it waits for another and
// when it has ended.
type shard struct {
	Item  int   `json:"i"`
	State State `json:"s"`
	// Attempt counts the attempts, the present one included.
	Attempt int `json:"a,omitempty"`
	// Type of the next or present attempt: why it was launched.
	Type Source `json:"y,omitempty"`

	attempt

	// NotBefore is the backoff of a shard that waits, WaitSince when it began to (rule F8).
	NotBefore time.Time `json:"nb,omitzero"`
	WaitSince time.Time `json:"ws,omitzero"`
	// How often attempts were refused by the master, were lost, failed and were retried, and failed to start on
	// agents (rules E1-E3, L6).
	Errors int `json:"ne,omitempty"`
	Losses int `json:"nl,omitempty"`
	Fails  int `json:"nf,omitempty"`
	Starts int `json:"ns,omitempty"`
	// Replacing is set on a daemon's shard from when it is killed for new settings until it runs well with them.
	Replacing bool `json:"rp,omitempty"`

	// encoded is the shard as it is stored, nil when it has changed since.
	encoded []byte
}

// attempt is one task of a shard, from its launch to its end. A launch makes a new one by assignment, so that
// nothing of the last one is taken for the next.
type attempt struct {
	TaskID   string `json:"t,omitempty"`
	Agent    string `json:"g,omitempty"`
	AgentURL string `json:"h,omitempty"`
	Host     string `json:"hn,omitempty"`
	// Original is the task that was lost, of an attempt by failover.
	Original string `json:"ot,omitempty"`
	Executor string `json:"x,omitempty"`
	// WorkDir is the agent's work folder and Container the executor's run: with them the absolute path of the sandbox
	// that the executor reported is made again (sandbox.go). Both are empty until it has reported one.
	WorkDir   string `json:"w,omitempty"`
	Container string `json:"c,omitempty"`
	Dir       string `json:"d,omitempty"`
	// Framework is the id that it ran under, if that is not the present one.
	Framework string `json:"f,omitempty"`

	// Since-when of everything that has a timeout (rule F8).
	Launched    time.Time `json:"la,omitzero"`
	Unreachable time.Time `json:"un,omitzero"`
	// Away is set when a master had its agent marked unreachable, and not only did not know the task.
	Away       bool      `json:"aw,omitempty"`
	EndUnclear time.Time `json:"eu,omitzero"` // rule S5
	EndState   string    `json:"es,omitempty"`
	KillSince  time.Time `json:"ks,omitzero"`  // rule K1: a wanted kill is state
	KillReason string    `json:"kr,omitempty"` // set when its task was killed by id
	RunningAt  time.Time `json:"ra,omitzero"`  // rule K4: when RUNNING was heard, kept for jobs with a timeout
	TimedOut   bool      `json:"to,omitempty"` // rule K4: its kill is wanted because it ran for too long

	// Seen is how far it was seen to go: 0 nothing, 1 staging, 2 starting, 3 running.
	Seen int `json:"sn,omitempty"`
	// Fetching is set while the last report of its executor is that it fetches the package: no process of it
	// was made yet (rule E1).
	Fetching bool   `json:"fe,omitempty"`
	UUID     []byte `json:"u,omitempty"` // of the last update that changed something

	Start    time.Time `json:"st,omitzero"`
	Complete time.Time `json:"co,omitzero"`
	Exit     *int      `json:"ex,omitempty"`
	Cause    string    `json:"ca,omitempty"`
	// Package is the checksum of the package that it ran with, as its executor reported it.
	Package string `json:"pk,omitempty"`

	// Need is what a daemon's attempt takes, Settings the fingerprint of what it was launched with, and Grace what its kills name: the
	// settings of its execution may have changed since, and a longer grace than the task's own would drain the shard (rule X12).
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
	// progress is what its program said last, or nil; nothing is decided by it (executorreports.go).
	progress *ProgressView
}

// past is what stays of an attempt that ended while its shard waits for the next: where it ran, where its
// output is, and why it ended.
func (a *attempt) past() attempt {
	return attempt{TaskID: a.TaskID, Agent: a.Agent, AgentURL: a.AgentURL, Host: a.Host, Executor: a.Executor,
		WorkDir: a.WorkDir, Container: a.Container, Dir: a.Dir, Framework: a.Framework, Cause: a.Cause, Package: a.Package}
}

const (
	seenStaging  = 1
	seenStarting = 2
	seenRunning  = 3
)

func (s State) terminal() bool {
	switch s {
	case Finished, Failed, Killed, Lost, TimedOut:
		return true
	}
	return false
}

// live reports whether a task of the shard is, or may be, on the cluster.
func (s *shard) live() bool { return s.State == Launching || s.State == Running }

func (e *execution) launched() bool { return e.Settings != nil }

// settingsOf are the job's settings as this run would have them now.
func (e *execution) settingsOf(cfg jobs.Config) jobs.Config {
	if e.Overrides == nil {
		return cfg
	}
	return e.Overrides.Apply(cfg)
}

// chunks is how many entries beside the header its shards are stored in (rule T5).
func (e *execution) chunks() int {
	if len(e.Shards) <= inlineShards {
		return 0
	}
	return (len(e.Shards) + chunkShards - 1) / chunkShards
}

// state of the execution as people see it.
func (e *execution) state() State {
	if e.ring != nil {
		return e.ring.state // final, and known without a look at all shards
	}
	if !e.launched() {
		if e.KillReason != "" {
			return Killed
		}
		return Waiting
	}
	if e.shardsOpen > 0 {
		return Running
	}
	worst := Finished
	for i := range e.Shards {
		switch e.Shards[i].State {
		case Killed:
			worst = Killed
		case Finished:
		default:
			return Failed
		}
	}
	return worst
}

// reason says in one sentence why an ended execution is not FINISHED.
func (e *execution) reason() string {
	if !e.launched() {
		return e.KillReason
	}
	var first *shard
	bad := 0
	for i := range e.Shards {
		s := &e.Shards[i]
		if s.State.terminal() && s.State != Finished && s.State != Killed {
			bad++
			if first == nil {
				first = s
			}
		}
	}
	switch {
	case e.state() == Finished:
		return "" // though a kill may have been requested
	case bad == 0:
		return cmp.Or(e.KillReason, e.killedReason())
	}
	return fmt.Sprintf("%d of %d shards did not finish; item %d: %s", bad, len(e.Shards), first.Item, first.Cause)
}

// unplaced is what the last match made of an execution of which it left shards unplaced. The zero value is for one that no
// match has looked at since something changed for it.
type unplaced struct {
	matched bool
	// never is set when no agent, even empty, can hold one shard of it.
	never bool
	// reserved is set when agents that are reserved for another execution were left out.
	reserved bool
	// why is the reason for people.
	why string
}

// launchKey orders what waits: failover first, then by fire time, then by id.
type launchKey struct {
	class int
	fire  time.Time
	id    string
}

const (
	classAgain = iota // shards of a launched execution that run again
	classReady
)

type taskRef struct {
	exec  *execution
	index int
}

func (r taskRef) shard() *shard { return &r.exec.Shards[r.index] }

// prepared is what all tasks of an execution share.
type prepared struct {
	executorKey string
	command     []string
	parameters  map[int]string
}

// prepare reads the settings of an execution once, not for each of its shards.
func (e *execution) prepare() *prepared {
	if e.prepared != nil {
		return e.prepared
	}
	line := e.Settings.App.BootstrapScript
	if own := e.Settings.Job.Props[jobs.PropScript]; own != "" {
		line = own
	}
	// Both were checked at registration. What somebody else wrote into the
	// registry is left to the executor, which says what it looked for.
	command, err := app.SplitCommand(line)
	if err != nil {
		command = []string{line}
	}
	parameters, _ := jobs.ShardingParameters(e.Settings.Job)
	e.prepared = &prepared{executorKey: executorKey(e.Settings.App), command: command, parameters: parameters}
	return e.prepared
}

// killedReason says which shards of an execution were killed though the execution as a whole was not, or "".
func (e *execution) killedReason() string {
	var first *shard
	killed := 0
	for i := range e.Shards {
		if s := &e.Shards[i]; s.State == Killed {
			killed++
			if first == nil {
				first = s
			}
		}
	}
	if killed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d shards were killed; item %d: %s", killed, len(e.Shards), first.Item, first.Cause)
}

// executorKey names the executors that can run an app's tasks: a changed
// package, script or size makes another kind, and so another generation
// (rule X1, [D14]).
func executorKey(a app.Config) string {
	text, _ := json.Marshal([]any{a.AppURL, a.AppSHA256, a.BootstrapScript, a.Resources(), a.AppCacheEnable})
	return a.AppName + "@" + fingerprint(string(text))
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// begin is when the first process of an execution began that is known, or zero.
func (e *execution) begin() time.Time {
	first := e.Begun
	for i := range e.Shards {
		if at := e.Shards[i].Start; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// complete is when the last process of an execution that ended had ended, or, if it had none, when it ended.
func (e *execution) complete() (last time.Time) {
	for i := range e.Shards {
		if s := &e.Shards[i]; !s.Start.IsZero() && s.Complete.After(last) {
			last = s.Complete
		}
	}
	if last.IsZero() {
		return e.EndedAt
	}
	return last
}

// compareLaunchKeys is by class, then by fire time, then by id.
func compareLaunchKeys(a, b launchKey) int {
	return cmp.Or(cmp.Compare(a.class, b.class), a.fire.Compare(b.fire), strings.Compare(a.id, b.id))
}

package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Shard is one part of an execution, with its present attempt; while it waits and after it has ended, with its last
// one. Its methods only read; Set owns it, and alone changes it.
type Shard struct {
	rec shardRecord
	// unrecorded is set when a former term ended it, until this term records that again with the end of its execution.
	unrecorded bool
	// encoded is the shard as it is stored, nil if it has changed since.
	encoded []byte
}

// shardRecord is the stored part of a shard. Some fields of its attempt are not stored.
type shardRecord struct {
	Item  int   `json:"i"`
	State State `json:"s"`
	// Attempt counts the attempts, including the present one.
	Attempt int `json:"a,omitempty"`
	// Type is why the present attempt was launched or the next one will be.
	Type Source `json:"y,omitempty"`

	attempt

	// Earlier are previous attempts that had output, the oldest first; while the shard waits, they include the last
	// one.
	Earlier []EarlierAttempt `json:"ea,omitempty"`

	// GivenUp is the last attempt if it was given up and may still run, until the shard is launched again.
	GivenUp *givenUp `json:"gu,omitempty"`

	// NotBefore is when the backoff of a waiting shard ends, WaitSince when it began to wait (rule F8).
	NotBefore time.Time `json:"nb,omitzero"`
	WaitSince time.Time `json:"ws,omitzero"`
	Tries
	// Replacing is set on a daemon's shard from the kill for new settings until it runs well with them.
	Replacing bool `json:"rp,omitempty"`
}

// Terminal reports whether a shard in that state has ended.
func (s State) Terminal() bool {
	switch s {
	case Finished, Failed, Killed, Lost, TimedOut:
		return true
	}
	return false
}

// Live reports whether a task of the shard is, or may be, on the cluster.
func (s *Shard) Live() bool { return s.rec.State == Launching || s.rec.State == Running }

// WaitsOnAgent reports whether the shard's task is on its agent and has not begun. WaitText is the reason.
func (s *Shard) WaitsOnAgent() bool { return s.Live() && s.rec.waitText != "" }

// TaskRef refers to a shard of an execution, and with it to its present task. The zero value refers to none.
type TaskRef struct {
	Exec  *Execution
	index int
}

// Shard returns the shard. It panics for the zero TaskRef.
func (r TaskRef) Shard() *Shard { return &r.Exec.shards[r.index] }

// ShownProgress returns the progress that the shard's task last reported, nil if it has reported none or waits for
// another attempt.
func (s *Shard) ShownProgress() *Progress { return s.rec.progress }

// ClusterState returns the state of a live shard's task on the cluster, as far as it is known.
func (s *Shard) ClusterState() cluster.State {
	switch {
	case !s.rec.Unreachable.IsZero():
		return cluster.Unreachable
	case !s.rec.KillSince.IsZero() && s.rec.Seen >= SeenStarting:
		return cluster.Killing
	case s.rec.Seen >= SeenRunning:
		return cluster.Running
	case s.rec.Seen >= SeenStarting:
		return cluster.Starting
	}
	return cluster.Staging
}

// SourceOfRun returns why the present or last attempt was launched. Its task id says so; Source is already that of the
// next attempt while the shard waits.
func (s *Shard) SourceOfRun() Source {
	if id, err := jobs.ParseTaskID(s.rec.TaskID); err == nil && id.Type == jobs.TaskFailover {
		return FailoverSource
	}
	return s.rec.Type
}

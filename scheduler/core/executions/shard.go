package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Shard is one part of an execution, with its present attempt, or its last one while it waits for another and after
// it has ended. Its methods only read; Set owns it, and alone changes it.
type Shard struct {
	rec shardRecord
	// unrecorded is set when a former term ended it, and this term records that again with the end of its execution.
	unrecorded bool
	// encoded is the shard as it is stored, nil when it has changed since.
	encoded []byte
}

// shardRecord is what is stored of a shard. Of its attempt some is not.
type shardRecord struct {
	Item  int   `json:"i"`
	State State `json:"s"`
	// Attempt counts the attempts, the present one included.
	Attempt int `json:"a,omitempty"`
	// Type of the next or present attempt: why it was launched.
	Type Source `json:"y,omitempty"`

	attempt

	// Earlier are attempts before that had output, the oldest first, and the last one while the shard waits for
	// another.
	Earlier []EarlierAttempt `json:"ea,omitempty"`

	// NotBefore is the backoff of a shard that waits, WaitSince when it began to (rule F8).
	NotBefore time.Time `json:"nb,omitzero"`
	WaitSince time.Time `json:"ws,omitzero"`
	Tries
	// Replacing is set on a daemon's shard from when it is killed for new settings until it runs well with them.
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

// WaitsOnAgent reports whether the shard's task is on its agent, which says what keeps it from beginning (Waits).
func (s *Shard) WaitsOnAgent() bool { return s.Live() && s.rec.waits != "" }

// TaskRef names a shard of an execution, and with it its present task. The zero value names none.
type TaskRef struct {
	Exec  *Execution
	index int
}

// Shard is the shard that it names. It panics for the zero TaskRef.
func (r TaskRef) Shard() *Shard { return &r.Exec.shards[r.index] }

// ShownProgress is the progress that the shard's task last reported, nil for none or if no task is on the cluster.
func (s *Shard) ShownProgress() *Progress {
	if !s.Live() {
		return nil
	}
	return s.rec.progress
}

// ClusterState is the state of a live shard's task on the cluster, as far as it is known.
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

// SourceOfRun is why the present or last attempt was launched, as its task id says: Type is already that of the next
// one while the shard waits.
func (s *Shard) SourceOfRun() Source {
	if id, err := jobs.ParseTaskID(s.rec.TaskID); err == nil && id.Type == jobs.TaskFailover {
		return FailoverSource
	}
	return s.rec.Type
}

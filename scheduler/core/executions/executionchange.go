package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// Change is something that has happened to an execution, or to one of its shards, and that other parts of the core
// follow: what is recorded, counted, accounted, sent and reported depends on changes alone (core/consequences.go).
// Only transitions make them.
type Change struct {
	Kind ChangeKind
	Exec *Execution
	// Index is the item of the shard, for kinds that are about one.
	Index int
	// Why is why a kill is wanted, a task ends or an execution waits, and At when the shard may be launched again.
	Why reason.Reason
	At  time.Time
	// State is the state that an attempt is recorded with, or with which its shard has ended.
	State State
	// Failed is set if the attempt failed by itself, or its shard with it.
	Failed bool
	// Send is set if a kill is to be sent, and not only its reason has changed.
	Send bool
}

// ChangeKind says what has happened.
type ChangeKind int

const (
	// ExecutionMade means that an execution was opened.
	ExecutionMade ChangeKind = iota
	// ExecutionLaunched means that it has settings and shards, of which the first are about to be launched.
	ExecutionLaunched
	// ExecutionWaits means that shards of it are unplaced, because of Why.
	ExecutionWaits
	// ExecutionKilled means that the rest of it is to end, because of Why.
	ExecutionKilled
	// ExecutionEnded means that it has ended, and is in no queue any more.
	ExecutionEnded
	// TaskLaunched means that a shard has a new attempt.
	TaskLaunched
	// TaskRuns means that the attempt was reported running.
	TaskRuns
	// TaskKillWanted means that its kill is wanted. Why is the reason of this task alone, none if its execution ends
	// or it exceeded its timeout.
	TaskKillWanted
	// AttemptEnds means that its attempt ends, as State; the shard is still unchanged.
	AttemptEnds
	// ShardRequeued means that a shard whose attempt has ended gets another one, not before At. It still has the
	// last one.
	ShardRequeued
	// ShardEnded means that a shard has ended with its attempt, as State.
	ShardEnded
)

// Ref names the shard that the change is about, for kinds that are about one.
func (c Change) Ref() TaskRef { return TaskRef{c.Exec, c.Index} }

package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// Change is a change of an execution, or of one of its shards, that other parts of the core follow: records, counts,
// accounts, calls and notifications depend on changes alone (core/consequences.go). Only transitions make them.
type Change struct {
	Kind ChangeKind
	Exec *Execution
	// Index is the item of the shard, for kinds that concern one shard.
	Index int
	// Why is the reason why a kill is wanted, a task ends or an execution waits. At is when the shard may be launched
	// again.
	Why reason.Reason
	At  time.Time
	// State is the state with which an attempt is recorded, or with which its shard has ended.
	State State
	// Failed is set if the attempt failed by itself, or its shard with it.
	Failed bool
	// Send is set if a kill is to be sent; it is not if only the reason of the kill has changed.
	Send bool
}

// ChangeKind is the kind of a Change.
type ChangeKind int

const (
	// ExecutionCreated means that an execution was opened.
	ExecutionCreated ChangeKind = iota
	// ExecutionLaunched means that it has settings and shards; its first shards are about to be launched.
	ExecutionLaunched
	// ExecutionUnplaced means that shards of it are unplaced, because of Why.
	ExecutionUnplaced
	// ExecutionKilled means that the rest of it is to end, because of Why.
	ExecutionKilled
	// ExecutionEnded means that it has ended, and has left its queue.
	ExecutionEnded
	// TaskLaunched means that a shard has a new attempt.
	TaskLaunched
	// TaskRunning means that the attempt was reported running.
	TaskRunning
	// TaskKillRequested means that the kill of the attempt's task is wanted. Why is the reason of this task alone,
	// none if its execution ends or it exceeded its timeout.
	TaskKillRequested
	// AttemptEnding means that the attempt ends with State; the shard is still unchanged.
	AttemptEnding
	// ShardRequeued means that a shard whose attempt has ended gets another one, not before At. It still refers to the
	// last one.
	ShardRequeued
	// ShardEnded means that a shard has ended with its attempt, with State.
	ShardEnded
)

// Ref names the shard that the change is about, for kinds that are about one.
func (c Change) Ref() TaskRef { return TaskRef{c.Exec, c.Index} }

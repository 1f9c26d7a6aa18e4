package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// Change is a change of an execution or of one of its shards. Records, counts, accounts, calls and notifications
// depend on changes alone (core/consequences.go). Only transitions make them.
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
	// Failed is set if the attempt failed by itself, and if its shard ended by such a failure.
	Failed bool
	// Send is set if a kill must be sent. It is unset if only the reason of the kill has changed.
	Send bool
}

// ChangeKind is the kind of a Change.
type ChangeKind int

const (
	// ExecutionCreated means that an execution was opened.
	ExecutionCreated ChangeKind = iota
	// ExecutionLaunched means that the execution has got settings and shards. Its first shards are about to be
	// launched.
	ExecutionLaunched
	// ExecutionUnplaced means that the execution has unplaced shards, because of Why.
	ExecutionUnplaced
	// ExecutionKilled means that the shards that have not ended must end, because of Why.
	ExecutionKilled
	// ExecutionEnded means that the execution has ended and has left its queue.
	ExecutionEnded
	// ExecutionReopened means that an execution that had ended is open again, because one of its shards takes an
	// attempt back.
	ExecutionReopened
	// TaskLaunched means that a shard has a new attempt.
	TaskLaunched
	// TaskRunning means that the attempt was reported running.
	TaskRunning
	// TaskReturned means that a shard has taken back an attempt that was given up.
	TaskReturned
	// TaskKillRequested means that the attempt's task must be killed. Why is the reason if the kill concerns this task
	// alone. It is zero if the execution is killed or the task exceeded its timeout.
	TaskKillRequested
	// AttemptEnding means that the attempt ends with State; the shard is still unchanged.
	AttemptEnding
	// ShardRequeued means that a shard whose attempt has ended gets another attempt, not before At. The shard still
	// describes the ended attempt.
	ShardRequeued
	// ShardEnded means that a shard has ended with its attempt, with State.
	ShardEnded
)

// Ref names the shard of the change, for kinds that concern one shard.
func (c Change) Ref() TaskRef { return TaskRef{c.Exec, c.Index} }

package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
)

// change is something that has happened to an execution, or to one of its shards, of which other parts of the core must
// hear: what is recorded, counted, accounted, sent and reported follows from changes alone (consequences.go). Transitions
// make them, and nothing else does.
type Change struct {
	Kind ChangeKind
	Exec *Execution
	// index is that of the shard, for kinds that are about one.
	Index int
	// why says why a kill is wanted, or why a task ended, and at when the shard may be launched again.
	Why reason.Reason
	At  time.Time
	// state is the one that an attempt is recorded with, or that its shard has ended as.
	State State
	// failed is set when the attempt failed by itself, or its shard with it.
	Failed bool
	// send is set when a kill is to be sent, and not only its reason is another.
	Send bool
}

// ChangeKind says what has happened.
type ChangeKind int

const (
	// executionMade: an execution was opened.
	ExecutionMade ChangeKind = iota
	// executionLaunched: it has settings and shards, of which the first are about to be launched.
	ExecutionLaunched
	// ExecutionWaits: the last match has left shards of it unplaced, because of Why.
	ExecutionWaits
	// executionKilled: all that is left of it is to end, because of why.
	ExecutionKilled
	// executionEnded: it has ended, and is in no queue any more.
	ExecutionEnded
	// taskLaunched: a shard has a new attempt.
	TaskLaunched
	// taskRuns: it was reported running.
	TaskRuns
	// taskKillWanted: its end is wanted. why is that of this task alone, none where its execution ends or it ran for
	// too long.
	TaskKillWanted
	// taskEnds: its attempt ends; the shard still is as it was.
	TaskEnds
	// shardRequeued: a shard whose attempt has ended is to have another one, at the time at. It still has the last one.
	ShardRequeued
	// taskEnded: a shard has ended with its attempt.
	TaskEnded
)

func (c Change) Ref() TaskRef { return TaskRef{c.Exec, c.Index} }

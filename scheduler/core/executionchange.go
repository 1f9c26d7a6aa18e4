package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
)

// change is something that has happened to an execution, or to one of its shards, of which other parts of the core must
// hear: what is recorded, counted, accounted, sent and reported follows from changes alone (consequences.go). Transitions
// make them, and nothing else does.
type change struct {
	kind changeKind
	exec *execution
	// index is that of the shard, for kinds that are about one.
	index int
	// why says why a kill is wanted, or why a task ended, and at when the shard may be launched again.
	why reason.Reason
	at  time.Time
	// state is the one that an attempt is recorded with, or that its shard has ended as.
	state State
	// failed is set when the attempt failed by itself, or its shard with it.
	failed bool
	// send is set when a kill is to be sent, and not only its reason is another.
	send bool
}

// changeKind says what has happened.
type changeKind int

const (
	// executionMade: an execution was opened.
	executionMade changeKind = iota
	// executionLaunched: it has settings and shards, of which the first are about to be launched.
	executionLaunched
	// executionKilled: all that is left of it is to end, because of why.
	executionKilled
	// executionEnded: it has ended, and is in no queue any more.
	executionEnded
	// taskLaunched: a shard has a new attempt.
	taskLaunched
	// taskRuns: it was reported running.
	taskRuns
	// taskKillWanted: its end is wanted. why is that of this task alone, none where its execution ends or it ran for
	// too long.
	taskKillWanted
	// taskEnds: its attempt ends; the shard still is as it was.
	taskEnds
	// shardRequeued: a shard whose attempt has ended is to have another one, at the time at. It still has the last one.
	shardRequeued
	// taskEnded: a shard has ended with its attempt.
	taskEnded
)

func (c change) ref() taskRef { return taskRef{c.exec, c.index} }

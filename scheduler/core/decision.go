package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Decision is what a step decided. Writes come first, in one commit, which is all or nothing, before anything else
// leaves (write, then act; rule T5).
type Decision struct {
	Writes []registry.Write
	// Fenced is set when a fenced commit must come before the calls even if there is
	// nothing to write (rule T6).
	Fenced bool
	// Change, if not empty, is the change of configuration that was requested. It is committed alone, after all else
	// has left; then ChangeCommitted tells the core, or the caller answers the request (rule T4).
	Change []registry.Write
	// History is what is recorded of the step, true when Writes are committed. Its Number is 0 when there is nothing.
	History event.Batch
	// Calls go to the present session, in this order; calls of different kinds
	// may overtake each other.
	Calls []step.Call
	// Replies answer requests, after the commit.
	Replies []Reply
	// Notes are what happened, for log and history.
	Notes []step.Note
	// Notifications are what people are to be told, after the commit: one message under way for each job.
	Notifications []notifications.Notification
	// Changed is what people see otherwise from now on, once Writes are committed.
	Changed step.Changed
	// Wake is when the core wants to step again even if nothing happens, as a Now's Elapsed; 0 is for never.
	Wake time.Duration
	// Drained is set when, after Drain, no task and no executor of this framework is left on the cluster.
	Drained bool
}

// Reply answers the request with the token.
type Reply struct {
	Token       uint64
	ExecutionID string
	App         views.AppView
	Job         views.JobView
	Err         *problem.Error
}

func (c *Core) reply(r Reply) { c.decision.Replies = append(c.decision.Replies, r) }

package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Decision is the result of a step. Writes are committed first, in one commit that succeeds or fails as a whole,
// before anything else leaves (write, then act; rule T5).
type Decision struct {
	Writes []registry.Write
	// Fenced is set when a fenced commit must come before the calls, even if there is nothing to write (rule T6).
	Fenced bool
	// Change, if not empty, has the writes of a requested change of configuration. It is committed alone, after
	// everything else has left; then ChangeCommitted reports it to the core, or the caller answers the request (rule
	// T4).
	Change []registry.Write
	// History is the batch of rows that the step records; they are true once Writes are committed. Its Number is 0 if
	// there is none.
	History event.Batch
	// Calls go to the present session, in this order. Calls of different kinds may overtake each other.
	Calls []step.Call
	// Replies answer requests, after the commit.
	Replies []Reply
	// Notes are for the log.
	Notes []step.Note
	// Notifications are the messages to send to people after the commit, at most one at a time for each job.
	Notifications []notifications.Notification
	// Changed names the views that differ once Writes are committed.
	Changed step.Changed
	// Wake is when the core needs the next step even if nothing happens, as an Elapsed of clock.Now; 0 means never.
	Wake time.Duration
	// Drained is set when, after Drain, no task and no executor of this framework is left on the cluster.
	Drained bool
}

// Reply answers the request with its Token. The request determines which of the other fields are set.
type Reply struct {
	Token       uint64
	ExecutionID string
	App         views.AppView
	Job         views.JobView
	Machine     views.MachineView
	// AttemptsOver is how many attempts are over because their machine was declared dead.
	AttemptsOver int
	Err          *problem.Error
	Lease        *lease.Answer // nil if the request was a copy
	LeaseSecret  []byte
}

func (c *Core) reply(r Reply) { c.decision.Replies = append(c.decision.Replies, r) }

package operator

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TriggerRequested is a request for an execution now. The reply has its id or a *problem.Error.
type TriggerRequested struct {
	Job string
	// Key, if not empty, makes the request idempotent: the same key of the same job gives the same execution.
	Key string
	// Overrides replace the job's settings for this execution.
	Overrides jobs.Overrides
	// RerunOf, if not empty, is the id of an execution to run again; Job and Overrides are then taken from it. NoEnv
	// means that the caller may not set an env: an execution with an env of its own is then refused.
	RerunOf string
	NoEnv   bool
	Actor   event.Actor
}

// CoreEvent marks TriggerRequested as an event of a step.
func (TriggerRequested) CoreEvent() {}

// ForgetRequested is an operator's statement that an orphan has ended (rule E5), or an unreachable exclusive task
// without a lease (rule K5).
type ForgetRequested struct {
	TaskID string
	Actor  event.Actor
}

// CoreEvent marks ForgetRequested as an event of a step.
func (ForgetRequested) CoreEvent() {}

// CordonRequested is a request to place nothing new on a machine from now on. The reply has the machine's view or a
// *problem.Error.
type CordonRequested struct {
	// Machine is the host name of the machine, or the id of one of its agents.
	Machine string
	// Reason is the requester's text, and Until when the cordon ends by itself, by the wall clock; zero for never.
	Reason string
	Until  time.Time
	// Force allows a host name without a known agent.
	Force bool
	Actor event.Actor
}

// CoreEvent marks CordonRequested as an event of a step.
func (CordonRequested) CoreEvent() {}

// UncordonRequested is a request to end the cordon of a machine. The reply has the machine's view or a *problem.Error.
type UncordonRequested struct {
	// Machine is the host name of the machine, or the id of one of its agents.
	Machine string
	Actor   event.Actor
}

// CoreEvent marks UncordonRequested as an event of a step.
func (UncordonRequested) CoreEvent() {}

// DrainRequested is a request to empty a machine: it is cordoned, and its tasks move or end (rule M3). The reply has
// the machine's view or a *problem.Error.
type DrainRequested struct {
	CordonRequested
	// After is when the remaining tasks are stopped, counted from now; 0 for never.
	After time.Duration
}

// DeadRequested is an operator's statement that a machine will never come back and that nothing runs there any more
// (rule M2). The reply has the machine's view and how many attempts were ended, or a *problem.Error.
type DeadRequested struct {
	// Machine is the host name of the machine, or the id of one of its agents.
	Machine string
	// Reason is the requester's text, which may be "".
	Reason string
	// Force accepts the statement even if the machine was heard a moment ago.
	Force bool
	Actor event.Actor
}

// CoreEvent marks DeadRequested as an event of a step.
func (DeadRequested) CoreEvent() {}

// KillRequested is a request to end a task or an execution: exactly one of TaskID and ExecutionID is set. The reply
// has a *problem.Error if there is nothing to end.
type KillRequested struct {
	TaskID, ExecutionID string
	Actor               event.Actor
}

// CoreEvent marks KillRequested as an event of a step.
func (KillRequested) CoreEvent() {}

// PauseRequested is a request to pause a job, or with Paused false to resume it (rule F10). The reply has the job's
// view or a *problem.Error.
type PauseRequested struct {
	Job    string
	Paused bool
	Actor  event.Actor
}

// CoreEvent marks PauseRequested as an event of a step.
func (PauseRequested) CoreEvent() {}

// ReconcileRequested is a request to reconcile now: explicitly, by naming all live tasks and orphans, or implicitly,
// which asks for all tasks that the master knows. The reply has a *problem.Error without a subscription.
type ReconcileRequested struct {
	Explicit bool
	Actor    event.Actor
}

// CoreEvent marks ReconcileRequested as an event of a step.
func (ReconcileRequested) CoreEvent() {}

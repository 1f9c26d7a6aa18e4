package operator

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TriggerRequested is a request for an execution now. The reply with the same Token has its id or a *problem.Error.
type TriggerRequested struct {
	Token uint64
	Job   string
	// Key, if not empty, makes the request idempotent: the same key of the same job gives the same execution.
	Key string
	// Overrides replace the job's settings for this execution.
	Overrides jobs.Overrides
	// RerunOf, if not empty, is the id of an execution to run again; Job and Overrides are then taken from it. NoEnv
	// refuses an execution with an env of its own, for a caller who may not set one.
	RerunOf string
	NoEnv   bool
	Actor   event.Actor
}

// CoreEvent marks TriggerRequested as an event of a step.
func (TriggerRequested) CoreEvent() {}

// RequestToken returns the Token that the reply will have.
func (e TriggerRequested) RequestToken() uint64 { return e.Token }

// ForgetRequested is an operator's statement that an orphan has ended (rule E5).
type ForgetRequested struct {
	Token  uint64
	TaskID string
	Actor  event.Actor
}

// CoreEvent marks ForgetRequested as an event of a step.
func (ForgetRequested) CoreEvent() {}

// RequestToken returns the Token that the reply will have.
func (e ForgetRequested) RequestToken() uint64 { return e.Token }

// KillRequested is a request to end a task or an execution: exactly one of TaskID and ExecutionID is set. The reply
// has a *problem.Error if there is nothing to end.
type KillRequested struct {
	Token               uint64
	TaskID, ExecutionID string
	Actor               event.Actor
}

// CoreEvent marks KillRequested as an event of a step.
func (KillRequested) CoreEvent() {}

// RequestToken returns the Token that the reply will have.
func (e KillRequested) RequestToken() uint64 { return e.Token }

// PauseRequested is a request to pause a job, or with Paused false to resume it (rule F10). The reply has the job's
// view or a *problem.Error.
type PauseRequested struct {
	Token  uint64
	Job    string
	Paused bool
	Actor  event.Actor
}

// CoreEvent marks PauseRequested as an event of a step.
func (PauseRequested) CoreEvent() {}

// RequestToken returns the Token that the reply will have.
func (e PauseRequested) RequestToken() uint64 { return e.Token }

// ReconcileRequested is a request to reconcile now: explicitly, by naming all live tasks, or implicitly, which asks
// for all tasks that the master knows. The reply has a *problem.Error without a subscription.
type ReconcileRequested struct {
	Token    uint64
	Explicit bool
	Actor    event.Actor
}

// CoreEvent marks ReconcileRequested as an event of a step.
func (ReconcileRequested) CoreEvent() {}

// RequestToken returns the Token that the reply will have.
func (e ReconcileRequested) RequestToken() uint64 { return e.Token }

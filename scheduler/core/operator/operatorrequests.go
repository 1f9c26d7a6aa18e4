package operator

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TriggerRequested asks for an execution now. The reply with the same token has
// its id or an *Error.
type TriggerRequested struct {
	Token uint64
	Job   string
	// Key, if not empty, makes the request idempotent: the same key of the same
	// job gives the same execution.
	Key string
	// Overrides are settings that hold for this execution instead of the job's.
	Overrides jobs.Overrides
	// Again, if not empty, is the execution that is run again: Job and Overrides are then its own. NoEnv refuses one with an env of its own.
	Again string
	NoEnv bool
	Actor event.Actor
}

// CoreEvent marks an event.
func (TriggerRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e TriggerRequested) RequestToken() uint64 { return e.Token }

// ForgetRequested is an operator's word that an orphan has ended (rule E5).
type ForgetRequested struct {
	Token  uint64
	TaskID string
	Actor  event.Actor
}

// CoreEvent marks an event.
func (ForgetRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e ForgetRequested) RequestToken() uint64 { return e.Token }

// KillRequested asks for the end of a task, or of an execution: one of the two is named. The reply is an *Error when
// there is nothing to end.
type KillRequested struct {
	Token               uint64
	TaskID, ExecutionID string
	Actor               event.Actor
}

// CoreEvent marks an event.
func (KillRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e KillRequested) RequestToken() uint64 { return e.Token }

// PauseRequested asks for a job's pause, or for the end of it (rule F10). The reply is the job's view, or an *Error.
type PauseRequested struct {
	Token  uint64
	Job    string
	Paused bool
	Actor  event.Actor
}

// CoreEvent marks an event.
func (PauseRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e PauseRequested) RequestToken() uint64 { return e.Token }

// ReconcileRequested asks for reconciliation now: of all live tasks, or, not explicit, of
// all that the master knows. The reply is an *Error without a session.
type ReconcileRequested struct {
	Token    uint64
	Explicit bool
	Actor    event.Actor
}

// CoreEvent marks an event.
func (ReconcileRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e ReconcileRequested) RequestToken() uint64 { return e.Token }

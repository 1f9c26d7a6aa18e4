package core

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Event is something that happened outside of the core: one of the types below, or of package config.
type Event = step.Event

// Request is an event that somebody waits for: a Reply with its token answers it, unless the term ends before.
type Request interface {
	Event
	RequestToken() uint64
}

// ChangeRequested asks for a change of configuration. At most one may be among the events of a step. The reply is an
// *Error, or, after ChangeCommitted, the view of what has changed, or of what was removed as it was.
type ChangeRequested struct {
	Token  uint64
	Change config.Change
	// Actor is who asks, here and in the other requests: the audit row says it (rule A1).
	Actor event.Actor
}

// ChangeCommitted reports that Decision.Change of the request with that token was committed.
type ChangeCommitted struct{ Token uint64 }

// Drain asks for the end of everything on the cluster (rule O4): nothing new
// is launched, tasks are killed and count as lost by shutdown.
type Drain struct{}

// SessionBegan is the SUBSCRIBED that answers a SUBSCRIBE. Session
// counts subscriptions and is never used again.
type SessionBegan struct {
	Session  int64
	MasterID string
}

// SessionEnded is the end of a subscription, or of the attempt to make one.
type SessionEnded struct {
	Session int64
	Reason  string
	// Removed: the master knows the framework id as torn down (rule T7).
	Removed bool
}

// MasterChanged reports that another master leads than the one that was tried last: the next
// attempt need not wait.
type MasterChanged struct {
	// Session is the one that ended, or could not begin.
	Session int64
}

// ClusterEvent is an event of a session, in the session's order.
type ClusterEvent struct {
	Session int64
	Event   cluster.Event
}

// LaunchAnswered is the outcome of an ACCEPT. OK: answered 202, the master has it.
// Not OK: it was refused and had no effect. An unknown outcome is never reported:
// the session ends instead (rule L3).
type LaunchAnswered struct {
	Session int64
	Seq     int64
	OK      bool
	Message string
}

func (ChangeRequested) CoreEvent() {}
func (ChangeCommitted) CoreEvent() {}
func (Drain) CoreEvent()           {}
func (SessionBegan) CoreEvent()    {}
func (SessionEnded) CoreEvent()    {}
func (MasterChanged) CoreEvent()   {}
func (ClusterEvent) CoreEvent()    {}
func (LaunchAnswered) CoreEvent()  {}

// RequestToken is the token of the reply.
func (e ChangeRequested) RequestToken() uint64 { return e.Token }

// HistoryStored says that the first so many batches of this term, counted from 1, are in the history for good.
type HistoryStored struct{ Batches int64 }

func (HistoryStored) CoreEvent() {}

// AuditRequested hands in rows of changes that were made beside the core, such as of users. Rows have ids, by which
// one that comes twice stands once. The reply has nothing.
type AuditRequested struct {
	Token uint64
	Rows  []event.Audit
}

func (AuditRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e AuditRequested) RequestToken() uint64 { return e.Token }

// HistoryTerm is the number by which the history knows this term. It may be asked for concurrently once Load has
// returned.
func (c *Core) HistoryTerm() int64 { return c.recording.Term() }

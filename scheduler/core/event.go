package core

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Event is something that happened outside of the core: one of the types below, or of package config.
type Event = step.Event

// Request is a request of a user: a ChangeRequested, an AuditRequested or a request of package operator. A Reply with
// the same Token answers it, unless the term ends before.
type Request struct {
	Token uint64
	Event Event
}

// ChangeRequested requests a change of configuration. A step may have at most one among its events. The reply has a
// *problem.Error or, after ChangeCommitted, the view of the changed object. For a removed object it has the last view.
type ChangeRequested struct {
	Change config.Change
	// Actor is the requester, whom the audit row names (rule A1).
	Actor event.Actor
}

// ChangeCommitted reports that Decision.Change of the request with that token was committed.
type ChangeCommitted struct{ Token uint64 }

// Drain requests the end of everything on the cluster (rule O4): nothing new is launched, tasks are killed and count
// as lost by shutdown, and executors are shut down.
type Drain struct{}

// SessionBegan is the SUBSCRIBED that answers a SUBSCRIBE. Session counts subscriptions; a number is never used again.
type SessionBegan struct {
	Session  int64
	MasterID string
}

// SessionEnded is the end of a subscription, or of the attempt to open one.
type SessionEnded struct {
	Session int64
	Reason  string
	// Removed means that the master has removed the framework id (rule T7).
	Removed bool
}

// MasterChanged reports that another master leads than the one that was tried last, so that the next attempt to
// subscribe need not wait.
type MasterChanged struct {
	// Session is the session that ended, or could not begin.
	Session int64
}

// ClusterEvent is an event of a session. The events of a session come in the order in which the cluster sent them.
type ClusterEvent struct {
	Session int64
	Event   cluster.Event
}

// LaunchAnswered is the outcome of the ACCEPT with number Seq. With OK the master has accepted it (202). Without OK
// the master has refused it, and it had no effect; Message says why. An unknown outcome is never reported: the session
// ends instead (rule L3).
type LaunchAnswered struct {
	Session int64
	Seq     int64
	OK      bool
	Message string
}

func (Request) CoreEvent()         {}
func (ChangeRequested) CoreEvent() {}
func (ChangeCommitted) CoreEvent() {}
func (Drain) CoreEvent()           {}
func (SessionBegan) CoreEvent()    {}
func (SessionEnded) CoreEvent()    {}
func (MasterChanged) CoreEvent()   {}
func (ClusterEvent) CoreEvent()    {}
func (LaunchAnswered) CoreEvent()  {}

// HistoryStored reports that the first Batches batches of this term, counted from 1, are permanently in the history.
type HistoryStored struct{ Batches int64 }

func (HistoryStored) CoreEvent() {}

// LeaseRequested is a holder's request for leases, whose signature was checked (rule K5). The reply has the answer. It
// may be sent only after the registry has confirmed the term.
type LeaseRequested struct{ Request lease.Request }

// CoreEvent marks LeaseRequested as an event of a step.
func (LeaseRequested) CoreEvent() {}

// LeaseSecretRequested asks for the secret of leases, with which the signatures of requests are checked. The reply has
// none until the first exclusive task is launched. From then on the secret never changes.
type LeaseSecretRequested struct{}

// CoreEvent marks LeaseSecretRequested as an event of a step.
func (LeaseSecretRequested) CoreEvent() {}

// AuditRequested adds audit rows about changes that were made outside of the core, such as changes of users. Its rows
// have ids, so that a repeated row is kept once. The reply is empty.
type AuditRequested struct {
	Rows []event.Audit
}

func (AuditRequested) CoreEvent() {}

// HistoryTerm returns the number of this term in the history. It may be called concurrently once Load has returned.
func (c *Core) HistoryTerm() int64 { return c.recording.Term() }

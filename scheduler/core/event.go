package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/registry"
)

// Event is something that happened outside of the core: one of the types below.
type Event interface{ coreEvent() }

// AppChanged is a committed change of an app's document or disabled mark (rule T4).
type AppChanged struct {
	Name string
	// Config is nil when the app was deleted.
	Config   *app.Config
	Version  int64
	Disabled bool
	// Notes are hints about a document that somebody else wrote.
	Notes []string
	// Bytes is the size of the document as it is stored.
	Bytes int
	// MarkOnly: the document did not change, only its disabled mark. Bytes is not said then.
	MarkOnly bool
}

// JobChanged is a committed change of a job's document or disabled mark (rule T4).
type JobChanged struct {
	Name string
	// Config is nil when the job was deregistered.
	Config   *jobs.Config
	Version  int64
	Disabled bool
	// Shutdown is set with Disabled when what was launched runs to its end (rule F11).
	Shutdown bool
	// Notes are hints about a document that somebody else wrote.
	Notes []string
	// Bytes is the size of the document as it is stored.
	Bytes int
	// MarkOnly: the document did not change, only its disabled mark. Bytes is not said then.
	MarkOnly bool
}

// MarkChanged is an external edit that has set or removed the disabled mark at
// Path (rule F6).
type MarkChanged struct {
	Path     string
	Disabled bool
	// Shutdown is set with Disabled when what was launched runs to its end (rule F11).
	Shutdown bool
}

// DocumentFaulty is an external edit that has left a document that can't be
// used. The last good one stays in force; the next change replaces it.
type DocumentFaulty struct {
	Path    string
	Why     reason.Reason
	Version int64
}

// Request is an event that somebody waits for: a Reply with its token answers it, unless the term ends before.
type Request interface {
	Event
	RequestToken() uint64
}

// ChangeRequested asks for a change of configuration. At most one may be among the events of a step. The reply is an *Error, or,
// after ChangeCommitted, the view of what has changed, or of what was removed as it was.
type ChangeRequested struct {
	Token  uint64
	Change Change
	// Actor is who asks, here and in the other requests: the audit row says it (rule A1).
	Actor event.Actor
}

// ChangeCommitted reports that Decision.Change of the request with that token was committed.
type ChangeCommitted struct{ Token uint64 }

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

// ForgetRequested is an operator's word that an orphan has ended (rule E5).
type ForgetRequested struct {
	Token  uint64
	TaskID string
	Actor  event.Actor
}

// KillRequested asks for the end of a task, or of an execution: one of the two is named. The reply is an *Error when
// there is nothing to end.
type KillRequested struct {
	Token               uint64
	TaskID, ExecutionID string
	Actor               event.Actor
}

// PauseRequested asks for a job's pause, or for the end of it (rule F10). The reply is the job's view, or an *Error.
type PauseRequested struct {
	Token  uint64
	Job    string
	Paused bool
	Actor  event.Actor
}

// ReconcileRequested asks for reconciliation now: of all live tasks, or, not explicit, of
// all that the master knows. The reply is an *Error without a session.
type ReconcileRequested struct {
	Token    uint64
	Explicit bool
	Actor    event.Actor
}

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

func (AppChanged) coreEvent()         {}
func (JobChanged) coreEvent()         {}
func (MarkChanged) coreEvent()        {}
func (ChangeRequested) coreEvent()    {}
func (ChangeCommitted) coreEvent()    {}
func (ReconcileRequested) coreEvent() {}
func (DocumentFaulty) coreEvent()     {}
func (TriggerRequested) coreEvent()   {}
func (ForgetRequested) coreEvent()    {}
func (KillRequested) coreEvent()      {}
func (PauseRequested) coreEvent()     {}
func (Drain) coreEvent()              {}
func (SessionBegan) coreEvent()       {}
func (SessionEnded) coreEvent()       {}
func (MasterChanged) coreEvent()      {}
func (ClusterEvent) coreEvent()       {}
func (LaunchAnswered) coreEvent()     {}

// RequestToken is the token of the reply.
func (e ChangeRequested) RequestToken() uint64 { return e.Token }

// RequestToken is the token of the reply.
func (e TriggerRequested) RequestToken() uint64 { return e.Token }

// RequestToken is the token of the reply.
func (e ForgetRequested) RequestToken() uint64 { return e.Token }

// RequestToken is the token of the reply.
func (e KillRequested) RequestToken() uint64 { return e.Token }

// RequestToken is the token of the reply.
func (e PauseRequested) RequestToken() uint64 { return e.Token }

// RequestToken is the token of the reply.
func (e ReconcileRequested) RequestToken() uint64 { return e.Token }

// Decision is what a step decided. Writes come first, in one commit, which is all or nothing, before anything else leaves
// (write, then act; rule T5).
type Decision struct {
	Writes []registry.Write
	// Fenced is set when a fenced commit must come before the calls even if there is
	// nothing to write (rule T6).
	Fenced bool
	// Change, if not empty, is the change of configuration that was requested. It is committed alone, after all else has left;
	// then ChangeCommitted tells the core, or the caller answers the request (rule T4).
	Change []registry.Write
	// History is what is recorded of the step, true when Writes are committed. Its Number is 0 when there is nothing.
	History event.Batch
	// Calls go to the present session, in this order; calls of different kinds
	// may overtake each other.
	Calls []Call
	// Replies answer requests, after the commit.
	Replies []Reply
	// Notes are what happened, for log and history.
	Notes []Note
	// Notifications are what people are to be told, after the commit: one message under way for each job.
	Notifications []Notification
	// Changed is what people see otherwise from now on, once Writes are committed.
	Changed Changed
	// Wake is when the core wants to step again even if nothing happens, as a Now's Elapsed; 0 is for never.
	Wake time.Duration
	// Drained is set when, after Drain, no task and no executor of this framework is left on the cluster.
	Drained bool
}

// Call is one call to the cluster: one of the types below.
type Call interface{ coreCall() }

// CallSubscribe opens a session with this number (rule T6).
type CallSubscribe struct {
	Session     int64
	FrameworkID string
}

// CallLaunch launches tasks; LaunchAnswered with the same Seq is its outcome.
type CallLaunch struct {
	Seq    int64
	Launch cluster.Launch
}

// CallDecline gives offers back.
type CallDecline struct {
	Offers []string
	Refuse time.Duration
}

// CallKill asks for a task's end.
type CallKill struct{ Kill cluster.Kill }

// CallEndExecutor ends an executor.
type CallEndExecutor struct{ ExecutorID, AgentID string }

// CallReconcile asks for the state of tasks, of all when Tasks is empty.
type CallReconcile struct{ Tasks []cluster.TaskRef }

// CallAcknowledge acknowledges a status update.
type CallAcknowledge struct{ Ack cluster.Ack }

// CallRequestOffers and CallStopOffers ask for offers and for none.
type CallRequestOffers struct{}

// CallStopOffers asks for no offers.
type CallStopOffers struct{}

func (CallSubscribe) coreCall()     {}
func (CallLaunch) coreCall()        {}
func (CallDecline) coreCall()       {}
func (CallKill) coreCall()          {}
func (CallEndExecutor) coreCall()   {}
func (CallReconcile) coreCall()     {}
func (CallAcknowledge) coreCall()   {}
func (CallRequestOffers) coreCall() {}
func (CallStopOffers) coreCall()    {}

// Reply answers the request with the token.
type Reply struct {
	Token       uint64
	ExecutionID string
	App         AppView
	Job         JobView
	Err         *Error
}

// NoteKind says what a Note is about.
type NoteKind string

// Kinds of notes.
const (
	NoteFireDropped     NoteKind = "fire dropped"
	NoteFiresMissed     NoteKind = "fires missed"
	NoteExecutionMade   NoteKind = "execution made"
	NoteExecutionEnded  NoteKind = "execution ended"
	NoteTaskLaunched    NoteKind = "task launched"
	NoteTaskEnded       NoteKind = "task ended"
	NoteShardRequeued   NoteKind = "shard requeued"
	NoteRunFailed       NoteKind = "daemon's run failed"
	NoteTaskUnreachable NoteKind = "task unreachable"
	NoteKillRequested   NoteKind = "kill requested"
	NoteTimedOut        NoteKind = "task timed out"
	NotePackageChanged  NoteKind = "package on an agent changed"
	NoteOrphan          NoteKind = "task orphaned"
	NoteUnknownTask     NoteKind = "unknown task killed"
	NoteFormerTask      NoteKind = "ended task found alive and killed"
	NoteExecutor        NoteKind = "executor changed"
	NoteSession         NoteKind = "session changed"
	NoteTakeover        NoteKind = "framework taken over"
	NoteImport          NoteKind = "queue imported"
	NoteClock           NoteKind = "clock set back"
	NoteFaulty          NoteKind = "faulty document found"
	NoteNotification    NoteKind = "notification failed"
	NoteNotificationEnd NoteKind = "notification given up"
	NoteAgentClock      NoteKind = "clock of an agent changed"
	NoteExecutorQuiet   NoteKind = "reports of an executor changed"
)

// Note is one thing that happened, for people.
type Note struct {
	Kind                 NoteKind
	Job, Execution, Task string
	// Detail and Why say more of it, each if there is anything. Text puts them together.
	Detail string
	Why    reason.Reason
	// Problem marks what an operator should look at.
	Problem bool
}

// Text is what a note says beside what it is about. The words of reasons are made only here, where they are read.
func (n *Note) Text() string {
	switch {
	case n.Why.IsZero():
		return n.Detail
	case n.Detail == "":
		return n.Why.String()
	}
	return n.Detail + ": " + n.Why.String()
}

// HistoryStored says that the first so many batches of this term, counted from 1, are in the history for good.
type HistoryStored struct{ Batches int64 }

func (HistoryStored) coreEvent() {}

package scheduler

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
)

// Event is something that happened outside of the core: one of the types below.
type Event interface{ coreEvent() }

// AppChanged tells of a committed change of an app's document or mark (rule T4).
type AppChanged struct {
	Name string
	// Config is nil when the app was deleted.
	Config   *app.Config
	Version  int64
	Disabled bool
	// Notes are hints about a document that somebody else wrote.
	Notes []string
	// MarkOnly: the document did not change, only its disabled mark.
	MarkOnly bool
}

// JobChanged tells of a committed change of a job's document or mark (rule T4).
type JobChanged struct {
	Name string
	// Config is nil when the job was deregistered.
	Config   *jobs.Config
	Version  int64
	Disabled bool
	// Notes are hints about a document that somebody else wrote.
	Notes []string
	// MarkOnly: the document did not change, only its disabled mark.
	MarkOnly bool
}

// MarkChanged tells that somebody else has set or removed the disabled mark at
// Path (rule F6).
type MarkChanged struct {
	Path     string
	Disabled bool
}

// DocumentFaulty tells that somebody else has written a document that can't be
// used. The last good one stays in force; the next change replaces it.
type DocumentFaulty struct {
	Path, Why string
	Version   int64
}

// TriggerAsked asks for an execution now. The reply with the same token has
// its id or an *Error.
type TriggerAsked struct {
	Token uint64
	Job   string
	// Key, if not empty, makes the request idempotent: the same key of the same
	// job gives the same execution.
	Key string
	// Overrides are settings that hold for this execution instead of the job's.
	Overrides jobs.Overrides
}

// ForgetAsked is an operator's word that a task is over (rule E5).
type ForgetAsked struct {
	Token  uint64
	TaskID string
}

// KillRequested asks for the end of a task, or of an execution: one of the two is named. The reply is an *Error when
// there is nothing to end.
type KillRequested struct {
	Token               uint64
	TaskID, ExecutionID string
}

// ReconcileAsked asks for reconciliation now: of all live tasks, or, not explicit, of
// all that the master knows. The reply is an *Error without a session.
type ReconcileAsked struct {
	Token    uint64
	Explicit bool
}

// Drain asks for the end of everything on the cluster (rule O4): nothing new
// is launched, tasks are killed and count as lost by shutdown.
type Drain struct{}

// SessionBegan tells that SUBSCRIBE was answered with SUBSCRIBED. Session
// counts subscriptions and is never used again.
type SessionBegan struct {
	Session  int64
	MasterID string
}

// SessionEnded tells that a subscription, or the try to make one, is over.
type SessionEnded struct {
	Session int64
	Reason  string
	// Removed: the master knows the framework id as torn down (rule T7).
	Removed bool
}

// MasterChanged tells that another master leads than the one that was tried last: there is
// nothing to wait for with the next try.
type MasterChanged struct {
	// Session is the one that ended, or could not begin.
	Session int64
}

// Told is what a session told, in its order.
type Told struct {
	Session int64
	Event   cluster.Event
}

// AcceptAnswered tells how an ACCEPT went. OK: answered 202, the master has it.
// Not OK: it was refused and had no effect. An unknown outcome is never told:
// the session ends instead (rule L3).
type AcceptAnswered struct {
	Session int64
	Seq     int64
	OK      bool
	Message string
}

func (AppChanged) coreEvent()     {}
func (JobChanged) coreEvent()     {}
func (MarkChanged) coreEvent()    {}
func (ReconcileAsked) coreEvent() {}
func (DocumentFaulty) coreEvent() {}
func (TriggerAsked) coreEvent()   {}
func (ForgetAsked) coreEvent()    {}
func (KillRequested) coreEvent()  {}
func (Drain) coreEvent()          {}
func (SessionBegan) coreEvent()   {}
func (SessionEnded) coreEvent()   {}
func (MasterChanged) coreEvent()  {}
func (Told) coreEvent()           {}
func (AcceptAnswered) coreEvent() {}

// Decision is what a step decided. Writes come first: all of them, in this
// order, before anything else leaves (write, then act). They are one commit, whatever their number
// and size: all of them are made or none (rule T5).
type Decision struct {
	Writes []registry.Write
	// Fenced is set when a fenced commit must come before the calls even if there is
	// nothing to write (rule T6).
	Fenced bool
	// Calls go to the present session, in this order; calls of different kinds
	// may overtake each other.
	Calls []Call
	// Replies answer requests, after the commit.
	Replies []Reply
	// Notes are what happened, for log and history.
	Notes []Note
	// Wake is when the core wants to step again even if nothing happens; zero: never.
	Wake time.Time
	// Drained is set when, after Drain, nothing of ours is left on the cluster.
	Drained bool
}

// Sleep is how long a shell may sleep after a step when its clock shows now: until
// Wake, if that is not zero, and never so long that it would not see the wall clock
// step, which it may also do between the step and the sleep (rule F4).
func (d *Decision) Sleep(now time.Time) time.Duration { return sleep(d.Wake, now) }

func sleep(wake, now time.Time) time.Duration { return min(max(wake.Sub(now), 0), clockLook) }

// Call is one call to the cluster: one of the types below.
type Call interface{ coreCall() }

// CallSubscribe opens a session with this number (rule T6).
type CallSubscribe struct {
	Session     int64
	FrameworkID string
}

// CallAccept launches tasks; its answer is told by AcceptAnswered with Seq.
type CallAccept struct {
	Seq    int64
	Accept cluster.Accept
}

// CallDecline gives offers back.
type CallDecline struct {
	Offers []string
	Refuse time.Duration
}

// CallKill asks for a task's end.
type CallKill struct{ Kill cluster.Kill }

// CallShutdown ends an executor.
type CallShutdown struct{ ExecutorID, AgentID string }

// CallReconcile asks for the state of tasks, of all when Tasks is empty.
type CallReconcile struct{ Tasks []cluster.TaskRef }

// CallAcknowledge acknowledges a status update.
type CallAcknowledge struct{ Ack cluster.Ack }

// CallRevive and CallSuppress ask for offers and for none.
type CallRevive struct{}

// CallSuppress asks for no offers.
type CallSuppress struct{}

func (CallSubscribe) coreCall()   {}
func (CallAccept) coreCall()      {}
func (CallDecline) coreCall()     {}
func (CallKill) coreCall()        {}
func (CallShutdown) coreCall()    {}
func (CallReconcile) coreCall()   {}
func (CallAcknowledge) coreCall() {}
func (CallRevive) coreCall()      {}
func (CallSuppress) coreCall()    {}

// Reply answers the request with the token.
type Reply struct {
	Token       uint64
	ExecutionID string
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
	NoteTaskRepeated    NoteKind = "shard runs again"
	NoteTaskUnreachable NoteKind = "task unreachable"
	NoteKillRequested   NoteKind = "kill requested"
	NotePackageChanged  NoteKind = "package changed on an agent"
	NoteGhost           NoteKind = "task given up, may still run"
	NoteForeignTask     NoteKind = "task not ours is killed"
	NoteFormerTask      NoteKind = "task of ours that counts as over is killed"
	NoteExecutor        NoteKind = "executor"
	NoteSession         NoteKind = "session"
	NoteTakeover        NoteKind = "takeover"
	NoteImport          NoteKind = "import"
	NoteClock           NoteKind = "clock"
	NoteFaulty          NoteKind = "faulty document"
)

// Note is one thing that happened, for people.
type Note struct {
	Kind                         NoteKind
	Job, Execution, Task, Detail string
	// Problem marks what an operator should look at.
	Problem bool
}

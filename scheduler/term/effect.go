package term

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Effect is an effect that the machine requests: one of the types below.
type Effect interface{ effect() }

// Decided reports the events and the decision of a step before the decision is committed, for checks and measurements.
// It requires no action.
type Decided struct {
	Events   []core.Event
	Decision *core.Decision
}

// Commit makes the writes in one commit of the registry's term (rule T5). Committed answers it; there is one at a
// time. If the batch has a number, it is put into the history concurrently: when the commit is answered, the batch is
// on disk or counts as lost. The history then gets the outcome of the commit, unless that is unknown (rule H1).
type Commit struct {
	Writes  []registry.Write
	History event.Batch
	// Change is set for a change of configuration, which is committed alone (rule T4).
	Change bool
}

// Read reads documents that other programs may have changed. DocumentsRead answers it, with all of them. No commit is
// under way meanwhile.
type Read struct{ Paths []string }

// Call is sent once to a session. Called answers it. It must not be sent if the term or the session is known to have
// ended.
type Call struct {
	ID, Session int64
	Call        step.Call
}

// Subscribe opens the session with that number, and ends the watch of WatchMaster. Opened answers it, and SessionEnded
// reports the end of the session. If the session cannot be opened, SessionEnded answers it.
type Subscribe struct {
	Session     int64
	FrameworkID string
}

// CloseSession closes a session. SessionEnded reports its end, as after any end.
type CloseSession struct{ Session int64 }

// WatchMaster watches, after the end of a session, until another master leads. MasterChanged reports that.
type WatchMaster struct{ Session int64 }

// AskStandby asks whether another candidate waits for the end of this term. If one does, StandbyWaits answers it.
type AskStandby struct{}

// Answer answers the request with the reply's token. There is exactly one for each request.
type Answer struct{ core.Reply }

// Notes are the notes of a step for the log.
type Notes []step.Note

// Changed names the views that differ from now on, because a step was committed.
type Changed struct{ step.Changed }

// Notify notifies people of a job's failures. Notified answers it.
type Notify struct{ notifications.Notification }

// Log is a line for the log. Attrs are alternating keys and values.
type Log struct {
	Problem bool
	Message string
	Attrs   []any
}

// Drained reports, once, that nothing is left on the cluster after core.Drain.
type Drained struct{}

// Ended reports that the machine makes no more steps, and why; nil if it was stopped. Until Done, committed calls may
// still leave.
type Ended struct{ Err error }

func (Decided) effect()      {}
func (Commit) effect()       {}
func (Read) effect()         {}
func (Call) effect()         {}
func (Subscribe) effect()    {}
func (CloseSession) effect() {}
func (WatchMaster) effect()  {}
func (AskStandby) effect()   {}
func (Answer) effect()       {}
func (Notes) effect()        {}
func (Changed) effect()      {}
func (Notify) effect()       {}
func (Log) effect()          {}
func (Drained) effect()      {}
func (Ended) effect()        {}

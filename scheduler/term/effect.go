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

// Decided reports the events and the decision of a step, before any of it is committed, for checks and measurements.
// It requires no action.
type Decided struct {
	Events   []core.Event
	Decision *core.Decision
}

// Commit makes the writes in one commit of the registry's term (rule T5). Committed answers it; there is one at a
// time. If the batch has a number, it is stored in the history concurrently, so that when the commit is answered both
// are on disk, or the batch counts as lost. The history then gets the outcome of the commit, unless that is unknown
// (rule H1).
type Commit struct {
	Writes  []registry.Write
	History event.Batch
	// Change is set for a change of configuration, which is committed alone (rule T4).
	Change bool
}

// Read reads documents that other programs may have changed. DocumentsRead answers it, with all of them. No commit is
// under way.
type Read struct{ Paths []string }

// Call is sent once to a session. Called answers it. It must not be sent if the term or the session is known to have
// ended.
type Call struct {
	ID, Session int64
	Call        step.Call
}

// Subscribe opens a session with that number, and ends the watch of WatchMaster. Opened answers it, and SessionEnded
// follows at its end; if it cannot be opened, only SessionEnded.
type Subscribe struct {
	Session     int64
	FrameworkID string
}

// CloseSession closes a session; SessionEnded follows as after any end.
type CloseSession struct{ Session int64 }

// WatchMaster watches, after the end of a session, for another leading master; MasterChanged reports it.
type WatchMaster struct{ Session int64 }

// AskStandby asks whether another candidate waits for the end of this term. If one does, StandbyWaits answers it.
type AskStandby struct{}

// Answer answers the request with the reply's token. There is exactly one for each request.
type Answer struct{ core.Reply }

// Notes are for the log and the history, after each step.
type Notes []step.Note

// Changed names the views that differ from now on, after the commit of the change.
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

// Ended reports why the machine makes no more steps: nil when it was stopped. Calls that were committed may leave
// until Done.
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

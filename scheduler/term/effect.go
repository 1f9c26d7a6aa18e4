package term

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Effect is something that the machine wants done: one of the types below.
type Effect interface{ effect() }

// Decided tells those who check and measure what a step was given and what it decided, before any of that is
// committed. There is nothing to do.
type Decided struct {
	Events   []core.Event
	Decision *core.Decision
}

// Commit makes the writes in one commit of the registry's term (rule T5). Committed answers it; there is one at a
// time. The history gets its batch beside it, if that has a number, so that when the commit is answered both are on
// disk, or the batch is counted as lost; and it learns what became of the commit, unless nobody knows (rule H1).
type Commit struct {
	Writes  []registry.Write
	History event.Batch
	// Change is set when it is a change of configuration, which is committed alone (rule T4).
	Change bool
}

// Read reads documents that somebody else may have changed. DocumentsRead answers it, with all of them. No commit is
// under way.
type Read struct{ Paths []string }

// Call is sent once to a session. Called answers it. A caller who knows by then that the term or the session has ended
// does not send it.
type Call struct {
	ID, Session int64
	Call        step.Call
}

// Subscribe opens a session of that number, and ends the watch of WatchMaster. Opened and, at its end or without it,
// SessionEnded answer it.
type Subscribe struct {
	Session     int64
	FrameworkID string
}

// CloseSession closes a session; SessionEnded follows as ever.
type CloseSession struct{ Session int64 }

// WatchMaster looks, after the end of a session, for another master to lead; MasterChanged reports it.
type WatchMaster struct{ Session int64 }

// AskStandby asks whether another candidate waits for the end of this term. If one does, StandbyWaits answers it.
type AskStandby struct{}

// Answer answers the request with the reply's token. There is one for each request.
type Answer struct{ core.Reply }

// Notes are for the log and the history, after each step.
type Notes []step.Note

// Changed is what people see otherwise from now on, after the commit that makes it true.
type Changed struct{ step.Changed }

// Notify has people be notified of a job's failures. Notified answers it.
type Notify struct{ notifications.Notification }

// Log is a line for the log. Attrs are keys and values in turn.
type Log struct {
	Problem bool
	Message string
	Attrs   []any
}

// Drained reports once that nothing is left on the cluster after core.Drain.
type Drained struct{}

// Ended reports why the machine steps no more: nil when it was stopped. Calls that were committed may leave until
// Done.
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

package step

import "github.com/elasticjob-go/elasticjob/reason"

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

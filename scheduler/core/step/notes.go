package step

import "github.com/elasticjob-go/elasticjob/internal/reason"

// NoteKind is the subject of a Note, and the text of its log line.
type NoteKind string

// The kinds of notes. Each value is the text of the log line.
const (
	NoteFireDropped         NoteKind = "fire dropped"
	NoteFiresMissed         NoteKind = "fires missed"
	NoteExecutionCreated    NoteKind = "execution created"
	NoteExecutionEnded      NoteKind = "execution ended"
	NoteTaskLaunched        NoteKind = "task launched"
	NoteTaskEnded           NoteKind = "task ended"
	NoteShardRequeued       NoteKind = "shard requeued"
	NoteRunFailed           NoteKind = "daemon run failed"
	NoteTaskReturned        NoteKind = "task taken back"
	NoteTaskUnreachable     NoteKind = "task unreachable"
	NoteExecutorHeartbeats  NoteKind = "executor heartbeats changed"
	NoteKillRequested       NoteKind = "kill requested"
	NoteTimedOut            NoteKind = "task timed out"
	NotePackageChanged      NoteKind = "package on an agent changed"
	NoteOrphan              NoteKind = "task orphaned"
	NoteUnknownTask         NoteKind = "unknown task killed"
	NoteUnknownTaskFound    NoteKind = "unknown task found"
	NoteFormerTask          NoteKind = "ended task found alive and killed"
	NoteExecutor            NoteKind = "executor changed"
	NoteSession             NoteKind = "session changed"
	NoteTakeover            NoteKind = "framework taken over"
	NoteImport              NoteKind = "queue imported"
	NoteClock               NoteKind = "clock set back"
	NoteClockLeap           NoteKind = "clock leap found"
	NoteClockBack           NoteKind = "fire cursor set back"
	NoteFaulty              NoteKind = "faulty document found"
	NoteNotification        NoteKind = "notification failed"
	NoteNotificationDropped NoteKind = "notification dropped"
	NoteAgentClock          NoteKind = "agent clock changed"
	NoteExecutorQuiet       NoteKind = "executor reports changed"
	NoteMachineCordoned     NoteKind = "machine cordoned"
	NoteMachineDead         NoteKind = "machine declared dead"
	NoteMachineDraining     NoteKind = "machine draining"
	NoteMachineDrained      NoteKind = "machine drained"
	NoteMachineUncordoned   NoteKind = "machine uncordoned"
	NoteIncident            NoteKind = "incident"
)

// Note describes one event for the log. Job, Execution and Task name the objects that it concerns, if there are any.
type Note struct {
	Kind                 NoteKind
	Job, Execution, Task string
	// Detail and Why say more, if they are set; Text combines them.
	Detail string
	Why    reason.Reason
	// Problem marks a note that an operator should look at.
	Problem bool
}

// Text returns the text of a note in addition to its names. Reasons are turned into text only here, where a note is
// read.
func (n *Note) Text() string {
	switch {
	case n.Why.IsZero():
		return n.Detail
	case n.Detail == "":
		return n.Why.String()
	}
	return n.Detail + ": " + n.Why.String()
}

package sim

import "slices"

// Fault is a kind of fault.
type Fault int

// Faults that the seed plans, that come by chance at their place, and that
// follow from others.
const (
	LeaderCrash Fault = iota
	LeaderPause
	SessionCut
	MasterFailoverEmpty
	MasterFailoverMemory
	AgentRestart
	AgentPartition
	MachineLost
	MachineReplaced
	HostReboot
	ExecutorCrash
	ExecutorOverMemory
	ClockForward
	ClockBack
	OfferStorm
	OtherFramework
	FrameworkRemoved
	RegistrySessionLost
	StaleSubscriber

	CrashAfterConfig
	CrashBetweenEffects
	PauseBetweenEffects
	CrashBetweenParts
	SlowCommit
	CommitUnknownDone
	CommitUnknownNotDone
	CommitLostWithTerm
	SubscribeFails
	CallLost
	AcceptLost
	AcceptLate
	AcceptAnsweredLate
	MasterRejects
	RunLost
	KillLost
	ShutdownLost
	AckLost
	UpdateLost
	UpdateDoubled
	UpdateLate
	FailureLost
	ExitLost
	StartFails
	PackageFails
	ExecutorNotBack
	OperatorEdits
	ExecutorCrashAtLaunch

	DeposedLeaderWrote
	DeposedLeaderWoke
	CallOnOldStream
	SecondSubscriber
	OfferGone
	ExecutorGoneAtAccept
	ExecutorGoneAtLaunch
	EndWithoutCause
	Silence
	UnknownWhileRunning
	AgentUnreachable
	UnreachableBack
	TaskLostOnTheWay
	TaskOutlivesExecutor
	UpdateRetried
	TriggerRepeated
	WriteInParts
	ManyFiresAtOnce
	FireWhileRunning
	LateProcess
	Drained
	Forgotten
	NumFaults
)

var faultNames = [NumFaults]string{
	"leader crashes", "leader pauses", "session cut", "master failover without memory", "master failover with memory", "agent restarts",
	"agent partitioned", "machine lost for ever", "machine lost, agent replaced under a new id", "host reboots under the same id", "executor crashes",
	"executor over its memory limit", "clock steps forward", "clock steps back", "storm of offers and rescinds", "another framework takes offers",
	"framework removed", "registry session lost", "a dead process's SUBSCRIBE arrives late",
	"crash between config commit and step", "crash between two effects", "pause between two effects", "crash between the parts of a write", "slow commit",
	"commit unknown, was done", "commit unknown, was not done", "commit unknown and the term lost", "SUBSCRIBE fails", "call or its answer lost",
	"ACCEPT or its answer lost", "ACCEPT late", "ACCEPT answered late", "master rejects a task", "launch lost on the way to the agent", "KILL lost", "SHUTDOWN lost",
	"acknowledgement lost", "update lost", "update doubled", "update late", "FAILURE lost", "executor's exit not told", "executor fails to start",
	"package cannot be fetched", "executor does not survive an agent restart", "operator edits a document", "executor crashes as a task is on its way",
	"deposed leader tries to write", "deposed leader wakes up", "call on an old stream", "second subscriber takes over", "ACCEPT of a gone offer",
	"ACCEPT on an executor just gone", "launch for an executor just gone", "end told without cause", "silence for a recovering agent", "UNKNOWN for a running task", "agent marked unreachable", "unreachable agent returns",
	"task lost on the way", "task outlives its executor", "update sent again", "trigger repeated with its key", "write in several commits", "many fires in one instant",
	"fire finds its job running", "second process while the first is unreachable (failover)", "drain", "ghost forgotten by an operator",
}

func (f Fault) String() string { return faultNames[f] }

// chances of the faults that come by chance, each time that they could.
var chances = map[Fault]float64{
	CrashAfterConfig: 0.02, CrashBetweenEffects: 0.002, PauseBetweenEffects: 0.002, CrashBetweenParts: 0.02, SlowCommit: 0.01,
	CommitUnknownDone: 0.01, CommitUnknownNotDone: 0.01, CommitLostWithTerm: 0.003, SubscribeFails: 0.2, CallLost: 0.002,
	AcceptLost: 0.01, AcceptLate: 0.05, AcceptAnsweredLate: 0.1, MasterRejects: 0.01, RunLost: 0.01, KillLost: 0.1, ShutdownLost: 0.2,
	AckLost: 0.02, UpdateLost: 0.02, UpdateDoubled: 0.03, UpdateLate: 0.02, FailureLost: 0.3, ExitLost: 0.02, StartFails: 0.05, PackageFails: 0.02, ExecutorNotBack: 0.2,
	OperatorEdits: 1, ExecutorCrashAtLaunch: 0.01,
}

// mood decides which faults this world has, and how many.
func (w *world) mood() {
	level := []float64{0, 0.5, 1, 2}[w.rng.IntN(4)]
	if w.cfg.Seed%16 == 0 {
		level = 0
	}
	for f := range NumFaults {
		on := w.rng.IntN(2) == 0
		if w.cfg.Only != nil {
			on, level = slices.Contains(w.cfg.Only, f), 1
		}
		if !on {
			continue
		}
		if p, ok := chances[f]; ok {
			w.moods[f] = p * level
		} else if f <= StaleSubscriber {
			w.moods[f] = level
		}
	}
}

// dice says whether a fault comes now.
func (w *world) dice(f Fault) bool {
	if w.calm || f == NumFaults || !w.chance(w.moods[f]) {
		return false
	}
	w.count(f)
	return true
}

func (w *world) count(f Fault) {
	w.faults[f]++
	w.mix(faultNames[f])
	if w.trace.on() {
		w.trace.add("! %s", faultNames[f])
	}
}

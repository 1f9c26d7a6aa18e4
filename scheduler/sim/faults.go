package sim

// Fault is a kind of fault.
type Fault int

// Faults that the seed plans.
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
	RegistryCut
	StreamSilent
	StreamSlow
	ClockHourForward
	ClockHourBack
	ExecutorDiskFull
	MaintenanceWindow
	OperatorReconciles
	OperatorForgets
	RoleChanged
	ExecutorStopped
	ClusterRefuses
	ClusterAway
	NobodyToTell
	HistoryDown
	PodDeleted
	PodForceDeleted
	OthersPods
	lastPlanned = OthersPods
)

// Faults that happen by chance, each time they could.
const (
	CrashAfterConfig Fault = iota + lastPlanned + 1
	CrashBeforeCommit
	CrashAfterCommit
	CrashBeforeAccept
	CrashAfterAccept
	CrashBeforeAck
	CrashAfterAck
	CrashBeforeKill
	CrashAfterKill
	CrashBeforeSubscribe
	CrashBeforeReply
	CrashBeforeNotify
	CrashAfterNotify
	CrashBetweenEffects
	PauseBetweenEffects
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
	TaskProcessKilled
	SandboxFull
	ExecutorRefused
	ExecutorCrashAtBegin
	CallRefused
	CallAnsweredLate
	ReadFails
	TermIgnored
	ReportLost
	ReportLate
	ReportGarbled
	NotificationFails
	NotificationSlow
	NotificationUnanswered
	HistoryDiskSlow
	HistoryDiskFull
	HistoryDiskGone
	CreateRefused
	KubeletRefuses
	BindUnanswered
	ExecutorHangs
	lastByChance = ExecutorHangs
)

// Faults that result from others.
const (
	ServerLagged Fault = iota + lastByChance + 1
	ForeignFramework
	ForeignTask
	ImportedQueue
	EditBreaks
	EditConflicts
	ForgetRefused
	AgentAboutToGo
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
	ManyFiresAtOnce
	FireWhileRunning
	LateProcess
	Drained
	Forgotten
	TaskOutlivesFramework
	EndedWhileFetching
	EndedBeforeReport
	SilentExecutorEnded
	RemovalForgotten
	FiltersKept
	KillRequested
	AbdicatedRefused
	AbdicatedForStandby
	HandedOver
	JobPaused
	JobShutDown
	RunsAgainWhileOff
	TaskTimedOut
	EndsWellInGrace
	DaemonUp
	DaemonRunCutOff
	DaemonReplaced
	DaemonDrained
	FailuresCounted
	ToldAgain
	HistorySettledByOthers
	HistoryThrownAway
	HistoryWrittenAgain
	HistoryForgottenUnstored
	PodNeverBound
	LeaseLost
	OrphanStaysStaged
	ClockLeap
	CursorTakenBack
	GivenUpInSilence
	HeardAfterGivenUp
	AttemptTakenBack
	MachineCordoned
	MachineUncordoned
	LaunchedBesideCordon
	MachineDead
	MachineDeadRefused
	MachineDraining
	MachineDrained
	TaskDrained
	LeaseUnanswered
	LeaseOfDeposed
	LeaseRanOut
	MachineFlaps
	NumFaults
)

var faultNames = [NumFaults]string{
	"leader crashes", "leader pauses", "session cut", "master failover without memory", "master failover with memory",
	"agent restarts",
	"agent partitioned", "machine lost permanently", "machine lost, agent replaced under a new id",
	"host reboots under the same id", "executor crashes",
	"executor over its memory limit", "clock steps forward", "clock steps back", "storm of offers and rescinds",
	"another framework takes offers",
	"framework removed", "registry session lost", "a dead process's SUBSCRIBE arrives late",
	"scheduler cut off from the registry", "master silent: heartbeats stop, the connection stays",
	"connection to the master slow", "clock an hour forward", "clock an hour back",
	"executor over its disk limit", "maintenance window of an agent", "operator asks for reconciliation",
	"operator forgets a task that may live", "scheduler restarts with another role", "executor stopped",
	"cluster refuses the scheduler", "cluster cannot be reached", "notifications unreachable for a while",
	"history's database down",
	"pod deleted by somebody", "pod of a node that is away force-deleted", "others' pods take room",
	"crash between config commit and step", "crash before a commit", "crash after a commit, before its effects",
	"crash before an ACCEPT", "crash after an ACCEPT",
	"crash before an acknowledgement", "crash after an acknowledgement", "crash before a KILL", "crash after a KILL",
	"crash before SUBSCRIBE", "crash before an answer", "crash before a message", "crash after a message",
	"crash between two effects", "pause between two effects", "slow commit",
	"commit unknown, was done", "commit unknown, was not done", "commit unknown and the term lost", "SUBSCRIBE fails",
	"call or its answer lost",
	"ACCEPT or its answer lost", "ACCEPT late", "ACCEPT answered late", "master rejects a task",
	"launch lost on the way to the agent", "KILL lost", "SHUTDOWN lost",
	"acknowledgement lost", "update lost", "update doubled", "update late", "FAILURE lost",
	"executor's exit not reported", "executor fails to start",
	"package cannot be fetched", "executor does not survive an agent restart", "operator edits a document",
	"executor crashes as a task is on its way",
	"task's process killed", "disk full in the sandbox", "master has another ExecutorInfo of an executor",
	"executor crashes as a process begins",
	"master refuses a call", "call answered late", "document cannot be read", "process ignores SIGTERM",
	"executor's report lost", "executor's report late", "executor's report is garbage",
	"message not sent", "message slow", "message sent, and reported as not sent",
	"history's disk slow", "history's disk full", "history's disk lost with its machine",
	"pod not admitted", "kubelet refuses a pod", "binding not answered", "executor hangs as it gets a task",
	"a new leader's server lags behind the last commits", "framework id, queues and documents of the original",
	"task that the original left running", "queue of the original", "operator writes what cannot be used",
	"change conflicts with an operator's edit",
	"a live task is not forgotten", "agent about to go is on offer",
	"deposed leader tries to write", "deposed leader wakes up", "call on an old stream",
	"second subscriber takes over", "ACCEPT of a gone offer",
	"ACCEPT on an executor just gone", "launch for an executor just gone", "end reported without cause",
	"silence for a recovering agent", "UNKNOWN for a running task", "agent marked unreachable",
	"unreachable agent returns",
	"task lost on the way", "task outlives its executor", "update sent again", "trigger repeated with its key",
	"many fires in one instant",
	"fire finds its job running", "second process while the first is unreachable (failover) or forgotten", "drain",
	"orphan forgotten by an operator",
	"task outlives its framework", "executor ends while it fetches", "executor ends before it reported a process",
	"executor that does not answer ended by its agent", "next master knows nothing of a removed framework",
	"filters outlive a leader", "user kills a task or an execution",
	"refused leader abdicates", "leader without a cluster abdicates for a standby", "leader stops and hands over",
	"user pauses a job", "user shuts a job down", "shard of a job that is paused or shut down runs again",
	"task runs for longer than its timeout", "process ends with status 0 after SIGTERM",
	"daemon up at the end", "daemon's run cut off, and run again", "daemon's shard replaced for new settings",
	"daemon's shard ends with its run",
	"message of several failures", "failure notified again",
	"another leader says what became of a commit", "rows of a commit that never happened", "rows written again",
	"end forgotten with its rows on a disk alone",
	"pod that its leader never bound", "binding stopped by the Lease",
	"leader finds an orphan that stays STAGING", "clock leaps by days to decades", "cursor of fires taken back",
	"given up because its executor is silent", "executor heard after its task was given up", "attempt taken back",
	"machine cordoned", "machine uncordoned", "launch beside a cordoned machine",
	"machine declared dead", "machine that was heard is not declared dead",
	"machine draining", "machine drained", "task stopped because its machine is drained",
	"request for leases unanswered", "deposed leader asked for leases", "lease of a task runs out",
	"machine cordoned because it flaps",
}

// ofMesos are the faults of Mesos worlds only, ofPods those of Kubernetes worlds only.
var (
	ofMesos = faultSet(MasterFailoverEmpty, MasterFailoverMemory, OfferStorm, OtherFramework, FrameworkRemoved,
		StaleSubscriber, ExecutorDiskFull, MaintenanceWindow,
		RoleChanged, ExecutorStopped, MasterRejects, RunLost, KillLost, ShutdownLost, AckLost, UpdateLost,
		UpdateDoubled, UpdateLate, FailureLost, ExitLost,
		ExecutorNotBack, ExecutorCrashAtLaunch, ExecutorRefused, ForeignFramework, ForeignTask, ImportedQueue,
		AgentAboutToGo, CallOnOldStream,
		ExecutorGoneAtAccept, ExecutorGoneAtLaunch, EndWithoutCause, Silence, UnknownWhileRunning, TaskLostOnTheWay,
		TaskOutlivesExecutor, UpdateRetried,
		TaskOutlivesFramework, EndedBeforeReport, SilentExecutorEnded, RemovalForgotten, FiltersKept, ExecutorHangs,
		OrphanStaysStaged, GivenUpInSilence, HeardAfterGivenUp)
	ofPods = faultSet(PodDeleted, PodForceDeleted, OthersPods, CreateRefused, KubeletRefuses, BindUnanswered,
		PodNeverBound, LeaseLost)
)

func faultSet(list ...Fault) map[Fault]bool {
	set := map[Fault]bool{}
	for _, f := range list {
		set[f] = true
	}
	return set
}

// of reports whether a fault can happen in worlds of a kind.
func (f Fault) of(pods bool) bool {
	if pods {
		return !ofMesos[f]
	}
	return !ofPods[f]
}

func (f Fault) String() string { return faultNames[f] }

// chances are the probabilities of the faults that happen by chance, each time they could.
var chances = map[Fault]float64{
	CrashAfterConfig: 0.02, CrashBetweenEffects: 0.002, PauseBetweenEffects: 0.002, SlowCommit: 0.01,
	CommitUnknownDone: 0.01, CommitUnknownNotDone: 0.01, CommitLostWithTerm: 0.003, SubscribeFails: 0.2,
	CallLost:   0.002,
	AcceptLost: 0.01, AcceptLate: 0.05, AcceptAnsweredLate: 0.1, MasterRejects: 0.01, RunLost: 0.01, KillLost: 0.1,
	ShutdownLost: 0.2,
	AckLost:      0.02, UpdateLost: 0.02, UpdateDoubled: 0.03, UpdateLate: 0.02, FailureLost: 0.3, ExitLost: 0.02,
	StartFails: 0.05, PackageFails: 0.02, ExecutorNotBack: 0.5,
	OperatorEdits: 1, ExecutorCrashAtLaunch: 0.01, TaskProcessKilled: 0.02, SandboxFull: 0.01, ExecutorRefused: 0.01,
	ExecutorCrashAtBegin: 0.01,
	CallRefused:          0.002, CallAnsweredLate: 0.05, ReadFails: 0.5, TermIgnored: 0.3,
	ReportLost: 0.2, ReportLate: 0.2, ReportGarbled: 0.3,
	CreateRefused: 0.02, KubeletRefuses: 0.02, BindUnanswered: 0.02, ExecutorHangs: 0.02,
	HistoryDiskSlow: 0.01, HistoryDiskFull: 0.002, HistoryDiskGone: 0.3,
	NotificationFails: 0.3, NotificationSlow: 0.4, NotificationUnanswered: 0.2,
	CrashBeforeCommit: 0.003, CrashAfterCommit: 0.003, CrashBeforeAccept: 0.01, CrashAfterAccept: 0.01,
	CrashBeforeAck: 0.003, CrashAfterAck: 0.003,
	CrashBeforeKill: 0.02, CrashAfterKill: 0.02, CrashBeforeSubscribe: 0.02, CrashBeforeReply: 0.02,
	CrashBeforeNotify: 0.1, CrashAfterNotify: 0.1,
}

// chooseFaults selects the faults of this world, and how often they happen. Unless the world has no faults, an eighth
// of all faults, which depends on the seed, are always selected and happen more often. So a hundred worlds include rare
// faults, too.
func (w *world) chooseFaults() {
	level := []float64{0, 0.5, 1, 2}[w.rng.IntN(4)]
	if w.cfg.Seed%16 == 0 {
		level = 0
	}
	for f := range ClockLeap { // leaps depend on the seed alone
		on, often := w.rng.IntN(2) == 0, 1.0
		if !f.of(w.cfg.Pods) {
			continue
		}
		if level > 0 && uint64(f)%8 == w.cfg.Seed%8 {
			on, often = true, 4
		}
		if !on {
			continue
		}
		if p, ok := chances[f]; ok {
			w.rates[f] = min(p*level*often, 1)
		} else if f <= lastPlanned {
			w.rates[f] = level
		}
	}
}

// roll reports whether a fault happens now.
func (w *world) roll(f Fault) bool {
	if w.calm || f == NumFaults || !w.chance(w.rates[f]) {
		return false
	}
	w.count(f)
	return true
}

func (w *world) count(f Fault) {
	w.report.Faults[f]++
	w.mix("%s", f)
	w.trace.add("! %s", f)
}

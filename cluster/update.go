package cluster

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Update is a task's status update.
type Update struct {
	TaskID, AgentID, ExecutorID string
	State                       State
	Source                      Source
	Reason                      Reason
	// Message is the cluster's own sentence, for people.
	Message string
	// UUID is empty for updates that need no acknowledgement.
	UUID []byte
	// Status is what our executor says of the task. It is nil where the update is not our executor's, and where what
	// it says can't be read, which counts as if it had said nothing.
	Status    *wire.Status
	Timestamp time.Time
	// UnreachableSince is set with Unreachable.
	UnreachableSince time.Time
	// KillKept is set with Unreachable when the cluster keeps a kill of the task for its agent, which ends the task
	// when it is back, and does not start one that it had not been given before.
	KillKept bool
	// ExecutorMismatch is set with Error when the cluster knows the task's executor with another ExecutorInfo: it will
	// refuse every task for that executor (rule X1).
	ExecutorMismatch bool
}

// State is a task's state, without Mesos' prefix "TASK_".
type State string

// The states of Mesos. A driver passes states that it does not know as they are.
const (
	Staging        State = "STAGING"
	Starting       State = "STARTING"
	Running        State = "RUNNING"
	Killing        State = "KILLING"
	Finished       State = "FINISHED"
	Failed         State = "FAILED"
	Killed         State = "KILLED"
	Error          State = "ERROR"
	Lost           State = "LOST"
	Dropped        State = "DROPPED"
	Unreachable    State = "UNREACHABLE"
	Gone           State = "GONE"
	GoneByOperator State = "GONE_BY_OPERATOR"
	Unknown        State = "UNKNOWN"
)

// Terminal reports whether a task in this state, reported by its agent, has ended.
// GONE, UNKNOWN and UNREACHABLE have rules of their own.
func (s State) Terminal() bool {
	switch s {
	case Finished, Failed, Killed, Error, Lost, Dropped, Gone, GoneByOperator:
		return true
	}
	return false
}

// Source is who sent an update.
type Source string

// The sources of updates.
const (
	FromMaster   Source = "MASTER"
	FromAgent    Source = "AGENT"
	FromExecutor Source = "EXECUTOR"
)

// Reason is why a task's state changed, as a word of the cluster; "" when it gave none.
type Reason string

// The reasons that rules speak of, with the names of Mesos without their prefix "REASON_". A driver passes others as
// they are.
const (
	ReasonReconciliation        Reason = "RECONCILIATION"
	ReasonExecutorTerminated    Reason = "EXECUTOR_TERMINATED"
	ReasonKilledDuringLaunch    Reason = "TASK_KILLED_DURING_LAUNCH"
	ReasonContainerLaunchFailed Reason = "CONTAINER_LAUNCH_FAILED"
	ReasonContainerMemory       Reason = "CONTAINER_LIMITATION_MEMORY"
	ReasonContainerDisk         Reason = "CONTAINER_LIMITATION_DISK"
	ReasonInvalidOffers         Reason = "INVALID_OFFERS"
	ReasonTaskInvalid           Reason = "TASK_INVALID"
	ReasonAgentRemoved          Reason = "AGENT_REMOVED"
	ReasonAgentDraining         Reason = "AGENT_DRAINING"
	ReasonAgentReregistered     Reason = "AGENT_REREGISTERED"
	// ReasonTaskRemoved is no word of Mesos: somebody has removed a task from a cluster, whose agent ends it now, if
	// it lives.
	ReasonTaskRemoved Reason = "TASK_REMOVED"
)

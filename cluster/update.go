package cluster

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Update is a status update of a task.
type Update struct {
	TaskID, AgentID, ExecutorID string
	State                       State
	Source                      Source
	Reason                      Reason
	// Message is the cluster's own text about the update, for users.
	Message string
	// UUID is empty for updates that need no acknowledgement.
	UUID []byte
	// Status is the executor's report about the task. It is nil if this scheduler's executor did not send the update,
	// or if the data of the update could not be decoded.
	Status    *wire.Status
	Timestamp time.Time
	// UnreachableSince is set if State is Unreachable.
	UnreachableSince time.Time
	// KillStored is set if State is Unreachable and the cluster has stored a kill of the task for its agent. When the
	// agent returns, the kill ends the task, or prevents its start if the agent had not received the task yet.
	KillStored bool
	// ExecutorMismatch is set if State is Error and the cluster knows the task's executor with a different
	// ExecutorInfo. The cluster then rejects every task for that executor (rule X1).
	ExecutorMismatch bool
}

// State is the state of a task, without Mesos' prefix "TASK_".
type State string

// The task states of Mesos. A driver passes unknown states through unchanged.
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

// Terminal reports whether a task in this state has ended, provided that the task's agent reported the state. Gone,
// Unknown and Unreachable have rules of their own.
func (s State) Terminal() bool {
	switch s {
	case Finished, Failed, Killed, Error, Lost, Dropped, Gone, GoneByOperator:
		return true
	}
	return false
}

// Live reports whether a task in this state is on its agent and has not ended.
func (s State) Live() bool {
	switch s {
	case Staging, Starting, Running, Killing:
		return true
	}
	return false
}

// Source is the sender of an update.
type Source string

// The sources of updates.
const (
	FromMaster   Source = "MASTER"
	FromAgent    Source = "AGENT"
	FromExecutor Source = "EXECUTOR"
)

// Reason is the constant by which the cluster says why the state of a task changed; "" if it gave none.
type Reason string

// The reasons that the core's rules distinguish, named as in Mesos without the prefix "REASON_". A driver passes other
// reasons through unchanged.
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
	// ReasonTaskRemoved is not a reason of Mesos. An operator removed the task from the cluster, and the agent now
	// ends it if it is still running.
	ReasonTaskRemoved Reason = "TASK_REMOVED"
)

package master

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// reconcile answers with what the master holds: of the tasks asked for, or, with none, of all that it knows.
func (m *Master) reconcile(f *framework, call *scheduler.Call_Reconcile) {
	if len(call.Tasks) > 0 {
		for i := range call.Tasks {
			m.reconcileTask(f, call.Tasks[i].TaskID, call.Tasks[i].AgentID)
		}
		return
	}
	for _, t := range f.inOrder() {
		f.send(update(t.status("Reconciliation: Latest task state", mesos.REASON_RECONCILIATION)))
	}
}

// inOrder lists the tasks as they were launched.
func (f *framework) inOrder() []*task {
	return slices.SortedFunc(maps.Values(f.tasks), func(a, b *task) int { return cmp.Compare(a.order, b.order) })
}

// reconcileTask answers one question, or says nothing while an agent that could have the task has not come back (rule
// O3).
func (m *Master) reconcileTask(f *framework, id mesos.TaskID, agentID *mesos.AgentID) {
	if t := f.tasks[id.Value]; t != nil {
		f.send(update(t.status("Reconciliation: Latest task state", mesos.REASON_RECONCILIATION)))
		return
	}
	state, message := mesos.TASK_UNKNOWN, "Reconciliation: Task is unknown"
	var since *mesos.TimeInfo
	record, known := m.registry.Agents[agentID.GetValue()]
	switch {
	case agentID != nil && m.agents[agentID.Value] != nil:
		state, message = mesos.TASK_GONE, "Reconciliation: Task is unknown to the agent"
	case record.Gone:
		state, message = mesos.TASK_GONE_BY_OPERATOR, "Reconciliation: Task is gone"
	case !record.Unreachable.IsZero():
		state, message, since = mesos.TASK_UNREACHABLE, "Reconciliation: Task is unreachable",
			timeInfo(record.Unreachable)
	case known, agentID == nil && len(m.away()) > 0:
		return
	}
	status := masterStatus(id.Value, state, message, mesos.REASON_RECONCILIATION)
	status.AgentID, status.UnreachableTime = agentID, since
	f.send(update(status))
}

// masterStatus is a status that the master makes: it has no uuid, so nobody acknowledges it.
func masterStatus(taskID string, state mesos.TaskState, message string,
	reason mesos.TaskStatus_Reason) mesos.TaskStatus {
	source, now := mesos.SOURCE_MASTER, float64(time.Now().UnixMicro())/1e6
	return mesos.TaskStatus{
		TaskID: mesos.TaskID{Value: taskID}, State: &state, Message: &message,
		Source: &source, Reason: &reason, Timestamp: &now,
	}
}

// status is what the master says of a task that it knows.
func (t *task) status(message string, reason mesos.TaskStatus_Reason) mesos.TaskStatus {
	status := masterStatus(t.id, t.reported, message, reason)
	status.AgentID, status.ExecutorID = &mesos.AgentID{Value: t.agentID}, &t.executor.ExecutorID
	status.ContainerStatus = t.container
	return status
}

func update(status mesos.TaskStatus) *scheduler.Event {
	return &scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: status}}
}

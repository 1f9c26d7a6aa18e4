package master

import (
	"fmt"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// accept launches tasks with the resources of offers. The resources that no valid launch uses become free again, and
// the call's filter hides them from the framework for some time. A task that cannot be launched is reported in an
// update without a UUID.
func (m *Master) accept(f *framework, call *scheduler.Call_Accept) {
	agentID, available, fault := m.useOffers(f, call.OfferIDs)
	if fault != "" {
		for i := range call.Operations {
			for _, task := range call.Operations[i].GetLaunch().GetTaskInfos() {
				m.reject(f, task, mesos.TASK_DROPPED, "Task launched with invalid offers: "+fault,
					mesos.REASON_INVALID_OFFERS)
			}
		}
		return
	}
	a := m.agents[agentID]
	if a == nil {
		return
	}
	launches := false
	for i := range call.Operations {
		op := &call.Operations[i]
		if op.Type != mesos.Offer_Operation_LAUNCH {
			m.log.Warn("unsupported operation dropped", "framework", f.id, "operation",
				op.Type.String())
			continue
		}
		launches = true
		available = m.launch(f, a, op.GetLaunch().GetTaskInfos(), available)
	}
	refuseFor := refuseTime(call.Filters)
	if !launches {
		refuseFor = max(declineFloor, refuseFor)
	}
	f.refuse(agentID, available, refuseFor)
	m.wake()
}

// useOffers removes the offers, whose resources become free until a launch uses them. It returns the offers' agent and
// resources. fault says why the offers cannot be used together: there are none, one is no longer the framework's, or
// they belong to different agents. The offers that exist are removed even then.
func (m *Master) useOffers(f *framework, ids []mesos.OfferID) (agentID string, held resources, fault string) {
	if len(ids) == 0 {
		fault = "No offers specified"
	}
	for _, id := range ids {
		o := m.offers[id.Value]
		if o == nil || o.framework != f {
			fault = fmt.Sprintf("Offer %s is no longer valid", id.Value)
			continue
		}
		m.dropOffer(o)
		if agentID != "" && agentID != o.agentID {
			fault = fmt.Sprintf(
				"Aggregated offers must belong to one single agent. Offer %s uses agent %s and agent %s", id.Value,
				o.agentID, agentID)
		}
		agentID, held = o.agentID, held.plus(o.resources)
	}
	return agentID, held, fault
}

// reject reports to the framework that a task was not launched.
func (m *Master) reject(f *framework, task mesos.TaskInfo, state mesos.TaskState, message string,
	reason mesos.TaskStatus_Reason) {
	m.log.Info("launch rejected", "task", task.TaskID.Value, "reason", reason.String(), "message", message)
	status := masterStatus(task.TaskID.Value, state, message, reason)
	status.AgentID = &task.AgentID
	f.send(updateEvent(status))
}

// launch sends the valid tasks to the agent and returns the resources that remain of available.
func (m *Master) launch(f *framework, a *agent, tasks []mesos.TaskInfo, available resources) resources {
	run := make([]link.Proto[mesos.TaskInfo], 0, len(tasks))
	for i := range tasks {
		task := tasks[i]
		completeExecutor(f, &task)
		need, fault := m.validateTask(f, a, &task, available)
		if fault != "" {
			m.reject(f, task, mesos.TASK_ERROR, fault, mesos.REASON_TASK_INVALID)
			continue
		}
		available = available.minus(need)
		if f.executors[a.id][task.Executor.ExecutorID.Value] == nil {
			m.addExecutor(f, a, task.Executor)
		}
		m.addTask(f, a, &task)
		run = append(run, link.Proto[mesos.TaskInfo]{Of: task})
	}
	if len(run) > 0 {
		a.orders.Push(link.Order{Run: &link.Run{Framework: link.Proto[mesos.FrameworkInfo]{Of: f.info}, Tasks: run}})
	}
	return available
}

// completeExecutor replaces the task's ExecutorInfo by a copy with the fields that a framework may omit.
func completeExecutor(f *framework, task *mesos.TaskInfo) {
	if task.Executor == nil {
		return
	}
	executor := *task.Executor
	if executor.FrameworkID == nil {
		executor.FrameworkID = &mesos.FrameworkID{Value: f.id}
	}
	if executor.Type == mesos.ExecutorInfo_UNKNOWN {
		executor.Type = mesos.ExecutorInfo_CUSTOM
	}
	task.Executor = &executor
}

package master

import (
	"fmt"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// accept consumes offers. Resources that no valid launch uses become free again, except for the call's filter. A
// rejected launch is reported as an update without a UUID.
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
	lasts := refusal(call.Filters)
	if !launches {
		lasts = max(declineFloor, lasts)
	}
	f.refuse(agentID, available, lasts)
	m.wake()
}

// useOffers removes the offers and frees their resources; a valid launch uses them again. It returns the offers' agent
// and resources. fault is set if an offer does not belong to the framework, or belongs to another agent than the
// previous one.
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
			fault = fmt.Sprintf("Aggregated offers must belong to one single agent. Offer %s uses agent %s and agent %s", id.Value, o.agentID, agentID)
		}
		agentID, held = o.agentID, held.plus(o.resources)
	}
	return agentID, held, fault
}

func (m *Master) reject(f *framework, task mesos.TaskInfo, state mesos.TaskState, message string,
	reason mesos.TaskStatus_Reason) {
	m.log.Info("launch rejected", "task", task.TaskID.Value, "reason", reason.String(), "message", message)
	status := masterStatus(task.TaskID.Value, state, message, reason)
	status.AgentID = &task.AgentID
	f.send(update(status))
}

// launch sends the valid tasks to the agent and returns the resources that remain of available.
func (m *Master) launch(f *framework, a *agent, tasks []mesos.TaskInfo, available resources) resources {
	run := make([]link.Proto[mesos.TaskInfo], 0, len(tasks))
	for i := range tasks {
		task := tasks[i]
		complete(f, &task)
		need, fault := m.invalidTask(f, a, &task, available)
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

// complete fills in the fields that an ExecutorInfo may omit, before the task is validated.
func complete(f *framework, task *mesos.TaskInfo) {
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

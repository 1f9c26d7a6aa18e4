package sim

import (
	"strings"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// reconcile sends the states of the given tasks, or of all tasks if none is given.
func (m *master) reconcile(tasks []cluster.TaskRef) {
	if len(tasks) == 0 {
		for _, id := range sorted(m.tasks) {
			m.sendState(m.tasks[id])
		}
		return
	}
	for _, ref := range tasks {
		m.answer(ref.TaskID, ref.AgentID)
	}
}

func (m *master) sendState(t *mtask) {
	m.sendUpdate(cluster.Update{TaskID: t.id, AgentID: t.agent, ExecutorID: t.executor, State: t.state,
		Reason: cluster.ReasonReconciliation, Message: "Reconciliation: Latest task state"})
	if t.state.Terminal() {
		m.w.count(EndWithoutCause)
	}
}

func (m *master) answer(taskID, agentID string) {
	say := func(state cluster.State, message string) {
		u := cluster.Update{TaskID: taskID, AgentID: agentID, State: state, Reason: cluster.ReasonReconciliation,
			Message: "Reconciliation: " + message}
		if state == cluster.Unreachable {
			u.UnreachableSince = m.unreachable[agentID]
		}
		m.sendUpdate(u)
	}
	if t := m.tasks[taskID]; t != nil {
		m.sendState(t)
		return
	}
	switch {
	case m.recovering[agentID], agentID == "" && len(m.recovering) > 0:
		m.w.count(Silence)
	case m.away[taskID] != "" || !m.unreachable[agentID].IsZero():
		say(cluster.Unreachable, "Task is unreachable")
	case m.agents[agentID] != nil:
		say(cluster.Gone, "Task is unknown to the agent")
	default:
		if len(m.recovering) > 0 {
			m.w.count(Silence)
			return
		}
		if a := m.w.agent(agentID); a != nil && strings.HasPrefix(taskID, "question-") {
			a.markAway() // the question was about the agent
		} else if a != nil && a.tasks[taskID] != nil {
			if a.tasks[taskID].process != nil {
				m.w.count(UnknownWhileRunning)
			}
			a.tasks[taskID].loseAgent()
		}
		say(cluster.Unknown, "Task is unknown")
	}
}

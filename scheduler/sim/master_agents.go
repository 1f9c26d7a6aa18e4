package sim

import (
	"maps"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// registeredAgent is a registered agent.
type registeredAgent struct {
	a         *agent
	epoch     int // number of the agent's connection
	connected bool
	executors map[string]cluster.Executor
	other     resources.Amount // used by another framework
}

// register registers an agent, for the first time or again, with its tasks.
func (m *master) register(a *agent) {
	w := m.w
	wasUnknown := m.agents[a.id] == nil && !m.recovering[a.id]
	w.trace.add("%s: agent %s registers", m.id, a.id)
	delete(m.recovering, a.id)
	if !m.unreachable[a.id].IsZero() {
		w.count(UnreachableBack)
		delete(m.unreachable, a.id)
		maps.DeleteFunc(m.away, func(_, agent string) bool { return agent == a.id })
	}
	k := m.agents[a.id]
	if k == nil {
		k = &registeredAgent{a: a}
		m.agents[a.id] = k
	}
	k.connected, k.epoch, k.executors = true, a.epoch, map[string]cluster.Executor{}
	a.with = m
	// A new agent at an address replaces the old one.
	for _, id := range sorted(m.agents) {
		if o := m.agents[id]; id != a.id && o.a.host == a.host {
			m.removeReplaced(o)
		}
	}
	for _, id := range sorted(a.executors) {
		if x := a.executors[id]; !x.dead {
			k.executors[id] = x.info
		}
	}
	for _, id := range sorted(m.tasks) {
		switch t := m.tasks[id]; {
		case t.agent != a.id || a.tasks[id] != nil:
		case t.latest.Terminal():
			delete(m.tasks, id)
		default: // lost on its way: the agent reports it
			w.count(TaskLostOnTheWay)
			a.drop(id, cluster.ReasonReconciliation, "Task unknown to the agent")
		}
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		if by := w.removed[t.launch.Executor.Framework]; by != nil {
			if by != m && !t.state.Terminal() {
				w.count(RemovalForgotten)
			}
			continue
		}
		mt := &mtask{id: id, agent: a.id, executor: t.launch.Executor.ID, res: t.launch.Resources,
			reserved: t.launch.Reserved, state: t.reported, latest: t.state}
		m.tasks[id] = mt
		if wasUnknown && !t.state.Terminal() {
			m.sendUpdate(cluster.Update{TaskID: id, AgentID: a.id, ExecutorID: mt.executor, State: t.state,
				Reason: cluster.ReasonAgentReregistered, Message: "Unknown agent reregistered"})
		}
	}
	m.toAgent(a.id, NumFaults, (*agent).endRemoved)
	m.allocate(w.between(time.Millisecond, 500*time.Millisecond))
}

// removeReplaced removes an agent permanently, because another has its address.
func (m *master) removeReplaced(k *registeredAgent) {
	id := k.a.id
	m.rescind(id)
	for _, t := range m.forgetTasks(id) {
		m.sendUpdate(cluster.Update{TaskID: t.id, AgentID: id, State: cluster.Gone, Reason: cluster.ReasonAgentRemoved,
			Message: "a new agent registered at the same address"})
	}
	delete(m.agents, id)
	m.sendFailure(cluster.Failure{AgentID: id})
}

// forgetTasks drops the tasks of an agent, and returns those that have not ended.
func (m *master) forgetTasks(agentID string) (open []*mtask) {
	for _, id := range sorted(m.tasks) {
		if t := m.tasks[id]; t.agent == agentID {
			delete(m.tasks, id)
			if !t.latest.Terminal() {
				open = append(open, t)
			}
		}
	}
	return open
}

// disconnected handles the end of the agent's connection, unless it has a newer one.
func (m *master) disconnected(a *agent, was int) {
	k := m.agents[a.id]
	if k == nil || !k.connected || k.epoch != was {
		return
	}
	k.connected = false
	m.rescind(a.id)
	epoch := k.epoch
	m.w.after(m.w.between(15*time.Second, 75*time.Second), func() {
		if m.w.master == m && m.agents[a.id] == k && !k.connected && k.epoch == epoch {
			m.markUnreachable(a)
		}
	})
}

func (m *master) markUnreachable(a *agent) {
	w := m.w
	w.count(AgentUnreachable)
	delete(m.agents, a.id)
	m.unreachable[a.id] = w.wall()
	a.markAway()
	for _, t := range m.forgetTasks(a.id) {
		m.away[t.id] = a.id
		m.sendUpdate(cluster.Update{TaskID: t.id, AgentID: a.id, ExecutorID: t.executor, State: cluster.Unreachable,
			Reason: cluster.ReasonAgentRemoved, UnreachableSince: w.wall()})
	}
	m.rescind(a.id)
	m.sendFailure(cluster.Failure{AgentID: a.id})
}

// sendFailure sends an event that Mesos sends at most once.
func (m *master) sendFailure(f cluster.Failure) {
	if !m.w.roll(FailureLost) {
		m.send(f)
	}
}

// executorEnded forwards an agent's report that an executor has ended.
func (m *master) executorEnded(a *agent, id string, status int) {
	k := m.agents[a.id]
	if k == nil {
		return
	}
	delete(k.executors, id)
	m.allocate(m.w.between(time.Millisecond, 300*time.Millisecond))
	m.sendFailure(cluster.Failure{AgentID: a.id, ExecutorID: id, Status: status})
}

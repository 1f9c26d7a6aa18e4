package master

import (
	"context"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// Mesos' defaults. An agent is unreachable if it answers none of 5 pings within 15 s each, or if it has not registered
// again 10 minutes after the master's start.
const (
	DefaultAgentPingTimeout       = 15 * time.Second
	DefaultMaxAgentPingTimeouts   = 5
	DefaultAgentReregisterTimeout = 10 * time.Minute
)

// watchAgents pings the agents until ctx ends. Once, after AgentReregisterTimeout, it gives up the agents that have not
// registered again.
func (m *Master) watchAgents(ctx context.Context) {
	ping := time.NewTicker(m.opts.AgentPingTimeout)
	defer ping.Stop()
	reregister := time.NewTimer(m.opts.AgentReregisterTimeout)
	defer reregister.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			m.pingAgents()
		case <-reregister.C:
			m.expireAbsent()
		}
	}
}

// pingAgents marks the agents as unreachable that have answered none of the last pings, and pings the others.
func (m *Master) pingAgents() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for _, a := range m.agents {
		if a.unanswered >= m.opts.MaxAgentPingTimeouts {
			m.markUnreachable(a)
			continue
		}
		a.unanswered++
		a.orders.Push(link.Order{Ping: true})
	}
}

// AgentTimeout returns how long an agent waits for a ping before it considers its session broken. It is longer than
// the master's own timeout for the agent.
func (m *Master) AgentTimeout() time.Duration {
	return m.opts.AgentPingTimeout * time.Duration(m.opts.MaxAgentPingTimeouts+1)
}

// rescind removes all offers of an agent and sends RESCIND events.
func (m *Master) rescind(a *agent) {
	for _, o := range m.offers {
		if o.agentID == a.id {
			m.dropOffer(o)
			o.framework.send(&scheduler.Event{Type: scheduler.Event_RESCIND,
				Rescind: &scheduler.Event_Rescind{OfferID: mesos.OfferID{Value: o.id}}})
		}
	}
}

// markUnreachable removes an agent that does not answer, and reports its tasks as unreachable. The agent may register
// again.
func (m *Master) markUnreachable(a *agent) {
	const why = "health check timed out"
	since := m.recordUnreachable(a.id, why)
	m.lost[a.id] = m.removeAgent(a, mesos.TASK_UNREACHABLE, mesos.REASON_AGENT_REMOVED, why, since)
}

// recordUnreachable records in the registry that an agent is unreachable since now, and returns that time. If the file
// cannot be written, it is recorded in memory only.
func (m *Master) recordUnreachable(id, why string) *mesos.TimeInfo {
	m.log.Warn("agent unreachable", "agent", id, "reason", why)
	record := agentRecord{Unreachable: time.Now()}
	if err := m.registry.setAgent(id, record); err != nil {
		m.log.Error("unreachable agent recorded in memory only", "agent", id, "error", err)
		m.registry.Agents[id] = record
	}
	return timeInfo(record.Unreachable)
}

// removeAgent removes an agent and ends its session. An agent that is alive can then register again with everything
// that it has. The frameworks get first updates of their tasks on the agent, then the RESCIND of their offers, then the
// agent's failure. removeAgent returns the tasks.
func (m *Master) removeAgent(a *agent, state mesos.TaskState, reason mesos.TaskStatus_Reason, why string,
	since *mesos.TimeInfo) (removed []*task) {
	delete(m.agents, a.id)
	a.orders.Close()
	for _, f := range m.frameworks {
		for _, t := range f.inOrder() {
			if t.agentID != a.id {
				continue
			}
			delete(f.tasks, t.id)
			removed = append(removed, t)
			t.sendLost(state, reason, why, since)
		}
		delete(f.executors, a.id)
		delete(f.filters, a.id)
	}
	m.rescind(a)
	m.sendFailure(a.id)
	return removed
}

// expireAbsent marks the agents in the registry as unreachable that did not register again. The master does not know
// their tasks, so it cannot report them.
func (m *Master) expireAbsent() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for _, id := range m.absentAgents() {
		m.recordUnreachable(id, "did not reregister after master failover")
		m.sendFailure(id)
	}
}

// absentAgents returns the agents that the master expects: those in the registry that have not registered with it yet
// and are neither unreachable nor gone.
func (m *Master) absentAgents() []string {
	var ids []string
	for id, record := range m.registry.Agents {
		if record == (agentRecord{}) && m.agents[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// sendLost reports the state of a task on a removed agent to the task's framework.
func (t *task) sendLost(state mesos.TaskState, reason mesos.TaskStatus_Reason, why string, since *mesos.TimeInfo) {
	status := t.status(why, reason)
	status.State, status.ContainerStatus, status.UnreachableTime = &state, nil, since
	t.framework.send(updateEvent(status))
}

// sendFailure tells all frameworks that an agent has failed.
func (m *Master) sendFailure(agentID string) {
	for _, f := range m.frameworks {
		f.send(&scheduler.Event{Type: scheduler.Event_FAILURE,
			Failure: &scheduler.Event_Failure{AgentID: &mesos.AgentID{Value: agentID}}})
	}
}

func timeInfo(at time.Time) *mesos.TimeInfo { return &mesos.TimeInfo{Nanoseconds: at.UnixNano()} }

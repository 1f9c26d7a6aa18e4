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

// health pings the agents until ctx ends.
func (m *Master) health(ctx context.Context) {
	ping := time.NewTicker(m.opts.AgentPingTimeout)
	defer ping.Stop()
	back := time.NewTimer(m.opts.AgentReregisterTimeout)
	defer back.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ping.C:
			m.ping()
		case <-back.C:
			m.expireAbsent()
		}
	}
}

// ping marks agents unreachable that have answered none of the last pings, and pings the others.
func (m *Master) ping() {
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

// rescind withdraws all offers of an agent and sends RESCIND events.
func (m *Master) rescind(a *agent) {
	for _, o := range m.offers {
		if o.agentID == a.id {
			m.dropOffer(o)
			o.framework.send(&scheduler.Event{Type: scheduler.Event_RESCIND,
				Rescind: &scheduler.Event_Rescind{OfferID: mesos.OfferID{Value: o.id}}})
		}
	}
}

// markUnreachable removes an agent until it registers again.
func (m *Master) markUnreachable(a *agent) {
	const why = "health check timed out"
	since := m.recordUnreachable(a.id, why)
	m.lost[a.id] = m.removeAgent(a, mesos.TASK_UNREACHABLE, mesos.REASON_AGENT_REMOVED, why, since)
}

// recordUnreachable records that an agent is unreachable, and returns since when.
func (m *Master) recordUnreachable(id, why string) *mesos.TimeInfo {
	m.log.Warn("agent unreachable", "agent", id, "reason", why)
	record := agentRecord{Unreachable: time.Now()}
	if err := m.registry.setAgent(id, record); err != nil {
		m.log.Error("unreachable agent recorded in memory only", "agent", id, "error", err)
		m.registry.Agents[id] = record
	}
	return timeInfo(record.Unreachable)
}

// removeAgent reports to the frameworks first their tasks on an agent, then their rescinded offers, then the agent's
// failure. It ends the agent's session, so that the agent, if it can, registers again with everything that it has. It
// returns the tasks.
func (m *Master) removeAgent(a *agent, state mesos.TaskState, reason mesos.TaskStatus_Reason, why string,
	since *mesos.TimeInfo) (had []*task) {
	delete(m.agents, a.id)
	a.orders.Close()
	for _, f := range m.frameworks {
		for _, t := range f.inOrder() {
			if t.agentID != a.id {
				continue
			}
			delete(f.tasks, t.id)
			had = append(had, t)
			t.sendLost(state, reason, why, since)
		}
		delete(f.executors, a.id)
		delete(f.filters, a.id)
	}
	m.rescind(a)
	m.sendFailure(a.id)
	return had
}

// expireAbsent marks the agents in the registry unreachable that did not register again. Their tasks are unknown to
// this master, so it cannot report them.
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

// absentAgents returns the agents in the registry that have not registered with this master yet.
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
	t.framework.send(update(status))
}

func (m *Master) sendFailure(agentID string) {
	for _, f := range m.frameworks {
		f.send(&scheduler.Event{Type: scheduler.Event_FAILURE,
			Failure: &scheduler.Event_Failure{AgentID: &mesos.AgentID{Value: agentID}}})
	}
}

func timeInfo(at time.Time) *mesos.TimeInfo { return &mesos.TimeInfo{Nanoseconds: at.UnixNano()} }

package master

import (
	"context"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// Mesos' own defaults: an agent that answers none of 5 pings in 15 s each is unreachable, and so is one that is not back 10 minutes
// after the master's start.
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
			m.giveUpAway()
		}
	}
}

// ping gives up those agents that answered none of the last pings, and pings all.
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

// AgentTimeout is how long an agent waits for a ping before it takes its session for broken: longer than the master waits for it.
func (m *Master) AgentTimeout() time.Duration {
	return m.opts.AgentPingTimeout * time.Duration(m.opts.MaxAgentPingTimeouts+1)
}

// rescind takes all offers of an agent back, and says so.
func (m *Master) rescind(a *agent) {
	for _, f := range m.frameworks {
		for _, o := range f.offers {
			if o.agentID == a.id {
				m.dropOffer(o)
				f.send(&scheduler.Event{Type: scheduler.Event_RESCIND, Rescind: &scheduler.Event_Rescind{OfferID: mesos.OfferID{Value: o.id}}})
			}
		}
	}
}

// markUnreachable gives an agent up until it registers again.
func (m *Master) markUnreachable(a *agent) {
	at, why := time.Now(), "health check timed out"
	if err := m.registry.markUnreachable(a.id, at); err != nil {
		m.log.Error("unreachable agent noted in memory only", "agent", a.id, "error", err)
	}
	m.log.Warn("agent is unreachable", "agent", a.id, "reason", why)
	m.lost[a.id] = a
	m.unreachable[a.id] = at
	m.removeAgent(a, mesos.TASK_UNREACHABLE, mesos.REASON_AGENT_REMOVED, why, timeInfo(at))
}

// removeAgent reports to the frameworks their tasks on an agent, then their offers, then the agent. Its session ends, so that
// it registers again, with all that it has, if it still can.
func (m *Master) removeAgent(a *agent, state mesos.TaskState, reason mesos.TaskStatus_Reason, why string, since *mesos.TimeInfo) {
	delete(m.agents, a.id)
	a.orders.Close()
	for _, f := range m.frameworks {
		for _, t := range f.inOrder() {
			if t.agentID != a.id {
				continue
			}
			m.release(t)
			delete(f.tasks, t.id)
			a.had = append(a.had, lostTask{f.id, t})
			f.sendLost(t, state, reason, why, since)
		}
		for _, e := range f.executors[a.id] {
			m.giveBack(a.id, e.resources)
		}
		delete(f.executors, a.id)
		delete(f.filters, a.id)
	}
	m.rescind(a)
	m.sendFailure(a.id)
}

// giveUpAway gives up the agents of the registry that did not come back. Whose tasks were there nobody knows.
func (m *Master) giveUpAway() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	at := time.Now()
	for id := range m.away {
		if err := m.registry.markUnreachable(id, at); err != nil {
			m.log.Error("unreachable agent noted in memory only", "agent", id, "error", err)
		}
		m.log.Warn("agent is unreachable", "agent", id, "reason", "did not reregister after master failover")
		delete(m.away, id)
		m.unreachable[id] = at
		m.sendFailure(id)
	}
}

// lostTask is a task that was on an agent when it was given up.
type lostTask struct {
	framework string
	task      *task
}

// sendLost reports to a framework the state of its task on an agent that was given up.
func (f *framework) sendLost(t *task, state mesos.TaskState, reason mesos.TaskStatus_Reason, why string, since *mesos.TimeInfo) {
	status := t.status(why, reason)
	status.State, status.ContainerStatus, status.UnreachableTime = &state, nil, since
	f.send(update(status))
}

func (m *Master) sendFailure(agentID string) {
	for _, f := range m.frameworks {
		f.send(&scheduler.Event{Type: scheduler.Event_FAILURE, Failure: &scheduler.Event_Failure{AgentID: &mesos.AgentID{Value: agentID}}})
	}
}

func timeInfo(at time.Time) *mesos.TimeInfo { return &mesos.TimeInfo{Nanoseconds: at.UnixNano()} }

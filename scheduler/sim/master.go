package sim

import (
	"fmt"
	"maps"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// master is one run of a Mesos master, as one framework sees it.
type master struct {
	w  *world
	id string
	fw string
	// role is the framework's role, with which the master completes the executors that agents report.
	role string

	agents      map[string]*registeredAgent
	recovering  map[string]bool // agents that were registered with the last master and are not back yet
	unreachable map[string]time.Time
	tasks       map[string]*mtask
	away        map[string]string // tasks of unreachable agents: task → agent

	stream     *stream
	suppressed bool
	offering
}

// mtask is a task in the master.
type mtask struct {
	id, agent, executor string
	res                 resources.Amount
	reserved            []cluster.Reserved // reserved part of res
	state               cluster.State      // state of the last update that was forwarded
	latest              cluster.State      // newest state that the agent has
}

// newMaster elects a master. A master with memory knows which agents will come back.
func newMaster(w *world, memory bool) *master {
	w.masters++
	m := &master{w: w, id: fmt.Sprintf("master-%d", w.masters), agents: map[string]*registeredAgent{},
		recovering:  map[string]bool{},
		unreachable: map[string]time.Time{}, tasks: map[string]*mtask{}, away: map[string]string{}}
	m.offering = newOffering(w, 200*time.Millisecond, m.send, m.makeOffers)
	if len(w.removed) > 0 { // even a master with memory does not know of these removals yet
		w.after(w.between(time.Minute, 20*time.Minute), func() {
			if w.master == m {
				m.repeatRemoval()
			}
		})
	}
	if old := w.master; memory && old != nil {
		for id := range old.agents {
			m.recovering[id] = true
		}
		maps.Copy(m.recovering, old.recovering)
		maps.Copy(m.unreachable, old.unreachable)
		m.awaitAgents()
	}
	return m
}

// awaitAgents marks agents as unreachable that do not come back in time.
func (m *master) awaitAgents() {
	w := m.w
	w.after(10*time.Minute, func() {
		if w.master != m {
			return
		}
		for _, id := range sorted(m.recovering) {
			delete(m.recovering, id)
			m.unreachable[id] = w.wall()
			if a := w.agent(id); a != nil {
				a.markAway()
			}
		}
	})
}

// repeatRemoval removes the frameworks that a former master has removed, because their failover timeout has passed for
// this master, too.
func (m *master) repeatRemoval() {
	for id := range m.w.removed {
		m.w.removed[id] = m
	}
	for _, id := range sorted(m.agents) {
		m.toAgent(id, NumFaults, (*agent).endRemoved)
	}
}

func (m *master) subscriber() *stream { return m.stream }

func (m *master) isVoid(s *stream) bool { return m.stream != s }

func (m *master) send(e cluster.Event) {
	if m.stream == nil {
		return
	}
	m.w.trace.add("%s sends %s", m.id, shown{e})
	m.stream.send(e)
}

// subscribe makes a stream the present one.
func (m *master) subscribe(s *stream, fw string) {
	if old := m.stream; old != nil {
		m.w.count(SecondSubscriber)
		old.send(cluster.FrameworkError{Message: "Framework failed over", FailedOver: true})
		old.open = false
		// Filters end only when the master sees the framework's connection end.
		for _, f := range m.filters {
			if f.until > m.w.now {
				m.w.count(FiltersKept)
				break
			}
		}
	}
	m.stream, m.fw, m.role = s, fw, s.sess.l.role
	if m.role == "*" {
		m.role = "" // equivalent: the default role
	}
	m.suppressed = false
	clear(m.offers)
	m.send(cluster.Subscribed{FrameworkID: fw, MasterID: m.id})
	m.allocate(m.w.between(time.Millisecond, 500*time.Millisecond))
}

// lost handles the end of the framework's connection.
func (m *master) lost(s *stream) {
	if m == nil || m.stream != s {
		return
	}
	s.open = false
	m.stream = nil
	clear(m.offers)
	clear(m.filters)
}

// sendUpdate sends an update of the master's own, without a uuid.
func (m *master) sendUpdate(u cluster.Update) {
	u.Source = cluster.FromMaster
	u.Timestamp = m.w.wall()
	m.send(u)
}

// toAgent sends a message over the agent's connection, after earlier ones. It is lost if the connection breaks.
func (m *master) toAgent(id string, lost Fault, do func(*agent)) {
	k := m.agents[id]
	if k == nil || !k.connected {
		return
	}
	if k.a.online() && m.w.roll(lost) {
		if lost == RunLost {
			// A launch is lost only with the connection; both sides find that out when the agent registers again.
			k.a.disconnect()
			k.a.connect(m.w.between(time.Second, 30*time.Second))
		}
		return
	}
	a, epoch := k.a, k.epoch
	at := max(a.inLast, m.w.now+m.w.latency())
	a.inLast = at
	m.w.after(at-m.w.now, func() {
		if a.epoch == epoch && a.online() {
			do(a)
		}
	})
}

func (m *master) kill(k cluster.Kill) {
	t := m.tasks[k.TaskID]
	if t == nil {
		m.answer(k.TaskID, k.AgentID)
		return
	}
	m.toAgent(t.agent, KillLost, func(a *agent) { a.kill(k.TaskID, k.Grace) })
}

func (m *master) shutdown(executorID, agentID string) {
	m.toAgent(agentID, ShutdownLost, func(a *agent) { a.shutdown(executorID) })
}

// acknowledge forwards an acknowledgement.
func (m *master) acknowledge(ack cluster.Ack) {
	t := m.tasks[ack.TaskID]
	if t != nil && t.state.Terminal() && t.latest.Terminal() {
		delete(m.tasks, ack.TaskID)
	}
	m.toAgent(ack.AgentID, AckLost, func(a *agent) { a.acknowledge(ack.TaskID, ack.UUID) })
}

// update forwards an agent's update, if the master knows the framework.
func (m *master) update(a *agent, u cluster.Update, framework string, latest cluster.State) {
	if m.agents[a.id] == nil || m.w.removed[framework] != nil {
		return
	}
	if t := m.tasks[u.TaskID]; t != nil {
		was := t.latest.Terminal()
		t.state = u.State
		if !was {
			t.latest = latest
			if latest.Terminal() {
				m.allocate(m.w.between(time.Millisecond, 300*time.Millisecond))
			}
		}
	}
	m.send(u)
}

package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/resources"
)

// master is one run of a Mesos master, as far as one framework sees it.
type master struct {
	w  *world
	id string
	fw string
	// role of the framework, with which the master completes what it is told of executors.
	role string

	agents      map[string]*known
	recovering  map[string]bool // registered with the last master, not back yet
	unreachable map[string]time.Time
	tasks       map[string]*mtask
	away        map[string]string // tasks of unreachable agents: task → agent

	stream     *stream
	suppressed bool
	offers     map[string]*offer
	filters    map[string]filter // by agent
	allocAt    time.Duration     // the planned allocation, or zero
}

// known is a registered agent.
type known struct {
	a         *agent
	epoch     int // of the agent's connection
	connected bool
	executors map[string]cluster.Executor
	other     resources.Amount // what another framework uses
}

// mtask is a task as the master knows it.
type mtask struct {
	id, agent, executor string
	res                 resources.Amount
	reserved            []cluster.Reserved // of res
	state               cluster.State      // of the last update passed on
	latest              cluster.State      // of the newest that the agent has
}

// newMaster elects a master; one with memory knows which agents are to come back.
func newMaster(w *world, memory bool) *master {
	w.masters++
	m := &master{w: w, id: fmt.Sprintf("master-%d", w.masters), agents: map[string]*known{}, recovering: map[string]bool{},
		unreachable: map[string]time.Time{}, tasks: map[string]*mtask{}, away: map[string]string{}, offers: map[string]*offer{}, filters: map[string]filter{}}
	if len(w.removed) > 0 { // of which it knows nothing yet, with memory or without
		w.after(w.between(time.Minute, 20*time.Minute), func() {
			if w.master == m {
				m.removeAgain()
			}
		})
	}
	if old := w.master; memory && old != nil {
		for id := range old.agents {
			m.recovering[id] = true
		}
		for id := range old.recovering {
			m.recovering[id] = true
		}
		for id, at := range old.unreachable {
			m.unreachable[id] = at
		}
		for _, id := range sorted(m.recovering) {
			// Those that do not come back in time become unreachable.
			w.after(10*time.Minute, func() {
				if w.master == m && m.recovering[id] {
					delete(m.recovering, id)
					m.unreachable[id] = w.wall()
					if a := w.agent(id); a != nil {
						a.wasAway()
					}
				}
			})
		}
	}
	return m
}

// removeAgain ends what is left of frameworks that another master has removed: their failover
// timeout is over for this one too.
func (m *master) removeAgain() {
	for id := range m.w.removed {
		m.w.removedBy[id] = m
	}
	for _, id := range sorted(m.agents) {
		m.toAgent(id, NumFaults, (*agent).endRemoved)
	}
}

func (m *master) tell(e cluster.Event) {
	if m.stream == nil {
		return
	}
	if m.w.trace.on() {
		m.w.trace.add("%s tells %s", m.id, showEvent(e))
	}
	m.stream.tell(e)
}

// subscribe lets a stream take over.
func (m *master) subscribe(s *stream, fw string) {
	if old := m.stream; old != nil {
		m.w.count(SecondSubscriber)
		old.tell(cluster.FrameworkError{Message: "Framework failed over", FailedOver: true})
		old.open = false
		// Filters go only when the master sees the framework's connection end.
		for _, f := range m.filters {
			if f.until > m.w.now {
				m.w.count(FiltersKept)
				break
			}
		}
	}
	m.stream, m.fw, m.role = s, fw, s.sess.l.role
	if m.role == "*" {
		m.role = "" // which is the same, the default
	}
	m.suppressed = false
	clear(m.offers)
	m.tell(cluster.Subscribed{FrameworkID: fw, MasterID: m.id})
	m.allocate(m.w.between(time.Millisecond, 500*time.Millisecond))
}

// lost: the framework's connection is gone.
func (m *master) lost(s *stream) {
	if m == nil || m.stream != s {
		return
	}
	s.open = false
	m.stream = nil
	clear(m.offers)
	clear(m.filters)
}

// say is an update of the master's own: without uuid.
func (m *master) say(u cluster.Update) {
	u.Source = cluster.FromMaster
	u.Timestamp = m.w.wall()
	m.tell(u)
}

// toAgent sends a message over the agent's connection, in order; it is lost when
// that breaks.
func (m *master) toAgent(id string, lost Fault, do func(*agent)) {
	k := m.agents[id]
	if k == nil || !k.connected {
		return
	}
	if k.a.online() && m.w.dice(lost) {
		if lost == RunLost {
			// A launch is lost only with the connection; both sides make it up as the agent registers again.
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

// reconcile answers questions about tasks; about none means all.
func (m *master) reconcile(tasks []cluster.TaskRef) {
	if len(tasks) == 0 {
		for _, id := range sorted(m.tasks) {
			m.sayState(m.tasks[id])
		}
		return
	}
	for _, ref := range tasks {
		m.answer(ref.TaskID, ref.AgentID)
	}
}

func (m *master) sayState(t *mtask) {
	m.say(cluster.Update{TaskID: t.id, AgentID: t.agent, ExecutorID: t.executor, State: t.state, Reason: cluster.ReasonReconciliation, Message: "Reconciliation: Latest task state"})
	if over(t.state) {
		m.w.count(EndWithoutCause)
	}
}

func (m *master) answer(taskID, agentID string) {
	say := func(state cluster.State, message string) {
		u := cluster.Update{TaskID: taskID, AgentID: agentID, State: state, Reason: cluster.ReasonReconciliation, Message: "Reconciliation: " + message}
		if state == cluster.Unreachable {
			u.UnreachableSince = m.unreachable[agentID]
		}
		m.say(u)
	}
	if t := m.tasks[taskID]; t != nil {
		m.sayState(t)
		return
	}
	switch {
	case m.recovering[agentID], agentID == "" && len(m.recovering) > 0:
		m.w.count(Silence)
	case m.away[taskID] != "" || !m.unreachable[agentID].IsZero():
		say(cluster.Unreachable, "Task is unreachable")
	case m.agents[agentID] != nil && m.w.old:
		m.w.count(UnknownToAgent)
		say(cluster.Unknown, "Task is unknown to the agent")
	case m.agents[agentID] != nil:
		say(cluster.Gone, "Task is unknown to the agent")
	default:
		if len(m.recovering) > 0 {
			m.w.count(Silence)
			return
		}
		if a := m.w.agent(agentID); a != nil && strings.HasPrefix(taskID, "question-") {
			a.wasAway() // asked for the agent's sake
		} else if a != nil && a.tasks[taskID] != nil {
			if a.tasks[taskID].running() {
				m.w.count(UnknownWhileRunning)
			}
			a.tasks[taskID].goesAway()
		}
		say(cluster.Unknown, "Task is unknown")
	}
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

// acknowledge passes an acknowledgement on.
func (m *master) acknowledge(ack cluster.Ack) {
	t := m.tasks[ack.TaskID]
	if t != nil && over(t.state) && over(t.latest) {
		delete(m.tasks, ack.TaskID)
	}
	m.toAgent(ack.AgentID, AckLost, func(a *agent) { a.acknowledged(ack.TaskID, ack.UUID) })
}

// update passes on what an agent told, of a framework that it knows.
func (m *master) update(a *agent, u cluster.Update, framework string, latest cluster.State) {
	if m.agents[a.id] == nil || m.w.removed[framework] {
		return
	}
	if t := m.tasks[u.TaskID]; t != nil {
		was := over(t.latest)
		t.state = u.State
		if !was {
			t.latest = latest
			if over(latest) {
				m.allocate(m.w.between(time.Millisecond, 300*time.Millisecond))
			}
		}
	}
	m.tell(u)
}

// executorEnded: an agent tells that an executor is gone.
func (m *master) executorEnded(a *agent, id string, status int) {
	k := m.agents[a.id]
	if k == nil {
		return
	}
	delete(k.executors, id)
	m.allocate(m.w.between(time.Millisecond, 300*time.Millisecond))
	if m.w.dice(FailureLost) {
		return
	}
	m.tell(cluster.Failure{AgentID: a.id, ExecutorID: id, Status: status})
}

// register takes an agent in, for the first time or again, with its tasks.
func (m *master) register(a *agent) {
	w := m.w
	wasUnknown := m.agents[a.id] == nil && !m.recovering[a.id]
	if w.trace.on() {
		w.trace.add("%s: agent %s registers", m.id, a.id)
	}
	delete(m.recovering, a.id)
	if !m.unreachable[a.id].IsZero() {
		w.count(UnreachableBack)
		delete(m.unreachable, a.id)
		for _, id := range sorted(m.away) {
			if m.away[id] == a.id {
				delete(m.away, id)
			}
		}
	}
	k := m.agents[a.id]
	if k == nil {
		k = &known{a: a}
		m.agents[a.id] = k
	}
	k.connected, k.epoch, k.executors = true, a.epoch, map[string]cluster.Executor{}
	a.with = m
	// A new agent at an address takes the old one's place.
	for _, id := range sorted(m.agents) {
		if o := m.agents[id]; id != a.id && o.a.host == a.host {
			m.replaced(o)
		}
	}
	for _, id := range sorted(a.executors) {
		if x := a.executors[id]; !x.dead {
			k.executors[id] = x.info
		}
	}
	for _, id := range sorted(m.tasks) {
		t := m.tasks[id]
		if t.agent == a.id && a.tasks[id] == nil && !over(t.latest) {
			// Lost on its way: the agent says so.
			w.count(TaskLostOnTheWay)
			a.drop(id, cluster.ReasonReconciliation, "Task unknown to the agent")
		} else if t.agent == a.id && a.tasks[id] == nil {
			delete(m.tasks, id)
		}
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		if of := t.launch.Executor.Framework; w.removed[of] {
			if w.removedBy[of] != m && !over(t.state) {
				w.count(RemovalForgotten)
			}
			continue
		}
		mt := &mtask{id: id, agent: a.id, executor: t.launch.Executor.ID, res: t.launch.Resources, reserved: t.launch.Reserved, state: t.told, latest: t.state}
		m.tasks[id] = mt
		if wasUnknown && !over(t.state) {
			m.say(cluster.Update{TaskID: id, AgentID: a.id, ExecutorID: mt.executor, State: t.state, Reason: cluster.ReasonAgentReregistered, Message: "Unknown agent reregistered"})
		}
	}
	m.toAgent(a.id, NumFaults, (*agent).endRemoved)
	m.allocate(w.between(time.Millisecond, 500*time.Millisecond))
}

// replaced: the agent is gone for good, another has its address.
func (m *master) replaced(k *known) {
	id := k.a.id
	m.rescind(id)
	for _, tid := range sorted(m.tasks) {
		if t := m.tasks[tid]; t.agent == id {
			delete(m.tasks, tid)
			if !over(t.latest) {
				m.say(cluster.Update{TaskID: tid, AgentID: id, State: cluster.Gone, Reason: "REASON_SLAVE_REMOVED", Message: "a new agent registered at the same address"})
			}
		}
	}
	delete(m.agents, id)
	if !m.w.dice(FailureLost) {
		m.tell(cluster.Failure{AgentID: id})
	}
}

// disconnected: the agent's connection broke, if it has no newer one.
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
	a.wasAway()
	for _, id := range sorted(m.tasks) {
		t := m.tasks[id]
		if t.agent != a.id {
			continue
		}
		delete(m.tasks, id)
		if over(t.latest) {
			continue
		}
		m.away[id] = a.id
		m.say(cluster.Update{TaskID: id, AgentID: a.id, ExecutorID: t.executor, State: cluster.Unreachable, Reason: "REASON_SLAVE_REMOVED", UnreachableSince: w.wall()})
	}
	m.rescind(a.id)
	if !w.dice(FailureLost) {
		m.tell(cluster.Failure{AgentID: a.id})
	}
}

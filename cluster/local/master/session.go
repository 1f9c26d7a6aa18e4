package master

import (
	"context"
	"errors"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// session is one registration of an agent.
type session struct {
	master *Master
	agent  *agent
	orders *queue.Queue[link.Order]
}

// Orders implements link.Session.
func (s *session) Orders() ([]link.Order, error) { return s.orders.Next(context.Background()) }

// Close implements link.Session. As in Mesos, the agent's offers are withdrawn. Its tasks remain until it registers
// again or becomes unreachable.
func (s *session) Close() {
	s.orders.Close()
	m, a := s.master, s.agent
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.agents[a.id] != a || a.disconnected {
		return
	}
	m.log.Info("agent disconnected", "agent", a.id)
	a.disconnected = true
	m.rescind(a)
}

// Report implements link.Session. It rejects news if the session has ended, because the next registration of the agent
// contains them.
func (s *session) Report(news link.News) error {
	m, a := s.master, s.agent
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.agents[a.id] != a || a.disconnected {
		return queue.ErrClosed
	}
	switch {
	case news.Pong:
		a.unanswered = 0
	case news.Update != nil:
		m.forwardUpdate(a, news.Update)
	case news.Ended != nil:
		m.executorEnded(a, news.Ended)
	case news.Message != nil:
		m.forwardMessage(a, news.Message)
	}
	return nil
}

// Register implements link.Upstream. It restores the frameworks that only the agent remembers, and shuts down removed
// frameworks on the agent. If the agent is not in the registry or was unreachable, connected frameworks get updates of
// its tasks. If the agent has registered with this master before, the tasks that it does not report never reached it,
// and are dropped.
func (m *Master) Register(_ context.Context, r link.Registration) (link.Session, error) {
	info := r.Agent.Of
	id := info.GetID().GetValue()
	m.mu.Lock()
	defer m.mu.Unlock()
	record, inRegistry := m.registry.Agents[id]
	switch {
	case m.closed:
		return nil, errClosed
	case id == "":
		return nil, errors.New("register an agent at the local master: its id is empty")
	case record.Gone:
		return nil, link.ErrGone
	}
	if err := m.registry.setAgent(id, agentRecord{}); err != nil {
		return nil, err
	}
	registeredBefore := m.agents[id] != nil
	wasUnreachable := !record.Unreachable.IsZero()
	remembered, reason := inRegistry && !wasUnreachable, "Unknown agent reregistered"
	if wasUnreachable {
		reason = "Unreachable agent re-reregistered" // Mesos' spelling
	}
	a := m.addAgent(id, info)

	for _, f := range r.Frameworks {
		if frameworkID := f.Of.GetID().GetValue(); m.registry.isRemoved(frameworkID) {
			a.orders.Push(link.Order{ShutdownFramework: frameworkID})
		} else if m.frameworks[frameworkID] == nil {
			m.startExpiry(m.addFramework(f.Of))
		}
	}
	for _, e := range r.Executors {
		if f := m.frameworks[e.Of.GetFrameworkID().GetValue()]; f != nil &&
			f.executors[id][e.Of.ExecutorID.Value] == nil {
			m.addExecutor(f, a, &e.Of)
		}
	}
	for i := range r.Tasks {
		s := &r.Tasks[i]
		f := m.frameworks[s.Framework]
		if f == nil {
			continue
		}
		t := f.tasks[s.Task.Of.TaskID.Value]
		if t == nil {
			t = m.addTask(f, a, &s.Task.Of)
		}
		t.recover(s)
		if !remembered {
			status := t.status(reason, mesos.REASON_AGENT_REREGISTERED)
			status.State = t.latest.Enum() // a copy, because t changes while this is sent
			f.send(updateEvent(status))
		}
		if link.Terminal(t.latest) {
			m.release(t)
		}
	}
	if registeredBefore {
		m.dropMissing(a, &r)
	}
	for _, f := range m.frameworks {
		if f.stream != nil {
			a.orders.Push(link.Order{Subscribed: &link.Proto[mesos.FrameworkInfo]{Of: f.info}})
		}
	}
	m.log.Info("agent registered", "agent", id, "tasks", len(r.Tasks), "executors", len(r.Executors), "remembered",
		remembered)
	m.wake()
	return &session{m, a, a.orders}, nil
}

// maxOrders limits the queued orders of an agent; the session of a slower agent ends.
const maxOrders = 100_000

// addAgent adds an agent, whose resources are offered from then on. It replaces the agent's previous registration.
func (m *Master) addAgent(id string, info mesos.AgentInfo) *agent {
	a := &agent{id: id, info: info, total: amount(info.Resources), orders: queue.New[link.Order](maxOrders)}
	delete(m.lost, id)
	if before := m.agents[id]; before != nil {
		before.orders.Close()
		a.used = before.used
	}
	m.agents[id] = a
	return a
}

// dropMissing removes the tasks and executors that an agent does not report when it registers again. It reports these
// tasks as dropped unless their end was reported before.
func (m *Master) dropMissing(a *agent, r *link.Registration) {
	type key struct{ framework, id string }
	tasks, executors := map[key]bool{}, map[key]bool{}
	for _, t := range r.Tasks {
		tasks[key{t.Framework, t.Task.Of.TaskID.Value}] = true
	}
	for _, e := range r.Executors {
		executors[key{e.Of.GetFrameworkID().GetValue(), e.Of.ExecutorID.Value}] = true
	}
	for _, f := range m.frameworks {
		for _, t := range f.inOrder() {
			if t.agentID != a.id || tasks[key{f.id, t.id}] {
				continue
			}
			m.release(t)
			delete(f.tasks, t.id)
			if !link.Terminal(t.reported) {
				status := t.status("Reconciliation: task unknown to the agent", mesos.REASON_RECONCILIATION)
				status.State = mesos.TASK_DROPPED.Enum()
				f.send(updateEvent(status))
			}
		}
		for id, e := range f.executors[a.id] {
			if !executors[key{f.id, id}] {
				delete(f.executors[a.id], id)
				m.free(a.id, amount(e.Resources))
			}
		}
	}
}

// recover takes over the state of a task from its agent.
func (t *task) recover(s *link.TaskState) {
	t.latest = s.Latest
	if s.Status != nil {
		last := &s.Status.Of
		t.reported, t.uuid, t.container = last.GetState(), last.UUID, last.ContainerStatus
	}
}

// addExecutor adds an executor, whose resources are in use from then on.
func (m *Master) addExecutor(f *framework, a *agent, info *mesos.ExecutorInfo) {
	if f.executors[a.id] == nil {
		f.executors[a.id] = map[string]*mesos.ExecutorInfo{}
	}
	f.executors[a.id][info.ExecutorID.Value] = info
	a.used = a.used.plus(amount(info.Resources))
}

// addTask adds a task, whose resources are in use from then on.
func (m *Master) addTask(f *framework, a *agent, info *mesos.TaskInfo) *task {
	m.nextTask++
	t := &task{
		id: info.TaskID.Value, agentID: a.id, framework: f, executor: info.Executor, resources: amount(info.Resources),
		reported: mesos.TASK_STAGING, latest: mesos.TASK_STAGING, order: m.nextTask,
	}
	f.tasks[t.id] = t
	a.used = a.used.plus(t.resources)
	return t
}

// release frees a task's resources. It does nothing if they were freed before.
func (m *Master) release(t *task) {
	m.free(t.agentID, t.resources)
	t.resources = resources{}
}

// forwardUpdate passes an update on to the framework. As in Mesos, it does so even for a task that the master does not
// know.
func (m *Master) forwardUpdate(a *agent, u *link.StatusUpdate) {
	status := &u.Status.Of
	f := m.frameworks[u.Framework]
	if f == nil {
		m.log.Warn("update ignored, its framework is unknown", "framework", u.Framework, "task", status.TaskID.Value)
		return
	}
	f.send(updateEvent(*status))
	t := f.tasks[status.TaskID.Value]
	if t == nil {
		return
	}
	t.reported, t.uuid, t.latest = status.GetState(), status.UUID, u.Latest
	if status.ContainerStatus != nil {
		t.container = status.ContainerStatus
	}
	if link.Terminal(t.latest) || link.Terminal(t.reported) {
		m.release(t)
	}
	if f.executors[a.id][t.executor.ExecutorID.Value] == nil && !link.Terminal(t.latest) {
		// The task lives although the executor of its launch has ended, so the agent has started a new executor.
		m.addExecutor(f, a, t.executor)
	}
}

// executorEnded frees the resources of an executor that has ended, and tells its framework.
func (m *Master) executorEnded(a *agent, ended *link.ExecutorEnded) {
	f := m.frameworks[ended.Framework]
	if f == nil {
		return
	}
	e := f.executors[a.id][ended.Executor.Executor]
	if e == nil {
		return
	}
	delete(f.executors[a.id], ended.Executor.Executor)
	m.free(a.id, amount(e.Resources))
	status := int32(ended.WaitStatus)
	f.send(&scheduler.Event{Type: scheduler.Event_FAILURE, Failure: &scheduler.Event_Failure{
		AgentID: &mesos.AgentID{Value: a.id}, ExecutorID: &e.ExecutorID, Status: &status,
	}})
}

// forwardMessage passes an executor's message on to the framework. As in Mesos, a message to a disconnected framework
// is lost.
func (m *Master) forwardMessage(a *agent, message *link.Message) {
	if f := m.frameworks[message.Framework]; f != nil {
		f.send(&scheduler.Event{Type: scheduler.Event_MESSAGE, Message: &scheduler.Event_Message{
			AgentID: mesos.AgentID{Value: a.id}, ExecutorID: mesos.ExecutorID{Value: message.Executor.Executor},
			Data: message.Data,
		}})
	}
}

package master

import (
	"errors"
	"fmt"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// Register implements Upstream. Frameworks that only the agent remembers come
// back with it, those that were removed are shut down on it. A connected framework is
// told of the tasks of an agent that this master did not remember, or had given
// up. An agent that is still registered has restarted; tasks that it has not got never reached it.
func (m *Master) Register(link AgentLink, still Recovered) error {
	info := link.Info()
	id := info.GetID().GetValue()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	if id == "" {
		return errors.New("register an agent at the local master: its id is empty")
	}
	if m.registry.isGone(id) {
		m.refuseGone(link, still)
		return fmt.Errorf("register agent %s at the local master: %w", id, ErrGone)
	}
	if err := m.registry.addAgent(id); err != nil {
		return err
	}
	known := m.agents[id] != nil
	m.removeReplaced(&info)
	remembered, news := known || m.away[id], "Unknown agent reregistered"
	if !m.unreachable[id].IsZero() {
		news = "Unreachable agent re-reregistered" // as Mesos spells it
	}
	delete(m.away, id)
	delete(m.unreachable, id)
	a := m.admit(id, link)

	for _, info := range still.Frameworks {
		m.recoverFramework(a, info)
	}
	for i := range still.Executors {
		e := &still.Executors[i]
		if f := m.frameworks[e.GetFrameworkID().GetValue()]; f != nil && f.executors[id][e.ExecutorID.Value] == nil {
			m.addExecutor(f, a, *e).seen = true
		}
	}
	for i := range still.Tasks {
		s := &still.Tasks[i]
		f := m.frameworks[s.FrameworkID]
		if f == nil {
			continue
		}
		t := f.tasks[s.Task.TaskID.Value]
		if t == nil {
			t = m.addTask(f, a, &s.Task)
		}
		t.recover(s)
		if !remembered {
			status := t.status(news, mesos.REASON_AGENT_REREGISTERED)
			status.State = &t.latest
			f.send(update(status))
		}
		if terminal(t.latest) {
			m.release(f, t)
		}
	}
	if known {
		m.dropMissing(a, still)
	}
	for of, policy := range a.kills {
		delete(a.kills, of)
		a.courier.send(func() { link.KillTask(of.framework, of.task, policy) })
	}
	for _, f := range m.frameworks {
		if f.stream != nil {
			info := f.info
			a.courier.send(func() { link.Subscribed(info) })
		}
	}
	m.log.Info("agent registered", "agent", id, "tasks", len(still.Tasks), "executors", len(still.Executors), "remembered", remembered)
	m.wake()
	return nil
}

// admit makes the agent one that is offered, in place of the one that it was before.
func (m *Master) admit(id string, link AgentLink) *agent {
	info := link.Info()
	reserved := m.registry.reserved(id)
	total := parse(info.Resources).minus(reserved.unreserved()).plus(reserved).offered()
	a := &agent{id: id, info: info, link: link, total: total, free: total, courier: newCourier(), kills: map[killKey]*mesos.KillPolicy{}}
	if before := m.lost[id]; before != nil {
		before.courier.close()
		delete(m.lost, id)
	}
	if before := m.agents[id]; before != nil {
		before.courier.close()
		a.kills = before.kills
		a.used = before.used
		a.free = a.total.minus(a.used)
	}
	m.agents[id] = a
	m.background.Go(a.courier.run)
	return a
}

// removeReplaced removes an agent that is disconnected when another one registers at its address, as one does that has
// lost its folder: it can't come back, and its tasks are over for the frameworks, as in Mesos LOST even for those
// that know partitions.
func (m *Master) removeReplaced(by *mesos.AgentInfo) {
	for id, a := range m.agents {
		if id == by.GetID().GetValue() || !a.disconnected || a.info.Hostname != by.Hostname || a.info.GetPort() != by.GetPort() {
			continue
		}
		if err := m.registry.dropAgent(id); err != nil {
			m.log.Error("removed agent is forgotten in memory only", "agent", id, "error", err)
		}
		why := fmt.Sprintf("Agent %s removed: a new agent registered at the same address", by.Hostname)
		m.log.Warn("agent removed", "agent", id, "reason", why)
		a.courier.close()
		m.removeAgent(a, mesos.TASK_LOST, mesos.REASON_AGENT_REMOVED, why, nil)
	}
}

// dropMissing forgets what an agent that restarted has not got.
func (m *Master) dropMissing(a *agent, still Recovered) {
	type key struct{ framework, id string }
	tasks, executors := map[key]bool{}, map[key]bool{}
	for i := range still.Tasks {
		tasks[key{still.Tasks[i].FrameworkID, still.Tasks[i].Task.TaskID.Value}] = true
	}
	for i := range still.Executors {
		executors[key{still.Executors[i].GetFrameworkID().GetValue(), still.Executors[i].ExecutorID.Value}] = true
	}
	for _, f := range m.frameworks {
		for _, t := range f.inOrder() {
			if t.agentID != a.id || tasks[key{f.id, t.id}] {
				continue
			}
			m.release(f, t)
			delete(f.tasks, t.id)
			if !terminal(t.told) {
				status := t.status("Reconciliation: task unknown to the agent", mesos.REASON_RECONCILIATION)
				state := f.state(mesos.TASK_DROPPED)
				status.State = &state
				f.send(update(status))
			}
		}
		for id, e := range f.executors[a.id] {
			if !executors[key{f.id, id}] {
				delete(f.executors[a.id], id)
				m.giveBack(f, a.id, e.resources)
			}
		}
	}
}

func (m *Master) recoverFramework(a *agent, info mesos.FrameworkInfo) {
	id := info.GetID().GetValue()
	if m.registry.isRemoved(id) {
		a.courier.send(func() { a.link.ShutdownFramework(id) })
		return
	}
	if m.frameworks[id] == nil {
		m.expectSubscriber(m.addFramework(info))
	}
}

func (t *task) recover(s *TaskState) {
	t.latest = s.Latest
	if s.Status != nil {
		t.told = s.Status.GetState()
		t.uuid = s.Status.UUID
		t.container = s.Status.ContainerStatus
	}
}

func (m *Master) addExecutor(f *framework, a *agent, info mesos.ExecutorInfo) *executor {
	e := &executor{info: info, resources: parse(info.Resources)}
	if f.executors[a.id] == nil {
		f.executors[a.id] = map[string]*executor{}
	}
	f.executors[a.id][info.ExecutorID.Value] = e
	m.take(f, a, e.resources)
	return e
}

func (m *Master) addTask(f *framework, a *agent, info *mesos.TaskInfo) *task {
	m.nextTask++
	t := &task{
		id: info.TaskID.Value, agentID: a.id, resources: parse(info.Resources), executor: info.Executor,
		told: mesos.TASK_STAGING, latest: mesos.TASK_STAGING, order: m.nextTask,
	}
	f.tasks[t.id] = t
	m.take(f, a, t.resources)
	return t
}

// release gives a task's resources back, once.
func (m *Master) release(f *framework, t *task) {
	if t.resources != nil {
		m.giveBack(f, t.agentID, t.resources)
		t.resources = nil
	}
}

// Update implements Upstream. An update of a task that the master does not know
// is passed on too, as Mesos does.
func (m *Master) Update(agentID string, u StatusUpdate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents[agentID] == nil {
		m.log.Warn("ignoring an update of an agent that is not registered", "agent", agentID, "task", u.Status.TaskID.Value)
		return
	}
	f := m.frameworks[u.FrameworkID]
	if f == nil || m.closed {
		m.log.Warn("ignoring an update for a framework that is not known", "framework", u.FrameworkID, "task", u.Status.TaskID.Value)
		return
	}
	f.send(update(u.Status))
	t := f.tasks[u.Status.TaskID.Value]
	if t == nil {
		return
	}
	t.told, t.uuid = u.Status.GetState(), u.Status.UUID
	if u.Status.ContainerStatus != nil {
		t.container = u.Status.ContainerStatus
	}
	t.latest = u.Latest
	if terminal(t.latest) || terminal(t.told) {
		m.release(f, t)
	}
	if a := m.agents[t.agentID]; a != nil && t.executor != nil {
		m.learnExecutor(f, a, t, &u.Status)
	}
}

// learnExecutor corrects what the master believes of a task's executor by the task's update.
func (m *Master) learnExecutor(f *framework, a *agent, t *task, status *mesos.TaskStatus) {
	id := t.executor.ExecutorID.Value
	e := f.executors[a.id][id]
	switch {
	case e == nil && !terminal(t.latest):
		// The one that it was launched on had ended unnoticed: it runs in a new one.
		m.addExecutor(f, a, *t.executor).seen = true
	case e == nil || e.seen:
	case status.GetSource() == mesos.SOURCE_EXECUTOR || status.ContainerStatus != nil:
		e.seen = true
	case status.GetState() == mesos.TASK_DROPPED || status.GetState() == mesos.TASK_LOST:
		// The agent refused the launch: unless others wait for it, there is no such executor.
		for _, other := range f.tasks {
			if other.agentID == a.id && other.executor != nil && other.executor.ExecutorID.Value == id && !terminal(other.latest) {
				return
			}
		}
		delete(f.executors[a.id], id)
		m.giveBack(f, a.id, e.resources)
	}
}

// ExecutorEnded implements Upstream.
func (m *Master) ExecutorEnded(agentID, frameworkID, executorID string, waitStatus int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.frameworks[frameworkID]
	if f == nil || m.closed {
		return
	}
	e := f.executors[agentID][executorID]
	if e == nil || m.agents[agentID] == nil {
		return
	}
	delete(f.executors[agentID], executorID)
	m.giveBack(f, agentID, e.resources)
	status := int32(waitStatus)
	f.send(&scheduler.Event{Type: scheduler.Event_FAILURE, Failure: &scheduler.Event_Failure{
		AgentID: &mesos.AgentID{Value: agentID}, ExecutorID: &mesos.ExecutorID{Value: executorID}, Status: &status,
	}})
}

// Message implements Upstream.
func (m *Master) Message(agentID, frameworkID, executorID string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.frameworks[frameworkID]; f != nil {
		f.send(&scheduler.Event{Type: scheduler.Event_MESSAGE, Message: &scheduler.Event_Message{
			AgentID: mesos.AgentID{Value: agentID}, ExecutorID: mesos.ExecutorID{Value: executorID}, Data: data,
		}})
	}
}

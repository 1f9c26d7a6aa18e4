package master

import (
	"fmt"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

// Register implements Upstream. Frameworks that only the agent remembers come
// back with it, those that were removed are shut down on it. A connected
// framework whose agent this master did not remember is told of its tasks.
func (m *Master) Register(link AgentLink, still Recovered) error {
	info := link.Info()
	id := info.GetID().GetValue()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	if id == "" || m.agents[id] != nil {
		return fmt.Errorf("register agent %q at the local master: the id is empty or already registered", id)
	}
	if err := m.registry.addAgent(id); err != nil {
		return err
	}
	remembered := m.away[id]
	delete(m.away, id)
	total := parse(info.Resources).offered()
	a := &agent{id: id, info: info, link: link, total: total, free: total, courier: newCourier()}
	m.agents[id] = a
	m.background.Go(a.courier.run)

	for _, info := range still.Frameworks {
		m.recoverFramework(a, info)
	}
	for i := range still.Executors {
		e := &still.Executors[i]
		if f := m.frameworks[e.GetFrameworkID().GetValue()]; f != nil {
			m.addExecutor(f, a, *e).seen = true
		}
	}
	for i := range still.Tasks {
		s := &still.Tasks[i]
		f := m.frameworks[s.FrameworkID]
		if f == nil {
			continue
		}
		t := m.addTask(f, a, &s.Task)
		t.recover(s)
		if terminal(t.latest) {
			m.release(f, t)
		} else if !remembered {
			f.send(update(t.status("Unknown agent reregistered", mesos.REASON_AGENT_REREGISTERED)))
		}
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
func (m *Master) Update(_ string, u StatusUpdate) {
	m.mu.Lock()
	defer m.mu.Unlock()
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
	if e == nil {
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

package agent

import (
	"context"
	"path/filepath"

	"github.com/google/uuid"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// handleOrder executes an order of the master. It may write to disk but does not wait for executors.
func (a *Agent) handleOrder(o *link.Order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
	case o.Run != nil:
		a.runTasks(o.Run)
	case o.Kill != nil:
		a.killTask(o.Kill)
	case o.ShutdownExecutor != nil:
		if ex := a.findExecutor(o.ShutdownExecutor.Framework, o.ShutdownExecutor.Executor); ex != nil {
			a.shutdown(ex)
		}
	case o.ShutdownFramework != "":
		a.shutdownFramework(o.ShutdownFramework)
	case o.Acknowledge != nil:
		a.acknowledge(o.Acknowledge)
	case o.Subscribed != nil:
		a.subscribedAgain(o.Subscribed.Of)
	case o.Ping:
		a.news.Push(link.News{Pong: true})
	}
}

// runTasks launches tasks. Each one goes to its executor, which is started once if it does not exist.
func (a *Agent) runTasks(run *link.Run) {
	f := a.framework(run.Framework.Of)
	// All tasks of one executor are recorded and sent together.
	var executors []*executorRun
	tasks := map[*executorRun][]*task{}
	for i := range run.Tasks {
		ex, t := a.place(f, run.Tasks[i].Of)
		if t == nil {
			continue
		}
		if tasks[ex] == nil {
			executors = append(executors, ex)
		}
		tasks[ex] = append(tasks[ex], t)
	}
	for _, ex := range executors {
		a.assign(ex, tasks[ex])
	}
	a.forgetIfIdle(f)
}

// place finds or creates the executor of a task. It returns nil if the task was rejected.
func (a *Agent) place(f *framework, info mesos.TaskInfo) (*executorRun, *task) {
	refuse := func(reason mesos.TaskStatus_Reason, message string) (*executorRun, *task) {
		a.drop(f, info, cause{mesos.TASK_DROPPED, reason, message})
		return nil, nil
	}
	id := info.GetExecutor().GetExecutorID().Value
	if !validID(id) || !validID(f.info.GetID().GetValue()) {
		return refuse(mesos.REASON_TASK_INVALID, "'"+id+"' contains invalid characters")
	}
	if a.ending {
		return refuse(mesos.REASON_AGENT_DISCONNECTED, "Agent is shutting down")
	}
	ex := f.executors[id]
	switch {
	case ex == nil:
		started, err := a.newExecutor(f, *info.Executor)
		if err != nil {
			a.log.Error("executor not started", "task", info.TaskID.Value, "executor", id, "error", err)
			return refuse(mesos.REASON_CONTAINER_LAUNCH_FAILED, "Failed to launch container: "+err.Error())
		}
		ex = started
	case ex.state == terminating || ex.state == terminated:
		return refuse(mesos.REASON_EXECUTOR_TERMINATED, "Executor "+ex.state.String())
	}
	t := &task{framework: f, ex: ex, info: info, id: info.TaskID.Value, place: ex.next, state: mesos.TASK_STAGING}
	ex.next++
	return ex, t
}

// newExecutor records a run of an executor in its journal. It starts no process yet.
func (a *Agent) newExecutor(f *framework, info mesos.ExecutorInfo) (*executorRun, error) {
	ex := &executorRun{
		framework: f, info: info, id: info.ExecutorID.Value, container: uuid.NewString(), mark: newMark(),
		tasks: map[string]*task{}, launched: make(chan struct{}),
	}
	ex.sandbox = a.sandboxOf(f.info.GetID().GetValue(), ex.id, ex.container)
	var err error
	if ex.journal, err = createJournal(a.journalOf(ex.container), ex.runRecord()); err != nil {
		return nil, err
	}
	f.executors[ex.id] = ex
	return ex, nil
}

func (a *Agent) journalOf(container string) string {
	return filepath.Join(journals(a.options.DataDir), container+".journal")
}

// assign records tasks for ex and sends them if it is connected. The first tasks of a new executor start it.
func (a *Agent) assign(ex *executorRun, tasks []*task) {
	send := ex.state == running && ex.session != nil
	records := make([]record, 0, len(tasks))
	for _, t := range tasks {
		t.sent = send
		records = append(records, t.record())
	}
	begin := ex.cancel == nil && ex.proc == nil
	if err := ex.journal.append(records...); err != nil {
		a.log.Error("tasks not recorded", "executor", ex.id, "tasks", len(tasks), "error", err)
		for _, t := range tasks {
			a.drop(ex.framework, t.info, cause{mesos.TASK_DROPPED, mesos.REASON_CONTAINER_LAUNCH_FAILED,
				"Failed to checkpoint the task: " + err.Error()})
		}
		if begin {
			a.ended(ex, unknownStatus)
		}
		return
	}
	for _, t := range tasks {
		ex.tasks[t.id], ex.framework.tasks[t.id] = t, t
	}
	if send {
		ex.everSent = true
		ex.send(launches(tasks)...)
	}
	if begin {
		ctx, cancel := context.WithCancel(a.ctx)
		ex.cancel = cancel
		a.work.Go(func() {
			defer cancel()
			a.launch(ctx, ex)
		})
	}
	a.compact(ex)
}

func launches(tasks []*task) []*executor.Event {
	events := make([]*executor.Event, 0, len(tasks))
	for _, t := range tasks {
		events = append(events, &executor.Event{Type: executor.Event_LAUNCH,
			Launch: &executor.Event_Launch{Task: t.info}})
	}
	return events
}

// killTask kills a task: through its executor, or directly if the executor has not received it yet.
func (a *Agent) killTask(kill *link.Kill) {
	f := a.frameworks[kill.Framework]
	if f == nil {
		return
	}
	id := mesos.TaskID{Value: kill.Task}
	t := f.tasks[kill.Task]
	switch {
	case t == nil:
		a.drop(f, mesos.TaskInfo{TaskID: id},
			cause{mesos.TASK_DROPPED, mesos.REASON_EXECUTOR_TERMINATED, "Cannot find executor"})
	case t.ended() || t.ex.state == terminating || t.ex.state == terminated:
	case !t.sent:
		a.fail(t, cause{mesos.TASK_KILLED, mesos.REASON_TASK_KILLED_DURING_LAUNCH,
			"Killed before delivery to the executor"})
		if ex := t.ex; ex.state == running && !ex.everSent && len(ex.queued()) == 0 {
			a.shutdown(ex)
		}
	default:
		// If the executor is not connected, the kill is lost, as in Mesos; the framework repeats it (rule K1).
		event := &executor.Event_Kill{TaskID: id}
		if kill.Policy != nil {
			event.KillPolicy = &kill.Policy.Of
		}
		t.ex.send(&executor.Event{Type: executor.Event_KILL, Kill: event})
	}
}

// shutdownFramework ends all executors of a removed framework. It drops the framework's updates, because no one will
// acknowledge them.
func (a *Agent) shutdownFramework(id string) {
	f := a.frameworks[id]
	if f == nil {
		return
	}
	for id, t := range f.tasks {
		t.pending = nil
		if t.ex == nil {
			delete(f.tasks, id)
		}
	}
	for _, ex := range f.executors {
		ex.forget = true
		if ex.state == terminating {
			a.writeJournal(ex, record{Kind: recShutdown, Forget: true})
		}
		a.shutdown(ex)
		a.retireIfDone(ex)
	}
	a.forgetIfIdle(f)
}

// acknowledge removes the oldest update of a task if it has this UUID, and sends the next one.
func (a *Agent) acknowledge(of *link.Acknowledgement) {
	f := a.frameworks[of.Framework]
	if f == nil || f.tasks[of.Task] == nil {
		return
	}
	t := f.tasks[of.Task]
	if !t.acknowledged(of.UUID) {
		a.log.Debug("acknowledgement ignored, its update is not the oldest", "task", of.Task)
		return
	}
	if t.ex != nil {
		a.writeJournal(t.ex, record{Kind: recAcked, Task: of.Task, UUID: of.UUID})
	}
	if !t.complete() {
		if len(t.pending) > 0 {
			a.sendOldest(t)
		}
		return
	}
	delete(f.tasks, of.Task)
	if ex := t.ex; ex != nil {
		delete(ex.tasks, of.Task)
		a.compact(ex)
		a.retireIfDone(ex)
	}
	a.forgetIfIdle(f)
}

// subscribedAgain immediately repeats the oldest unacknowledged update of each task.
func (a *Agent) subscribedAgain(info mesos.FrameworkInfo) {
	if f := a.frameworks[info.GetID().GetValue()]; f != nil {
		f.info = info
		for _, t := range f.tasks {
			a.sendOldest(t)
		}
	}
}

func (a *Agent) findExecutor(frameworkID, executorID string) *executorRun {
	f := a.frameworks[frameworkID]
	if f == nil {
		return nil
	}
	return f.executors[executorID]
}

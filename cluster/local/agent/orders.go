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

// runTasks passes tasks to their executors. It starts an executor that does not exist yet.
func (a *Agent) runTasks(run *link.Run) {
	f := a.updateFramework(run.Framework.Of)
	// All tasks of one executor are recorded and sent together.
	var executors []*executorRun
	tasks := map[*executorRun][]*task{}
	for i := range run.Tasks {
		ex, t := a.createTask(f, run.Tasks[i].Of)
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

// createTask returns a new task and its executor, which it creates if needed. If the task cannot be launched,
// createTask reports that and returns nil.
func (a *Agent) createTask(f *framework, info mesos.TaskInfo) (*executorRun, *task) {
	reject := func(reason mesos.TaskStatus_Reason, message string) (*executorRun, *task) {
		a.drop(f, info, cause{mesos.TASK_DROPPED, reason, message})
		return nil, nil
	}
	id := info.GetExecutor().GetExecutorID().Value
	if !validID(id) || !validID(f.info.GetID().GetValue()) {
		return reject(mesos.REASON_TASK_INVALID, "'"+id+"' contains invalid characters")
	}
	if a.ending {
		return reject(mesos.REASON_AGENT_DISCONNECTED, "Agent is shutting down")
	}
	ex := f.executors[id]
	switch {
	case ex == nil:
		created, err := a.newExecutor(f, *info.Executor)
		if err != nil {
			a.log.Error("executor not started", "task", info.TaskID.Value, "executor", id, "error", err)
			return reject(mesos.REASON_CONTAINER_LAUNCH_FAILED, "Failed to launch container: "+err.Error())
		}
		ex = created
	case ex.state == terminating || ex.state == terminated:
		return reject(mesos.REASON_EXECUTOR_TERMINATED, "Executor "+ex.state.String())
	}
	t := &task{framework: f, ex: ex, info: info, id: info.TaskID.Value, position: ex.nextPosition,
		state: mesos.TASK_STAGING}
	ex.nextPosition++
	return ex, t
}

// newExecutor creates the journal of a new executor. It starts no process yet.
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

// assign records tasks for an executor, and sends them if the executor is connected. The first tasks of a new executor
// start its launch. If the tasks cannot be recorded, they are dropped.
func (a *Agent) assign(ex *executorRun, tasks []*task) {
	send := ex.state == running && ex.session != nil
	records := make([]record, 0, len(tasks))
	for _, t := range tasks {
		t.sent = send
		records = append(records, t.record())
	}
	isNew := ex.cancel == nil && ex.proc == nil
	if err := ex.journal.append(records...); err != nil {
		a.log.Error("tasks not recorded", "executor", ex.id, "tasks", len(tasks), "error", err)
		for _, t := range tasks {
			a.drop(ex.framework, t.info, cause{mesos.TASK_DROPPED, mesos.REASON_CONTAINER_LAUNCH_FAILED,
				"Failed to checkpoint the task: " + err.Error()})
		}
		if isNew {
			a.executorEnded(ex, unknownStatus)
		}
		return
	}
	for _, t := range tasks {
		ex.tasks[t.id], ex.framework.tasks[t.id] = t, t
	}
	if send {
		ex.everSent = true
		ex.send(launchEvents(tasks)...)
	}
	if isNew {
		ctx, cancel := context.WithCancel(a.ctx)
		ex.cancel = cancel
		a.work.Go(func() {
			defer cancel()
			a.launch(ctx, ex)
		})
	}
	a.compact(ex)
}

func launchEvents(tasks []*task) []*executor.Event {
	events := make([]*executor.Event, 0, len(tasks))
	for _, t := range tasks {
		events = append(events, &executor.Event{Type: executor.Event_LAUNCH,
			Launch: &executor.Event_Launch{Task: t.info}})
	}
	return events
}

// killTask asks a task's executor to kill the task. A task that was not sent to its executor yet ends at once.
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

// acknowledge removes the oldest update of a task if it has the UUID of the acknowledgement, and sends the next update.
// It removes a task that has ended and has no more updates.
func (a *Agent) acknowledge(ack *link.Acknowledgement) {
	f := a.frameworks[ack.Framework]
	if f == nil || f.tasks[ack.Task] == nil {
		return
	}
	t := f.tasks[ack.Task]
	if !t.acknowledge(ack.UUID) {
		a.log.Debug("acknowledgement ignored, its update is not the oldest", "task", ack.Task)
		return
	}
	if t.ex != nil {
		a.writeJournal(t.ex, record{Kind: recAcked, Task: ack.Task, UUID: ack.UUID})
	}
	if !t.complete() {
		if len(t.pending) > 0 {
			a.sendOldest(t)
		}
		return
	}
	delete(f.tasks, ack.Task)
	if ex := t.ex; ex != nil {
		delete(ex.tasks, ack.Task)
		a.compact(ex)
		a.retireIfDone(ex)
	}
	a.forgetIfIdle(f)
}

// subscribedAgain handles that a framework has subscribed again. It immediately repeats the oldest unacknowledged
// update of each of the framework's tasks, because the framework may not have received it.
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

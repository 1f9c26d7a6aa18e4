package agent

import (
	"context"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
)

// RunTasks launches tasks: each goes to its executor, which is started when it
// is not there, once per id.
func (a *Agent) RunTasks(info mesos.FrameworkInfo, tasks []mesos.TaskInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	f := a.framework(info)
	// What goes to one executor is recorded and sent in one go.
	type batch struct {
		ex    *executorRun
		tasks []*task
	}
	var batches []*batch
	of := map[*executorRun]*batch{}
	for _, info := range tasks {
		ex, t := a.place(f, info)
		if t == nil {
			continue
		}
		if of[ex] == nil {
			of[ex] = &batch{ex: ex}
			batches = append(batches, of[ex])
		}
		of[ex].tasks = append(of[ex].tasks, t)
	}
	for _, b := range batches {
		a.deliver(b.ex, b.tasks)
	}
	a.forgetIfIdle(f)
}

// place finds or makes the executor of a task; nil when the task was refused.
func (a *Agent) place(f *framework, info mesos.TaskInfo) (*executorRun, *task) {
	dropped := func(reason mesos.TaskStatus_Reason, message string) (*executorRun, *task) {
		a.refuse(f, info, cause{mesos.TASK_DROPPED, reason, message})
		return nil, nil
	}
	wanted, command := executorOf(f, info)
	id := wanted.ExecutorID.Value
	if !validID(id) || !validID(f.info.GetID().GetValue()) {
		return dropped(mesos.REASON_TASK_INVALID, "'"+id+"' contains invalid characters")
	}
	if a.ending {
		return dropped(mesos.REASON_AGENT_DISCONNECTED, "Agent is shutting down")
	}
	ex := f.executors[id]
	switch {
	case ex == nil:
		started, err := a.newExecutor(f, wanted, command)
		if err != nil {
			a.log.Error("executor cannot be started", "task", info.TaskID.Value, "executor", id, "error", err)
			return dropped(mesos.REASON_CONTAINER_LAUNCH_FAILED, "Failed to launch container: "+err.Error())
		}
		ex = started
	case command:
		return dropped(mesos.REASON_TASK_INVALID, "Cannot reuse an already existing executor for a command task")
	case ex.state == terminating || ex.state == terminated:
		return dropped(mesos.REASON_EXECUTOR_TERMINATED, "Executor "+ex.state.String())
	}
	t := &task{framework: f, ex: ex, info: info, id: info.TaskID.Value, place: ex.next, state: mesos.TASK_STAGING}
	ex.next++
	return ex, t
}

// executorOf is the task's ExecutorInfo; for a command task the one that Mesos
// makes up for it.
func executorOf(f *framework, info mesos.TaskInfo) (_ mesos.ExecutorInfo, command bool) {
	if info.Executor != nil {
		return *info.Executor, false
	}
	name := "Command Executor (Task: " + info.TaskID.Value + ")"
	return mesos.ExecutorInfo{
		Type:        mesos.ExecutorInfo_CUSTOM,
		ExecutorID:  mesos.ExecutorID{Value: info.TaskID.Value},
		FrameworkID: f.info.ID,
		Name:        &name,
		Command:     info.Command,
	}, true
}

// newExecutor records a run of an executor before anything of it is started; its
// launch begins with deliver.
func (a *Agent) newExecutor(f *framework, info mesos.ExecutorInfo, command bool) (*executorRun, error) {
	ex := &executorRun{
		framework: f, info: info, id: info.ExecutorID.Value, container: uuid.NewString(),
		command: command, tasks: map[string]*task{}, launched: make(chan struct{}),
	}
	ex.sandbox = a.sandboxOf(f.info.GetID().GetValue(), ex.id, ex.container)
	first, err := ex.runRecord()
	if err != nil {
		return nil, err
	}
	if ex.journal, err = createJournal(a.journalOf(ex.container), first); err != nil {
		return nil, err
	}
	f.executors[ex.id] = ex
	return ex, nil
}

func (a *Agent) journalOf(container string) string {
	return filepath.Join(journals(a.options.DataDir), container+".journal")
}

// deliver records tasks for ex and sends them when it is connected. The first
// tasks of a new executor start it.
func (a *Agent) deliver(ex *executorRun, tasks []*task) {
	send := ex.state == running && ex.session != nil
	records := make([]record, 0, len(tasks))
	var err error
	for _, t := range tasks {
		t.sent = send
		r, failed := t.record()
		if failed != nil {
			err = failed
			break
		}
		records = append(records, r)
	}
	if err == nil {
		err = ex.journal.append(records...)
	}
	begin := ex.cancel == nil && ex.proc == nil
	if err != nil {
		a.log.Error("tasks cannot be recorded", "executor", ex.id, "tasks", len(tasks), "error", err)
		for _, t := range tasks {
			a.refuse(ex.framework, t.info, cause{mesos.TASK_DROPPED, mesos.REASON_CONTAINER_LAUNCH_FAILED,
				"Failed to checkpoint the task: " + err.Error()})
		}
		if begin {
			a.setState(ex, terminated)
			a.retireIfDone(ex)
		}
		return
	}
	for _, t := range tasks {
		ex.tasks[t.id], ex.framework.tasks[t.id] = t, t
	}
	if send {
		ex.everSent = true
		ex.tell(launches(tasks)...)
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
		events = append(events, &executor.Event{Type: executor.Event_LAUNCH, Launch: &executor.Event_Launch{Task: t.info}})
	}
	return events
}

// KillTask kills a task: by its executor, or, when it has not got it yet, at once.
func (a *Agent) KillTask(frameworkID, taskID string, policy *mesos.KillPolicy) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.frameworks[frameworkID]
	if a.closed || f == nil {
		return
	}
	t := f.tasks[taskID]
	switch {
	case t == nil:
		a.refuse(f, mesos.TaskInfo{TaskID: mesos.TaskID{Value: taskID}},
			cause{mesos.TASK_DROPPED, mesos.REASON_EXECUTOR_TERMINATED, "Cannot find executor"})
		return
	case t.over() || t.ex.state == terminating || t.ex.state == terminated:
		return
	case t.ex.command && t.ex.proc != nil:
		t.killed = true
		a.terminateCommand(t.ex, policy)
	case !t.sent:
		a.fail(t, cause{mesos.TASK_KILLED, mesos.REASON_TASK_KILLED_DURING_LAUNCH, "Killed before delivery to the executor"})
		if ex := t.ex; ex.command || ex.state == running && !ex.everSent && !ex.hasQueued() {
			a.shutdown(ex)
		}
	default:
		// Not connected: forgotten, as in Mesos; the framework asks again (rule K1).
		t.ex.tell(&executor.Event{Type: executor.Event_KILL,
			Kill: &executor.Event_Kill{TaskID: mesos.TaskID{Value: taskID}, KillPolicy: policy}})
	}
}

// ShutdownExecutor ends an executor and all its tasks.
func (a *Agent) ShutdownExecutor(frameworkID, executorID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ex := a.findExecutor(frameworkID, executorID); ex != nil && !a.closed {
		a.shutdown(ex)
	}
}

// ShutdownFramework ends all executors of a framework that is no more. Nobody
// will acknowledge its updates: they are forgotten.
func (a *Agent) ShutdownFramework(frameworkID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.frameworks[frameworkID]
	if a.closed || f == nil {
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
			a.note(ex, record{Kind: recShutdown, Forget: true})
		}
		a.shutdown(ex)
		a.retireIfDone(ex)
	}
	a.forgetIfIdle(f)
}

// Message passes the framework's data to an executor that is connected, or drops it.
func (a *Agent) Message(frameworkID, executorID string, data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ex := a.findExecutor(frameworkID, executorID); ex != nil {
		ex.tell(&executor.Event{Type: executor.Event_MESSAGE, Message: &executor.Event_Message{Data: data}})
	}
}

// Acknowledge takes the oldest update of a task out of its stream, if the uuid
// is its, and tells the next.
func (a *Agent) Acknowledge(frameworkID, taskID string, id []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.frameworks[frameworkID]
	if a.closed || f == nil || f.tasks[taskID] == nil {
		return
	}
	t := f.tasks[taskID]
	if !t.acknowledged(id) {
		a.log.Debug("acknowledgement of an update that is not the oldest is ignored", "task", taskID)
		return
	}
	if t.ex != nil {
		a.note(t.ex, record{Kind: recAcked, Task: taskID, UUID: id})
	}
	if !t.closed() {
		if len(t.pending) > 0 {
			a.begin(t)
		}
		return
	}
	delete(f.tasks, taskID)
	if ex := t.ex; ex != nil {
		delete(ex.tasks, taskID)
		ex.remember(doneTask{t.id, t.uuids})
		a.compact(ex)
		a.retireIfDone(ex)
	}
	a.forgetIfIdle(f)
}

// Subscribed sends the oldest unacknowledged update of each task again, at once.
func (a *Agent) Subscribed(info mesos.FrameworkInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.frameworks[info.GetID().GetValue()]
	if a.closed || f == nil {
		return
	}
	f.info = info
	for _, t := range f.tasks {
		a.begin(t)
	}
}

func (a *Agent) findExecutor(frameworkID, executorID string) *executorRun {
	f := a.frameworks[frameworkID]
	if f == nil {
		return nil
	}
	return f.executors[executorID]
}

package agent

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// Unacknowledged updates are repeated at intervals that double from retryMin to retryMax.
const retryMin, retryMax = 10 * time.Second, 10 * time.Minute

// task is one task with its stream of updates. Updates are reported to the master one at a time: the next one follows
// the acknowledgement of the previous one.
type task struct {
	framework *framework
	// ex is nil for a task that never reached an executor. Such a task is in no journal.
	ex   *executorRun
	info mesos.TaskInfo
	id   string
	// position is the task's number in the order in which the executor's tasks were launched.
	position int
	// sent is set once the task was sent to its executor.
	sent bool
	// state is the latest known state, reported or not.
	state mesos.TaskState
	// pending are the unacknowledged updates, oldest first. acked is the last acknowledged one.
	pending []*mesos.TaskStatus
	acked   *mesos.TaskStatus
	// uuids are the UUIDs of all its updates.
	uuids [][]byte
	// retry is the current interval between repetitions. round distinguishes a timer from outdated ones.
	retry time.Duration
	round int
}

func (t *task) ended() bool { return link.Terminal(t.state) }

func (t *task) hasUpdate(id []byte) bool {
	return slices.ContainsFunc(t.uuids, func(u []byte) bool { return bytes.Equal(u, id) })
}

// appendUpdate appends a complete update to the task's stream.
func (t *task) appendUpdate(status *mesos.TaskStatus) {
	if !t.hasUpdate(status.UUID) {
		t.uuids = append(t.uuids, status.UUID)
	}
	t.pending = append(t.pending, status)
	t.state = status.GetState()
}

// acknowledge removes the oldest update from the stream if it has this UUID, and reports whether it has.
func (t *task) acknowledge(id []byte) bool {
	if len(t.pending) == 0 || !bytes.Equal(t.pending[0].UUID, id) {
		return false
	}
	t.acked = t.pending[0]
	t.pending = slices.Delete(t.pending, 0, 1)
	return true
}

// complete reports whether the task has ended and all its updates are acknowledged.
func (t *task) complete() bool { return t.ended() && len(t.pending) == 0 }

// record returns the record of the task itself, without its updates.
func (t *task) record() record {
	info := proto(t.info)
	return record{Kind: recTask, Task: t.id, Info: &info, Sent: t.sent}
}

func updateRecord(status *mesos.TaskStatus) record {
	update := proto(*status)
	return record{Kind: recUpdate, Task: status.TaskID.Value, Status: &update}
}

// snapshot returns the records that replay to the current state of t.
func (t *task) snapshot() []record {
	first := t.record()
	// The UUIDs of acknowledged updates are kept to recognize repetitions.
	first.UUID = slices.Concat(t.uuids[:len(t.uuids)-len(t.pending)]...)
	records := []record{first}
	if t.acked != nil {
		records = append(records, updateRecord(t.acked), record{Kind: recAcked, Task: t.id, UUID: t.acked.UUID})
	}
	for _, status := range t.pending {
		records = append(records, updateRecord(status))
	}
	return records
}

// report appends status to the task's stream, and sends it if it is the oldest.
func (a *Agent) report(t *task, status *mesos.TaskStatus) {
	t.appendUpdate(status)
	if len(t.pending) == 1 {
		a.sendOldest(t)
	}
}

// sendOldest sends the oldest update at once, and repeats it at intervals that begin with retryMin.
func (a *Agent) sendOldest(t *task) {
	t.retry = retryMin
	a.forward(t)
}

// forward sends the oldest update, and repeats it until it is acknowledged. It does nothing during the recovery.
func (a *Agent) forward(t *task) {
	if a.recovering || len(t.pending) == 0 {
		return
	}
	update := &link.StatusUpdate{Framework: t.framework.info.GetID().GetValue(), Status: proto(*t.pending[0]),
		Latest: t.state}
	a.news.Push(link.News{Update: update})
	t.round++
	round := t.round
	a.afterFunc(t.retry, func() {
		if t.round == round && len(t.pending) > 0 {
			t.retry = min(2*t.retry, retryMax)
			a.forward(t)
		}
	})
}

// agentStatus returns an update by the agent itself.
func (a *Agent) agentStatus(t *task, why cause) *mesos.TaskStatus {
	id := uuid.New()
	status := &mesos.TaskStatus{
		TaskID:    mesos.TaskID{Value: t.id},
		State:     why.state.Enum(),
		Message:   &why.message,
		Source:    mesos.SOURCE_AGENT.Enum(),
		Reason:    why.reason.Enum(),
		AgentID:   &mesos.AgentID{Value: a.id},
		Timestamp: a.timestamp(),
		UUID:      id[:],
	}
	if t.ex != nil {
		status.ExecutorID = &mesos.ExecutorID{Value: t.ex.id}
	}
	return status
}

// fail ends a task with an update by the agent. The update is sent even if it cannot be recorded.
func (a *Agent) fail(t *task, why cause) {
	status := a.agentStatus(t, why)
	if t.ex != nil {
		a.writeJournal(t.ex, updateRecord(status))
	}
	a.report(t, status)
}

// drop ends a task that reaches no executor.
func (a *Agent) drop(f *framework, info mesos.TaskInfo, why cause) {
	t := &task{framework: f, info: info, id: info.TaskID.Value}
	f.tasks[t.id] = t
	id := info.GetExecutor().GetExecutorID().Value
	if ex := f.executors[id]; id != "" && (ex == nil || ex.state == terminated) {
		// With this launch, the master has counted the executor as running again. It must learn that there is none.
		a.news.Push(link.News{Ended: &link.ExecutorEnded{Executor: link.Executor{Framework: f.info.GetID().GetValue(),
			Executor: id}, WaitStatus: unknownStatus}})
	}
	a.log.Warn("task not launched", "task", t.id, "reason", why.message)
	a.fail(t, why)
}

// completeStatus sets the fields that the agent adds to an executor's update.
func (a *Agent) completeStatus(ex *executorRun, status *mesos.TaskStatus) {
	status.Source = mesos.SOURCE_EXECUTOR.Enum()
	status.AgentID = &mesos.AgentID{Value: a.id}
	status.ExecutorID = &mesos.ExecutorID{Value: ex.id}
	status.Timestamp = cmp.Or(status.Timestamp, a.timestamp())
	status.ContainerStatus = cmp.Or(status.ContainerStatus, &mesos.ContainerStatus{})
	container := status.ContainerStatus
	container.ContainerID = cmp.Or(container.ContainerID, &mesos.ContainerID{Value: ex.container})
	if ex.proc != nil && container.ExecutorPID == nil {
		pid := uint32(ex.proc.PID)
		container.ExecutorPID = &pid
	}
}

// handleUpdate handles an executor's update. It acknowledges the update to the executor once the update is recorded.
// It also acknowledges an update that it ignores, because the executor would repeat the update forever.
func (a *Agent) handleUpdate(ex *executorRun, status mesos.TaskStatus) error {
	id := status.TaskID.Value
	t := ex.tasks[id]
	switch {
	case t == nil:
		a.log.Debug("update ignored, its task has ended or was never here", "task", id, "executor", ex.id)
	case t.hasUpdate(status.UUID):
	case t.ended(), !t.sent && !link.Terminal(status.GetState()), ex.forget:
		a.log.Warn("update ignored", "task", id, "state", status.GetState().String(), "known", t.state.String())
	default:
		a.completeStatus(ex, &status)
		if err := ex.journal.append(updateRecord(&status)); err != nil {
			return err
		}
		a.report(t, &status)
	}
	ex.send(&executor.Event{Type: executor.Event_ACKNOWLEDGED,
		Acknowledged: &executor.Event_Acknowledged{TaskID: mesos.TaskID{Value: id}, UUID: status.UUID}})
	a.compact(ex)
	return nil
}

// timestamp returns the current time in seconds since 1970, as Mesos' updates have it.
func (a *Agent) timestamp() *float64 {
	seconds := float64(time.Now().UnixNano()) / 1e9
	return &seconds
}

package agent

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// state is the state of an executor, in Mesos' terms.
type state int

const (
	registering state = iota // started or recovered, but not subscribed in this run of the agent
	running                  // subscribed at least once in this run of the agent
	terminating              // its shutdown has begun, or it is being killed
	terminated               // its process is gone
)

func (s state) String() string {
	return [...]string{"registering", "running", "terminating", "terminated"}[s]
}

// executorRun is one run of an executor: a process, its sandbox and its tasks. The agent's mutex guards all fields.
type executorRun struct {
	framework *framework
	info      mesos.ExecutorInfo
	id        string
	container string
	sandbox   string
	mark      uint64 // identifies its process; see mark.go
	journal   *journal

	state    state
	proc     *watched      // nil until forked
	session  *session      // queue of events for the executor; nil while it is not connected
	cancel   func()        // ends the launch before the fork
	launched chan struct{} // closed when the launch is complete; nil if an earlier run launched it
	everSent bool          // whether any task was sent to the executor
	// forget is set once the framework was removed. Its updates are then dropped, because no framework acknowledges
	// them.
	forget bool
	// endCause, if not nil, is reported for the tasks that still live when the executor ends.
	endCause *cause

	tasks        map[string]*task // live tasks, and those with unacknowledged updates
	nextPosition int
}

// session is the event queue of one subscription of an executor. Queued events must not be modified.
type session = queue.Queue[encoding.Marshaler]

// cause is what the agent itself reports about the end of a task.
type cause struct {
	state   mesos.TaskState
	reason  mesos.TaskStatus_Reason
	message string
}

// inOrder returns the sent tasks and then the waiting ones, both in the order of their launch.
func (ex *executorRun) inOrder() []*task {
	return slices.SortedFunc(maps.Values(ex.tasks), func(a, b *task) int {
		switch {
		case a.sent == b.sent:
			return cmp.Compare(a.position, b.position)
		case a.sent:
			return -1
		}
		return 1
	})
}

// queued returns the live tasks that wait for the executor's subscription.
func (ex *executorRun) queued() []*task {
	return slices.DeleteFunc(ex.inOrder(), func(t *task) bool { return t.sent || t.ended() })
}

// send sends events to the executor. They are lost if it is not connected.
func (ex *executorRun) send(events ...*executor.Event) {
	for _, event := range events {
		if ex.session != nil {
			ex.session.Push(event)
		}
	}
}

func (a *Agent) sandboxOf(framework, id, container string) string {
	return filepath.Join(a.options.WorkDir, "slaves", a.id, "frameworks", framework, "executors", id, "runs",
		container)
}

// writeJournal appends to the executor's journal. If that fails, the change exists in memory only and is lost at a
// restart, so the failure is logged as an error.
func (a *Agent) writeJournal(ex *executorRun, records ...record) {
	if err := ex.journal.append(records...); err != nil {
		a.log.Error("journal of an executor not written", "executor", ex.id, "error", err)
	}
}

// shutdown asks an executor to end, and kills it after the grace period. It does nothing if the executor is ending
// already.
func (a *Agent) shutdown(ex *executorRun) {
	if ex.state == terminating || ex.state == terminated {
		return
	}
	a.log.Info("executor shutdown started", "executor", ex.id, "container", ex.container)
	a.writeJournal(ex, record{Kind: recShutdown, Forget: ex.forget})
	a.setState(ex, terminating)
	ex.send(&executor.Event{Type: executor.Event_SHUTDOWN})
	a.killAfterGrace(ex)
}

// killAfterGrace kills an executor that has not ended after its grace period. An executor without a process, which
// cannot have received SHUTDOWN, is killed at once.
func (a *Agent) killAfterGrace(ex *executorRun) {
	if ex.proc == nil {
		ex.kill()
		return
	}
	grace := a.graceOf(ex)
	a.afterFunc(grace, func() {
		if ex.state == terminating {
			a.log.Info("executor killed after grace period", "executor", ex.id, "grace", grace)
			ex.kill()
		}
	})
}

// graceOf returns the time between SHUTDOWN and SIGKILL for an executor.
func (a *Agent) graceOf(ex *executorRun) time.Duration {
	if own := ex.info.GetShutdownGracePeriod(); own != nil {
		return time.Duration(own.Nanoseconds)
	}
	return a.options.ShutdownGrace
}

// kill kills the executor's process, or cancels its launch. watchExecutor then kills the rest of the process's session.
func (ex *executorRun) kill() {
	if ex.proc != nil {
		ex.proc.kill()
	} else if ex.cancel != nil {
		ex.cancel()
	}
}

// destroy kills an executor without a grace period. When it has ended, its live tasks are reported with this cause.
func (a *Agent) destroy(ex *executorRun, why cause) {
	a.log.Warn("executor killed", "executor", ex.id, "reason", why.message)
	ex.endCause = &why
	a.writeJournal(ex, record{Kind: recShutdown, Forget: ex.forget})
	a.setState(ex, terminating)
	ex.kill()
}

// setState sets the state of an executor. With any state other than registering, the recovery no longer waits for the
// executor.
func (a *Agent) setState(ex *executorRun, s state) {
	ex.state = s
	if s != registering && a.awaited[ex] {
		delete(a.awaited, ex)
		a.endRecovery()
	}
}

// watchExecutor waits until the process ends, and then kills the rest of its session.
func (a *Agent) watchExecutor(ex *executorRun, w *watched) {
	if err := w.wait(); err != nil {
		return // the agent was closed; the executor continues
	}
	a.cleanUp(a.ctx, ex, w.process)
	status := w.reap()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return // the files are being closed; the next start finds that the executor is gone
	}
	if err := w.close(); err != nil {
		a.log.Error("executor's pidfd not closed", "executor", ex.id, "error", err)
	}
	a.executorEnded(ex, status)
}

// executorEnded records that an executor is gone, with its wait status. It reports that to the master, and after that
// the ends of its live tasks.
func (a *Agent) executorEnded(ex *executorRun, status int) {
	if ex.state == terminated {
		return
	}
	a.log.Info("executor ended", "executor", ex.id, "container", ex.container, "wait_status", status)
	if ex.session != nil {
		ex.session.Close()
		ex.session = nil
	}
	a.writeJournal(ex, record{Kind: recEnded})
	a.setState(ex, terminated)
	id := link.Executor{Framework: ex.framework.info.GetID().GetValue(), Executor: ex.id}
	a.news.Push(link.News{Ended: &link.ExecutorEnded{Executor: id, WaitStatus: status}})
	why := cause{mesos.TASK_FAILED, mesos.REASON_EXECUTOR_TERMINATED, "Executor terminated"}
	if ex.endCause != nil {
		why = *ex.endCause
	}
	for _, t := range ex.inOrder() {
		if !t.ended() && !ex.forget {
			a.fail(t, why)
		}
	}
	a.retireIfDone(ex)
	a.signalIdle()
}

// retireIfDone removes an executor that has ended and has nothing left to report. Its sandbox is kept for a while.
func (a *Agent) retireIfDone(ex *executorRun) {
	hasUnreported := len(ex.tasks) > 0 && !ex.forget
	if ex.state != terminated || hasUnreported {
		return
	}
	f := ex.framework
	for id, t := range ex.tasks {
		if f.tasks[id] == t {
			delete(f.tasks, id)
		}
	}
	clear(ex.tasks)
	if f.executors[ex.id] == ex {
		delete(f.executors, ex.id)
	}
	a.forgetIfIdle(f)
	if err := ex.journal.remove(); err != nil {
		a.log.Error("journal of an ended executor not removed", "executor", ex.id, "error", err)
	}
	a.sandboxes.release(ex.sandbox)
}

// compact rewrites the journal when most of it belongs to tasks that have ended.
func (a *Agent) compact(ex *executorRun) {
	if ex.journal.size < ex.journal.rewriteAt {
		return
	}
	if err := ex.journal.replace(ex.snapshot()); err != nil {
		a.log.Error("journal of an executor not rewritten", "executor", ex.id, "error", err)
	}
}

// snapshot returns the shortest journal that replays to the current state of ex.
func (ex *executorRun) snapshot() []record {
	records := []record{ex.runRecord()}
	if ex.proc != nil {
		records = append(records, record{Kind: recForked, Proc: &ex.proc.process})
	}
	if ex.everSent {
		records = append(records, record{Kind: recSent}) // without tasks, which may all have ended
	}
	for _, t := range ex.inOrder() {
		records = append(records, t.snapshot()...)
	}
	switch ex.state {
	case terminating:
		records = append(records, record{Kind: recShutdown, Forget: ex.forget})
	case terminated:
		records = append(records, record{Kind: recEnded})
	}
	return records
}

// runRecord returns the first record of the executor's journal.
func (ex *executorRun) runRecord() record {
	return record{Kind: recRun, Run: &run{Container: ex.container, Mark: ex.mark, Framework: proto(ex.framework.info),
		Executor: proto(ex.info)}}
}

// validID reports whether id can be a folder name. The master checks ids as well; this check guarantees that
// sandboxes stay inside the work folder.
func validID(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.ContainsAny(id, "/\x00")
}

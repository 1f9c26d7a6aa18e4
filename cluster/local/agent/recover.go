package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// recover reads the journals and watches the executors that are still alive. Recovery ends, and the agent registers,
// when no executor is awaited any more (see endRecovery).
func (a *Agent) recover(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	runs, err := a.load()
	if err != nil {
		return err
	}
	if err := a.findUnrecorded(runs); err != nil {
		return err
	}
	for _, r := range runs {
		if err := a.resume(ctx, r); err != nil {
			return err
		}
	}
	timeout := a.options.ReregistrationTimeout
	a.afterFunc(timeout, func() {
		for ex := range a.awaited {
			a.destroy(ex, cause{mesos.TASK_GONE, mesos.REASON_EXECUTOR_REREGISTRATION_TIMEOUT,
				"Executor did not reregister within " + mesosDuration(timeout)})
		}
	})
	a.endRecovery()
	return nil
}

// recoveredRun is an executor of an earlier run, as recorded in its journal.
type recoveredRun struct {
	ex       *executorRun
	proc     *process
	ended    bool // its end is recorded
	shutdown bool // its shutdown has begun
}

// load reads all journals.
func (a *Agent) load() ([]*recoveredRun, error) {
	entries, err := os.ReadDir(journals(a.options.DataDir))
	if err != nil {
		return nil, fmt.Errorf("list the executors' journals: %w", err)
	}
	var runs []*recoveredRun
	for _, entry := range entries {
		container, isJournal := strings.CutSuffix(entry.Name(), ".journal")
		if !isJournal { // left over from a rewrite that crashed
			if err := os.Remove(filepath.Join(journals(a.options.DataDir), entry.Name())); err != nil {
				return nil, fmt.Errorf("remove an unfinished journal: %w", err)
			}
			continue
		}
		j, records, err := openJournal(a.journalOf(container))
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			// The server died before the first record was complete, so nothing was started.
			if err := j.remove(); err != nil {
				return nil, err
			}
			continue
		}
		r, err := a.replay(j, records)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read an executor's journal %s: %w", j.path, err), j.close())
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// replay reconstructs an executor from the records of its journal, and adds it to its framework.
func (a *Agent) replay(j *journal, records []record) (*recoveredRun, error) {
	first := records[0]
	if first.Kind != recRun || first.Run == nil {
		return nil, errors.New("first record is not the executor's")
	}
	framework, info := first.Run.Framework.Of, first.Run.Executor.Of
	ex := &executorRun{
		framework: a.updateFramework(framework), info: info, id: info.ExecutorID.Value, container: first.Run.Container,
		mark: first.Run.Mark, journal: j, tasks: map[string]*task{},
	}
	ex.sandbox = a.sandboxOf(framework.GetID().GetValue(), ex.id, ex.container)
	r := &recoveredRun{ex: ex}
	for i := range records[1:] {
		if err := r.apply(&records[1+i]); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+2, err)
		}
	}
	ex.framework.executors[ex.id] = ex
	for id, t := range ex.tasks {
		ex.framework.tasks[id] = t
	}
	return r, nil
}

// apply applies one record of the journal.
func (r *recoveredRun) apply(rec *record) error {
	ex := r.ex
	t := ex.tasks[rec.Task]
	switch rec.Kind {
	case recForked:
		r.proc = rec.Proc
	case recTask:
		ex.tasks[rec.Task] = &task{
			framework: ex.framework, ex: ex, id: rec.Task, info: rec.Info.Of, position: ex.nextPosition,
			sent: rec.Sent, state: mesos.TASK_STAGING,
			uuids: slices.Collect(slices.Chunk(rec.UUID, 16)),
		}
		ex.nextPosition++
		ex.everSent = ex.everSent || rec.Sent
	case recSent:
		ex.everSent = true
		for _, id := range rec.Tasks {
			if t := ex.tasks[id]; t != nil {
				t.sent = true
			}
		}
	case recUpdate:
		if t != nil {
			t.appendUpdate(&rec.Status.Of)
		}
	case recAcked:
		if t != nil && t.acknowledge(rec.UUID) && t.complete() {
			delete(ex.tasks, t.id)
		}
	case recShutdown:
		r.shutdown = true
		ex.forget = ex.forget || rec.Forget
	case recEnded:
		r.ended = true
	default:
		return fmt.Errorf("kind %q is unknown; a newer version wrote it", rec.Kind)
	}
	return nil
}

// findUnrecorded finds executors whose server died between the fork and its record (rule O2).
func (a *Agent) findUnrecorded(runs []*recoveredRun) error {
	wanted := map[uint64]bool{}
	for _, r := range runs {
		if r.proc == nil && !r.ended {
			wanted[r.ex.mark] = true
		}
	}
	marked, err := findMarked(wanted, a.boot)
	if err != nil {
		return fmt.Errorf("look for executors whose start was not recorded: %w", err)
	}
	for _, r := range runs {
		if p, found := marked[r.ex.mark]; found && r.proc == nil {
			r.proc = &p
			a.writeJournal(r.ex, record{Kind: recForked, Proc: &p})
		}
	}
	return nil
}

// resume continues with an executor of an earlier run: it watches the executor if that is alive, and otherwise reports
// its end.
func (a *Agent) resume(ctx context.Context, r *recoveredRun) error {
	ex := r.ex
	if r.ended {
		ex.state = terminated
		a.retireIfDone(ex)
		return nil
	}
	// After a reboot the pid is meaningless.
	if r.proc == nil || r.proc.Boot != a.boot {
		a.executorEnded(ex, unknownStatus)
		return nil
	}
	w, err := watch(*r.proc)
	if errors.Is(err, errGone) {
		a.cleanUp(ctx, ex, *r.proc)
		a.executorEnded(ex, unknownStatus)
		return nil
	}
	if err != nil {
		return err
	}
	a.log.Info("executor recovered", "executor", ex.id, "container", ex.container, "pid", w.PID)
	ex.proc = w
	if a.options.GiveUpExecutors {
		a.killAbandoned(ctx, ex)
		return nil
	}
	a.work.Go(func() { a.watchExecutor(ex, w) })
	if r.shutdown {
		ex.state = terminating
		a.killAfterGrace(ex)
	} else {
		a.awaited[ex] = true
	}
	return nil
}

// killAbandoned kills an executor for GiveUpExecutors, and waits until it is gone.
func (a *Agent) killAbandoned(ctx context.Context, ex *executorRun) {
	a.log.Info("executor given up", "executor", ex.id, "pid", ex.proc.PID)
	ex.proc.kill()
	a.cleanUp(ctx, ex, ex.proc.process)
	ex.endCause = &cause{mesos.TASK_GONE, mesos.REASON_EXECUTOR_TERMINATED,
		"Executor was given up at the start of the agent"}
	status := ex.proc.reap()
	if err := ex.proc.close(); err != nil {
		a.log.Error("executor's pidfd not closed", "executor", ex.id, "error", err)
	}
	a.executorEnded(ex, status)
}

// cleanUp kills the remaining processes of the session that an executor's process p leads or led.
func (a *Agent) cleanUp(ctx context.Context, ex *executorRun, p process) {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	if err := killSession(ctx, p); err != nil {
		a.log.Error("processes of an executor not killed", "executor", ex.id, "error", err)
	}
}

// endRecovery ends the recovery if no executor is awaited any more. The agent then registers, and only after that it
// reports what happened meanwhile (rule O3).
func (a *Agent) endRecovery() {
	if !a.recovering || a.closed || len(a.awaited) > 0 {
		return
	}
	a.recovering = false
	a.work.Go(func() { a.stayRegistered(a.ctx) })
	for _, f := range a.frameworks {
		for _, t := range f.tasks {
			a.sendOldest(t)
		}
	}
}

// sandboxesInUse returns the sandboxes of the executors that have not been retired.
func (a *Agent) sandboxesInUse() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := map[string]bool{}
	a.eachExecutor(func(ex *executorRun) { used[ex.sandbox] = true })
	return used
}

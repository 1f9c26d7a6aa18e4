package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/container"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func (t *task) run() {
	defer t.cancel(nil)
	report, err := t.execute()
	t.endedAt = time.Now()
	// The folders are released only after the cause of the end was read from them.
	defer func() {
		for _, release := range slices.Backward(t.releases) {
			release()
		}
	}()
	why := t.killReason()
	switch {
	case err == nil:
		report()
	case errors.Is(err, supervisor.ErrLost):
		status := t.status
		status.Phase, status.SupervisorLost = wire.PhaseRun, true
		status.Cause = "the process that supervises the executor's tasks was killed, and the task with it: by a task of this app, or possibly out of memory"
		// LeftBehind returns when no process of the task is left, so that the end is not reported before. The
		// report names the processes that it could not kill.
		if left := t.host.LeftBehind(); len(left) > 0 {
			status.Cause += fmt.Sprintf("; processes %v of its tasks can't be killed and are left on the agent", left)
		}
		t.log.Error("task failed", "error", err)
		t.report(agent.Failed, status.Cause, status)
	case why != nil:
		t.report(agent.Killed, why.Error()+" before its process was started", t.status)
	default:
		message, status := StartFailure(t.status, err)
		t.log.Warn("task failed", "phase", status.Phase, "error", err)
		t.report(agent.Failed, message, status)
	}
}

// StartFailure returns the message and the status of a task that was not started because of an error.
func StartFailure(status wire.Status, err error) (message string, _ wire.Status) {
	status.Phase, status.Cause = wire.PhaseStart, output.Readable(err.Error(), output.CauseLength)
	status.SupervisorLost = errors.Is(err, container.ErrBegun)
	var failed *pack.Error
	if errors.As(err, &failed) {
		status.Phase, status.Unreachable, status.Unanswered = failed.Phase, failed.Unreachable, failed.Unanswered
	}
	return output.Readable(err.Error(), output.MessageLength), status
}

// execute runs the task from the decoding of its description to its end, and returns the function that reports that
// end. Rule E1 depends on the order of the steps: no process is started before announce has returned. So a task
// that is lost without an update from announce has never begun.
func (t *task) execute() (report func(), err error) {
	spec, err := wire.DecodeTask(t.data)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.spec = spec
	t.mu.Unlock()
	t.secrets.add(secretsOf(spec))
	if app := t.host.App; app != "" && spec.AppName != app {
		return nil, fmt.Errorf("this executor runs tasks of app %s, and the task is of app %q", app, spec.AppName)
	}
	if err := t.host.Refuses; err != nil && spec.HTTP == nil {
		return nil, err
	}
	fetching := false
	if spec.Package.URL != "" {
		if t.fetched, fetching, err = t.fetch(spec); err != nil {
			return nil, err
		}
		t.releases = append(t.releases, t.fetched.Release)
		t.status.PackageSHA256, t.status.PackageNote = t.fetched.SHA256, t.fetched.Note
	}
	if err := t.announce(fetching); err != nil {
		return nil, err
	}
	if err := t.host.Container.Begin(); err != nil {
		return nil, err
	}
	switch {
	case spec.Daemon != nil:
		return t.runDaemon(spec)
	case spec.HTTP != nil:
		return t.runRequest(spec)
	}
	return t.runProcess(spec)
}

// announce returns when the agent has an update which says that the task's process may begin. The scheduler
// launches a task that was lost without such an update again, because it never began (rule E1).
//
// Only two kinds of tasks need this update: a task whose last update said that its package is being fetched, and
// every task until the scheduler has acknowledged an update of this executor. After that acknowledgement the
// scheduler counts a task that was lost without any update as begun. Most tasks are of neither kind and do not
// wait.
func (t *task) announce(fetching bool) error {
	if !fetching && t.host.Ledger.Acknowledged() {
		return nil
	}
	delivered := make(chan struct{})
	t.deliver(agent.Starting, "the process is being started", t.status, delivered)
	select {
	case <-delivered:
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// fetch returns the package, and whether the task was reported as fetching it.
func (t *task) fetch(spec wire.Task) (ready pack.Package, fetching bool, err error) {
	if ready := t.host.Container.Prepared(); ready != nil {
		return *ready, false, nil
	}
	source := pack.SourceOf(spec.Package, spec.Command)
	if ready, ok := t.host.Store.Ready(source); ok {
		return ready, false, nil
	}
	status := t.status
	status.Phase = wire.PhaseFetch
	t.report(agent.Starting, "fetching the package", status)
	ready, err = t.host.Store.Get(t.ctx, source)
	return ready, true, err
}

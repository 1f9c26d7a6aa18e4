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

// run executes the task and sends its last update.
func (t *task) run() {
	defer t.cancel(nil)
	report, err := t.execute()
	t.endedAt = time.Now()
	// The folders are released after the report, because the report reads the cause of the end from them.
	defer func() {
		for _, release := range slices.Backward(t.releases) {
			release()
		}
	}()
	killReason := t.killReason()
	switch {
	case err == nil:
		report()
	case errors.Is(err, supervisor.ErrLost):
		status := t.status
		status.Phase, status.SupervisorLost = wire.PhaseRun, true
		status.Cause = "the process that supervises the executor's tasks was killed, and the task with it: by a task of this app, or possibly out of memory"
		// The end must not be reported while a process of the task runs, so LeftBehind waits until all processes are
		// killed. The report names those that could not be killed.
		if unkilled := t.host.LeftBehind(); len(unkilled) > 0 {
			status.Unkilled = true
			status.Cause += fmt.Sprintf("; processes %v of its tasks can't be killed and are left on the agent",
				unkilled)
		}
		t.log.Error("task failed", "error", err)
		t.report(agent.Failed, status.Cause, status)
	case killReason != nil:
		t.report(agent.Killed, killReason.Error()+" before its process was started", t.status)
	default:
		message, status := StartFailure(t.status, err)
		t.log.Warn("task failed", "phase", status.Phase, "error", err)
		t.report(agent.Failed, message, status)
	}
}

// StartFailure returns the message and the status to report for a task that could not be started because of err. The
// given status is completed.
func StartFailure(status wire.Status, err error) (message string, _ wire.Status) {
	status.Phase, status.Cause = wire.PhaseStart, output.Readable(err.Error(), output.CauseLength)
	status.SupervisorLost = errors.Is(err, container.ErrBegun)
	var packErr *pack.Error
	if errors.As(err, &packErr) {
		status.Phase, status.Unreachable, status.Unanswered = packErr.Phase, packErr.Unreachable, packErr.Unanswered
	}
	return output.Readable(err.Error(), output.MessageLength), status
}

// execute decodes the task's description and runs the task to its end. It returns the function that reports that end,
// or an error if the task could not be started or the supervisor was lost. Rule E1 depends on the order of the steps:
// no process is started before announce has returned.
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
	if err := t.host.Refusal; err != nil && spec.HTTP == nil {
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
	release, err := t.awaitLease(spec)
	if err != nil {
		return nil, err
	}
	t.releases = append(t.releases, release)
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

// announce ensures that the scheduler counts the task as begun from now on, even if the task is lost: a lost task that
// never began is launched again (rule E1). If this needs an update, announce returns when the agent has it; it returns
// an error if the task is killed before.
//
// Only two kinds of tasks need the update: a task whose last update said that its package is being fetched, and every
// task until the scheduler has acknowledged an update of this executor. After that acknowledgement the scheduler
// counts a task that was lost without any update as begun. Most tasks are of neither kind and do not wait.
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

// fetch returns the package, which it fetches if it is not in the store. fetching says that an update has reported the
// task as fetching its package.
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

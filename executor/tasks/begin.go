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
	report, err := t.begin()
	t.endedAt = time.Now()
	// Only when the cause of the end has been read from the task's folders.
	defer func() {
		for _, release := range slices.Backward(t.releases) {
			release()
		}
	}()
	why := t.why()
	switch {
	case err == nil:
		report()
	case errors.Is(err, supervisor.ErrLost):
		status := t.status
		status.Phase, status.SupervisorLost = wire.PhaseRun, true
		status.Cause = "the process that supervises the executor's tasks was killed, and the task with it: by a task of this app, or possibly out of memory"
		// The end is reported when nothing of the task is left; else the report says what is.
		if left := t.host.LeftBehind(); len(left) > 0 {
			status.Cause += fmt.Sprintf("; processes %v of its tasks can't be killed and are left on the agent", left)
		}
		t.log.Error("task failed", "error", err)
		t.report(agent.Failed, status.Cause, status)
	case why != nil:
		t.report(agent.Killed, why.Error()+" before its process was started", t.status)
	default:
		status := t.status
		status.Phase, status.Cause, status.SupervisorLost = wire.PhaseStart, output.Readable(err.Error(), output.CauseLength),
			errors.Is(err, container.ErrBegun)
		var failed *pack.Error
		if errors.As(err, &failed) {
			status.Phase, status.Unreachable, status.Unanswered = failed.Phase, failed.Unreachable, failed.Unanswered
		}
		t.log.Warn("task failed", "phase", status.Phase, "error", err)
		t.report(agent.Failed, output.Readable(err.Error(), output.MessageLength), status)
	}
}

// begin takes the task from its description to its end, and gives what reports that. Rule E1 rests on the order of its
// steps: no process is made before announce has returned, so a task that is lost without a word from announce never
// began.
func (t *task) begin() (report func(), err error) {
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
		if t.fetched, fetching, err = t.fetch(spec.Package); err != nil {
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
		return t.daemon(spec)
	case spec.HTTP != nil:
		return t.transientRequest(spec)
	}
	return t.transient(spec)
}

// announce returns when the agent has an update which says that the task's process may begin. A task that is lost
// without such an update never began, and the scheduler launches it again (rule E1).
//
// Two kinds of tasks need it: those whose last update said that the package is being fetched, and all tasks until the
// scheduler has acknowledged an update of this executor. After that the scheduler takes a task that was lost
// without any update for one that began. Most tasks are of neither kind and wait for nothing.
func (t *task) announce(fetching bool) error {
	if !fetching && t.host.Ledger.WasHeard() {
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

// fetch gives the package, and whether it was reported as being fetched.
func (t *task) fetch(p wire.Package) (ready pack.Package, fetching bool, err error) {
	if ready := t.host.Container.Prepared(); ready != nil {
		return *ready, false, nil
	}
	source := pack.Source(p)
	if ready, ok := t.host.Store.Ready(source); ok {
		return ready, false, nil
	}
	status := t.status
	status.Phase = wire.PhaseFetch
	t.report(agent.Starting, "fetching the package", status)
	ready, err = t.host.Store.Get(t.ctx, source)
	return ready, true, err
}

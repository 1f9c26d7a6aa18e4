package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// defaultGrace is for tasks that name none.
const defaultGrace = 5 * time.Second

// shortTask is how long a process runs before it is reported as running.
const shortTask = 25 * time.Millisecond

// task is one attempt at one shard, from its launch to its last update.
type task struct {
	session *session
	log     *slog.Logger
	id      string
	data    []byte
	number  string
	status  wire.Status // what every update says

	ctx    context.Context // ends at a kill, with why it was killed
	cancel context.CancelCauseFunc

	fetched  pack.Package
	writes   bool     // there is room for its output
	releases []func() // give back what the task uses, the last one first
	endedAt  time.Time

	drain chan struct{} // has room for one value, sent when drainBy has changed

	mu      sync.Mutex
	spec    wire.Task
	process *process
	wait    time.Duration // the grace of a kill
	fired   bool          // it is a daemon's shard, and ready to be fired
	drainBy time.Time
	reason  string // why it drains
	// concealed are the secrets that the task was given: no report has them.
	concealed []string
}

func newTask(s *session, a agent.Assignment, number int) *task {
	t := &task{session: s, log: s.log.With("task", a.ID), id: a.ID, data: a.Data, number: strconv.Itoa(number),
		drain: make(chan struct{}, 1)}
	if s.config.AgentSandbox != "" {
		t.status.Dir, t.status.Sandbox = output.Folder+"/"+t.number, s.config.AgentSandbox
	}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

func (t *task) grace() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ownGrace()
}

// ownGrace is called with mu held.
func (t *task) ownGrace() time.Duration {
	if ms := t.spec.KillGraceMillis; ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return defaultGrace
}

// kill ends the task, wherever it is. Later calls can only shorten the grace. With more grace than the task's own a
// daemon's shard is drained first: its run under way may go on for the difference.
func (t *task) kill(grace time.Duration, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if spare := grace - t.ownGrace(); spare > 0 && t.fired && t.ctx.Err() == nil {
		if by := time.Now().Add(spare); t.drainBy.IsZero() || by.Before(t.drainBy) {
			t.drainBy, t.reason = by, why
		}
		select {
		case t.drain <- struct{}{}:
		default:
		}
		return
	}
	if t.ctx.Err() == nil {
		t.wait = grace
	}
	t.wait = min(t.wait, grace)
	t.cancel(errors.New(why))
	if t.process != nil {
		t.end(t.process)
	}
}

// end ends a process of the task that is killed. It is called with mu held.
func (t *task) end(p *process) {
	if err := p.Kill(t.wait); err != nil {
		t.log.Warn("kill failed", "error", err)
	}
	p.pipe.End()
}

// drained ends the task when its shard is drained.
func (t *task) drained() {
	t.mu.Lock()
	grace, why := t.ownGrace(), t.reason
	t.mu.Unlock()
	t.kill(grace, why)
}

// why the task was killed, nil if it wasn't.
func (t *task) why() error { return context.Cause(t.ctx) }

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
		// The end is reported when nothing of the task is left; else the report says what is.
		<-t.session.orphaned
		status := t.status
		status.Phase, status.SupervisorLost = wire.PhaseRun, true
		status.Cause = "the process that supervises the executor's tasks was killed, and the task with it: by a task of this app, or possibly out of memory"
		if left := t.session.left; len(left) > 0 {
			status.Cause += fmt.Sprintf("; processes %v of its tasks can't be killed and are left on the agent", left)
		}
		t.log.Error("task failed", "error", err)
		t.report(agent.Failed, status.Cause, status)
	case why != nil:
		t.report(agent.Killed, why.Error()+" before its process was started", t.status)
	default:
		status := t.status
		status.Phase, status.Cause, status.SupervisorLost = wire.PhaseStart, output.Readable(err.Error(), output.CauseLength),
			errors.Is(err, errBegun)
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
	t.conceal(secretsOf(spec))
	if app := t.session.config.App; app != "" && spec.AppName != app {
		return nil, fmt.Errorf("this executor runs tasks of app %s, and the task is of app %q", app, spec.AppName)
	}
	if err := t.session.refuses; err != nil && spec.HTTP == nil {
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
	if err := t.session.config.container.begin(); err != nil {
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
	if !fetching && t.session.ledger.WasHeard() {
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
	if ready := t.session.config.container.prepared(); ready != nil {
		return *ready, false, nil
	}
	source := pack.Source(p)
	if ready, ok := t.session.store.Ready(source); ok {
		return ready, false, nil
	}
	status := t.status
	status.Phase = wire.PhaseFetch
	t.report(agent.Starting, "fetching the package", status)
	ready, err = t.session.store.Get(t.ctx, source)
	return ready, true, err
}

func (t *task) report(s agent.State, message string, status wire.Status) {
	t.deliver(s, message, status, nil)
}

// deliver reports a state, without the task's secrets, and closes delivered, unless that is nil, when the agent has
// the report.
func (t *task) deliver(s agent.State, message string, status wire.Status, delivered chan struct{}) {
	shown := func(text string) string { return t.session.config.container.inWords(t.hide(text)) }
	message, status.Cause = shown(message), shown(status.Cause)
	if status.Run != nil {
		run := *status.Run
		run.Cause, status.Run = shown(run.Cause), &run
	}
	data, err := status.Encode()
	if err != nil {
		t.log.Error("task status not encoded", "error", err)
	}
	t.session.ledger.Report(agent.Update{Task: t.id, UUID: uuid.New(), State: s, Message: message, Data: data,
		At: time.Now(), Delivered: delivered})
}

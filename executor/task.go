package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/wire"
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

	releases []func() // give back what the task uses, the last one first

	mu      sync.Mutex
	spec    wire.Task
	process *supervisor.Process
	wait    time.Duration // the grace of a kill
}

func newTask(s *session, a assignment, number int) *task {
	t := &task{session: s, log: s.log.With("task", a.id), id: a.id, data: a.data, number: strconv.Itoa(number)}
	t.status.Dir, t.status.Sandbox = tasksFolder+"/"+t.number, s.config.AgentSandbox
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

func (t *task) grace() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ms := t.spec.KillGraceMillis; ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return defaultGrace
}

// kill ends the task, wherever it is. Later calls can only shorten the grace.
func (t *task) kill(grace time.Duration, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() == nil {
		t.wait = grace
	}
	t.wait = min(t.wait, grace)
	t.cancel(errors.New(why))
	if t.process != nil {
		if err := t.process.Kill(t.wait); err != nil {
			t.log.Warn("kill failed", "error", err)
		}
	}
}

func (t *task) run() {
	if spec, err := wire.DecodeTask(t.data); err == nil && spec.HTTP != nil && spec.Daemon == nil {
		t.runRequest(spec)
		return
	}
	defer t.cancel(nil)
	exit, err := t.begin()
	// Only when the cause of the end has been read from the task's folders.
	defer func() {
		for _, release := range slices.Backward(t.releases) {
			release()
		}
	}()
	why := context.Cause(t.ctx)
	switch {
	case err == nil:
		t.ended(exit, why)
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
		t.report(failedState, status.Cause, status)
	case why != nil:
		t.report(killed, why.Error()+" before its process was started", t.status)
	default:
		status := t.status
		status.Phase, status.Cause = wire.PhaseStart, readable(err.Error(), causeLength)
		var failed *pack.Error
		if errors.As(err, &failed) {
			status.Phase, status.Unreachable = failed.Phase, failed.Unreachable
		}
		t.log.Warn("task failed", "phase", status.Phase, "error", err)
		t.report(failedState, readable(err.Error(), messageLength), status)
	}
}

// begin takes the task from its description to the end of its process. Rule E1 rests on the order of its steps: no process
// is made before announce has returned, so a task that is lost without a word from announce never began.
func (t *task) begin() (supervisor.Exit, error) {
	spec, err := wire.DecodeTask(t.data)
	if err != nil {
		return supervisor.Exit{}, err
	}
	t.mu.Lock()
	t.spec = spec
	t.mu.Unlock()
	var fetched pack.Package
	fetching := false
	if spec.Package.URL != "" {
		if fetched, fetching, err = t.fetch(spec.Package); err != nil {
			return supervisor.Exit{}, err
		}
		t.releases = append(t.releases, fetched.Release)
		t.status.PackageSHA256, t.status.PackageNote = fetched.SHA256, fetched.Note
	}
	if err := t.announce(fetching); err != nil {
		return supervisor.Exit{}, err
	}
	process, err := t.start(spec, fetched)
	if err != nil {
		return supervisor.Exit{}, err
	}
	t.status.StartTime = process.Started.UTC()
	// A process that ends at once is reported by its end alone, which has its start time too. Each update is work for
	// the agent, the master and the scheduler, while other tasks wait to
	// be started. A task that is lost in this moment counts as begun (rule E1).
	select {
	case <-process.Done():
	case <-time.After(shortTask):
		t.report(running, "process "+strconv.Itoa(process.PID)+" runs", t.status)
	}
	exit, ok := process.Exit()
	if !ok {
		return exit, supervisor.ErrLost
	}
	return exit, nil
}

// announce returns when the agent has an update which says that the task's process may begin. A task that is lost
// without such an update never began, and the scheduler launches it again (rule E1).
//
// Two kinds of tasks need it: those whose last update said that the package is being fetched, and all tasks until the
// scheduler has acknowledged an update of this executor. After that the scheduler takes a task that was lost
// without any update for one that began. Most tasks are of neither kind and wait for nothing.
func (t *task) announce(fetching bool) error {
	if !fetching && t.session.ledger.wasHeard() {
		return nil
	}
	delivered := make(chan struct{})
	t.deliver(starting, "the process is being started", t.status, delivered)
	select {
	case <-delivered:
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// fetch gives the package, and whether it was reported as being fetched.
func (t *task) fetch(p wire.Package) (ready pack.Package, fetching bool, err error) {
	source := pack.Source(p)
	if ready, ok := t.session.store.Ready(source); ok {
		return ready, false, nil
	}
	status := t.status
	status.Phase = wire.PhaseFetch
	t.report(starting, "fetching the package", status)
	ready, err = t.session.store.Get(t.ctx, source)
	return ready, true, err
}

// start starts the process in a working folder that shows the package, if there is one.
func (t *task) start(spec wire.Task, fetched pack.Package) (*supervisor.Process, error) {
	// Processes are started one by one anyhow. Those that wait for it have no folders yet: so
	// many short tasks need few of them.
	t.session.starting <- struct{}{}
	defer func() { <-t.session.starting }()

	output, err := t.session.outputs.folder(t.number)
	if err != nil {
		return nil, err
	}
	t.releases = append(t.releases, t.session.outputs.add(t.number))
	temporary, giveBack, err := t.session.temporaries.take("", "")
	if err != nil {
		return nil, err
	}
	t.releases = append(t.releases, func() { giveBack("") })
	if len(spec.Command) == 0 {
		return nil, errors.New("the app has no command to run")
	}
	root := ""
	if fetched.Dir != "" {
		root = pack.Root(fetched.Dir, spec.Command[0])
	}
	work, putBack, err := t.session.works.take(root, fetched.State)
	if err != nil {
		return nil, err
	}
	t.releases = append(t.releases, func() { putBack(t.keepAs()) })
	return t.startIn(places{temporary: temporary, work: work, root: root}, output, spec)
}

// startIn starts the process in its folders, unless the task was killed meanwhile.
func (t *task) startIn(at places, output string, spec wire.Task) (*supervisor.Process, error) {
	shard, err := shardContext(spec)
	if err != nil {
		return nil, err
	}
	env := t.session.base.of(spec, at, shard)
	path, args, err := findCommand(cmp.Or(at.root, at.work), spec.Command, env["PATH"])
	if err != nil {
		return nil, err
	}
	if err := context.Cause(t.ctx); err != nil {
		return nil, err
	}
	path, args = inView(at.root, at.work, path, args)
	process, err := t.session.supervisor.Start(supervisor.Spec{
		Path: path, Args: append(args, shard), Env: env.list(), Marker: taskVariable + "=" + spec.TaskID, Dir: at.work,
		Processes: t.session.config.Processes, Stdout: filepath.Join(output, "stdout"), Stderr: filepath.Join(output, "stderr"),
	})
	var refused *supervisor.StartError
	if errors.As(err, &refused) {
		return nil, explainStart(path, spec.Command[0], refused)
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.process = process
	if t.ctx.Err() != nil {
		_ = process.Kill(t.wait) // killed in between
	}
	return process, nil
}

// ended reports how the process ended.
func (t *task) ended(exit supervisor.Exit, why error) {
	status := t.status
	status.Phase = wire.PhaseRun
	status.CompleteTime = exit.At.UTC()
	if exit.Signal != 0 {
		status.Signal = syscall.Signal(exit.Signal).String()
	} else {
		status.ExitStatus = &exit.Status
	}
	switch {
	case exit.Killed:
		status.Cause = why.Error()
		t.report(killed, status.Cause+": "+exitText(exit), status)
	case exit.Status == 0:
		status.Phase = ""
		t.log.Debug("task finished")
		t.report(finished, "exit status 0", status)
	default:
		text := exitText(exit)
		if t.session.outputs.diskFull() {
			text += "; the agent's disk is full"
		}
		status.Cause = t.session.outputs.cause(t.number, text)
		t.log.Warn("task failed", "error", text)
		t.report(failedState, text, status)
	}
}

func exitText(exit supervisor.Exit) string {
	if exit.Signal == 0 {
		return "exit status " + strconv.Itoa(exit.Status)
	}
	text := fmt.Sprintf("ended by signal %d (%s)", exit.Signal, syscall.Signal(exit.Signal))
	if exit.Signal == int(syscall.SIGKILL) && !exit.Killed {
		text += ", which this executor didn't send: possibly out of memory, at the limit of the container that all tasks of the app share on this agent"
	}
	return text
}

func (t *task) report(s state, message string, status wire.Status) {
	t.deliver(s, message, status, nil)
}

// deliver reports a state, and closes delivered, unless that is nil, when the agent has the report.
func (t *task) deliver(s state, message string, status wire.Status, delivered chan struct{}) {
	data, err := status.Encode()
	if err != nil {
		t.log.Error("task status not encoded", "error", err)
	}
	t.session.ledger.report(update{task: t.id, uuid: uuid.New(), state: s, message: message, data: data, at: time.Now(), delivered: delivered})
}

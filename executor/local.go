package executor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Local is one task that a user tries on this machine, without an agent. Everything else is the same as on a
// cluster.
type Local struct {
	Task wire.Task
	// Timeout is the time after which the running task is killed; 0 means none.
	Timeout time.Duration
	// Sandbox is the absolute path of an empty folder for all files.
	Sandbox string
	// Supervisor and Secrets are the same as in Config.
	Supervisor []string
	Secrets    []string
	// RunAs is the same as in Config, except that empty allows root: a user who starts this program as root wants the
	// task to run as root.
	RunAs string
	// Keep means that the process's working folder stays in the sandbox, at KeptFolder, however the process ends.
	Keep bool
	// Stdout and Stderr get the task's output while it runs.
	Stdout, Stderr io.Writer
	// Progress, if not nil, is called with the progress that the task reports, by one goroutine at a time.
	Progress func(wire.Progress)
}

// KeptFolder returns the path at which Keep leaves the working folder.
func (l Local) KeptFolder() string { return filepath.Join(l.Sandbox, keptFolder, "1") }

// Ending is the outcome of a task.
type Ending struct {
	// Finished means that the task succeeded, and Killed that it was killed. TimedOut is set in addition to Killed if
	// the kill was for the timeout. If none of them is set, the task failed.
	Finished, Killed, TimedOut bool
	// Message describes the outcome in one line.
	Message string
	Status  wire.Status
}

// ExitStatus returns the exit status for a program that ran the task. That is the process's own exit status, 128 plus
// the number of the signal that ended the process, 124 if the task timed out, 143 if it was killed, 125 if no process
// was started, or 1 for any other failure.
func (e Ending) ExitStatus() int {
	s := e.Status
	switch {
	case e.Finished:
		return 0
	case e.TimedOut:
		return 124 // like timeout(1)
	case e.Killed:
		return 128 + int(syscall.SIGTERM)
	case s.StartTime.IsZero():
		return 125
	case s.ExitStatus != nil && *s.ExitStatus != 0:
		return *s.ExitStatus
	case s.Signal != "":
		return 128 + signalNumber(s.Signal)
	}
	return 1
}

// signalNumber returns the number of the signal with this name in Go; 0 if there is none.
func signalNumber(name string) int {
	for n := 1; n < 65; n++ {
		if syscall.Signal(n).String() == name {
			return n
		}
	}
	return 0
}

// RunLocal runs one task, and returns when no process of the task is left. When ctx ends, the task is killed with its
// grace. An error says why there is no outcome: the task could not be run, or did not end within its grace.
func RunLocal(ctx context.Context, l Local, log *slog.Logger) (Ending, error) {
	grace := time.Duration(l.Task.KillGraceMillis) * time.Millisecond
	config := Config{
		FrameworkID: "local", ExecutorID: "local", Sandbox: l.Sandbox, AgentSandbox: l.Sandbox,
		Cache:      privateCache(l.Sandbox),
		Checkpoint: true, Recovery: time.Hour, BackoffMax: time.Second, ShutdownGrace: ShutdownGrace(grace),
		Supervisor: l.Supervisor,
		Package:    pack.Defaults(), Output: output.DefaultLimits(), Processes: DefaultProcesses, Secrets: l.Secrets,
	}
	if config.keepSucceeded = l.Keep; l.Keep {
		config.KeepFailed = 1
	}
	if config.RunAs = l.RunAs; config.RunAs == "" && os.Geteuid() == 0 {
		config.RunAs = "0"
	}
	l.Task.FencingToken = time.Now().UnixMilli()
	data, err := l.Task.Encode()
	if err != nil {
		return Ending{}, err
	}
	a := newLocalAgent(l.Task.TaskID, data)
	a.timeout, a.progress = l.Timeout, l.Progress
	followCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	for name, w := range map[string]io.Writer{"stdout": l.Stdout, "stderr": l.Stderr} {
		following.Go(func() { output.Follow(followCtx, filepath.Join(l.Sandbox, output.Folder, "1", name), w) })
	}
	err = runWith(ctx, config, a, log)
	stop()
	following.Wait()
	if ending, ended := a.ending(); ended {
		return ending, nil
	}
	if err == nil {
		err = errors.New("the task did not end in time, and was killed")
	}
	return Ending{}, err
}

// localAgent replaces the agent for one task: it launches the task, acknowledges its updates, and shuts the
// executor down when the task has ended.
type localAgent struct {
	task     string
	timeout  time.Duration
	progress func(wire.Progress)
	events   chan *executor.Event // a send waits only if the executor is many events behind

	mu       sync.Mutex
	running  *time.Timer // the timeout, which starts at the first RUNNING
	timedOut bool
	last     *agent.Update // the task's terminal update
	passed   time.Time     // the time of the newest progress that was passed to the user
}

var _ agent.API = (*localAgent)(nil)

func newLocalAgent(task string, data []byte) *localAgent {
	a := &localAgent{task: task, events: make(chan *executor.Event, 16)}
	a.send(&executor.Event{Type: executor.Event_LAUNCH,
		Launch: &executor.Event_Launch{Task: mesos.TaskInfo{TaskID: mesos.TaskID{Value: task}, Data: data}}})
	return a
}

// kill requests the end of the task, with the grace of the policy, or with the task's own grace if policy is nil.
func (a *localAgent) kill(policy *mesos.KillPolicy) {
	a.send(&executor.Event{Type: executor.Event_KILL,
		Kill: &executor.Event_Kill{TaskID: mesos.TaskID{Value: a.task}, KillPolicy: policy}})
}

func (a *localAgent) send(e *executor.Event) { a.events <- e }

// Subscribe returns the stream of events. It ignores its arguments, because the agent has lost nothing.
func (a *localAgent) Subscribe(ctx context.Context, _ []agent.Assignment, _ []agent.Update) (agent.Events, error) {
	return localEvents{ctx, a.events}, nil
}

// Update acknowledges an update, as agent and scheduler do. A terminal update shuts the executor down.
func (a *localAgent) Update(_ context.Context, u agent.Update) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.send(&executor.Event{Type: executor.Event_ACKNOWLEDGED,
		Acknowledged: &executor.Event_Acknowledged{TaskID: mesos.TaskID{Value: u.Task}, UUID: u.UUID[:]}})
	switch {
	case u.State.Terminal():
		a.last = &u
		if status, _ := wire.DecodeStatus(u.Data); status.Progress != nil {
			a.pass(*status.Progress)
		}
		if a.running != nil {
			a.running.Stop()
		}
		a.send(&executor.Event{Type: executor.Event_SHUTDOWN})
	case u.State == agent.Running && a.timeout > 0 && a.running == nil:
		a.running = time.AfterFunc(a.timeout, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.timedOut = true
			a.kill(nil)
		})
	}
	return nil
}

// Message passes progress to the user.
func (a *localAgent) Message(_ context.Context, data []byte) error {
	report, _ := wire.DecodeReport(data)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range report.Tasks {
		if t.Progress != nil {
			a.pass(*t.Progress)
		}
	}
	return nil
}

// pass passes progress to the user, unless newer progress was passed before. The caller holds mu.
func (a *localAgent) pass(p wire.Progress) {
	if a.progress != nil && p.At.After(a.passed) {
		a.passed = p.At
		a.progress(p)
	}
}

// Close stops the timeout.
func (a *localAgent) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running != nil {
		a.running.Stop()
	}
}

// ending returns the outcome of the task, and false if it has not ended.
func (a *localAgent) ending() (Ending, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return Ending{}, false
	}
	status, _ := wire.DecodeStatus(a.last.Data)
	killed := a.last.State == agent.Killed
	return Ending{
		Finished: a.last.State == agent.Finished, Killed: killed, TimedOut: killed && a.timedOut,
		Message: a.last.Message, Status: status,
	}, true
}

// localEvents is the event stream of a localAgent.
type localEvents struct {
	ctx    context.Context
	events chan *executor.Event
}

func (s localEvents) Next() (*executor.Event, error) {
	select {
	case e := <-s.events:
		return e, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (localEvents) Close() {}

package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
)

// Ends of [Run] that aren't asked for. All tasks were stopped at once.
var (
	// ErrUnknown: the agent refused us; it doesn't know this executor (rule X6).
	ErrUnknown = errors.New("the agent doesn't know this executor; its tasks were stopped")
	// ErrAway: the agent was away for longer than the recovery timeout, or at all without checkpoint (rule X6).
	ErrAway = errors.New("no contact with the agent; all tasks were stopped")
	// ErrSupervisorEnded: the supervisor process ended.
	ErrSupervisorEnded = errors.New("the supervisor process ended; its tasks were stopped")
)

// senders is how many updates are on their way at once, of different tasks.
const senders = 8

// starters is how many processes are being prepared and started at once.
const starters = 4

// inheritance is how long the executor tries to kill what a supervisor left behind that was killed. Only a process
// that the kernel can't end, such as one that waits for a dead disk, lives as long.
const inheritance = 30 * time.Second

// Folders in the sandbox.
const (
	temporariesFolder = "tmp"
	workFoldersFolder = "work"
	failedFolder      = "failed"
)

// session is one executor's life.
type session struct {
	config     Config
	log        *slog.Logger
	agent      agent.API
	supervisor *supervisor.Client
	store      *pack.Store
	ledger     *agent.Ledger
	outputs    output.Sink
	base       launch.Environment
	as         *isolation.Account // who tasks run as, nil for the executor's own user
	refuses    error              // why no process of a task can be started, or nil

	temporaries *workdir.Folders
	works       *workdir.Folders
	starting    chan struct{} // holds one for each process that is being started
	turns       *turns
	clock       *clockWatch
	alarm       *alarm
	references  launch.References
	reports     *reports

	// orphaned is closed when the supervisor has ended and what it left behind was killed, but for processes in left.
	orphaned chan struct{}
	left     []int

	mu     sync.Mutex
	tasks  map[string]*task
	closed bool // no more tasks
	number int
	work   sync.WaitGroup // tasks
}

// Run is the executor. It returns nil when the agent shut it down or ctx ended, after its tasks were
// killed with grace, or else one of the errors above. In each
// case no process of a task is left. The process must have no children of its own.
func Run(ctx context.Context, config Config, log *slog.Logger) error {
	return runWith(ctx, config, agent.NewClient(agent.Options{Agent: config.Agent, Token: config.Token,
		FrameworkID: config.FrameworkID, ExecutorID: config.ExecutorID, TLS: config.TLS, Connections: senders}), log)
}

func runWith(ctx context.Context, config Config, of agent.API, log *slog.Logger) (err error) {
	defer of.Close()
	if config.Hide != nil && !isolation.Entered() && os.Geteuid() != 0 {
		return fmt.Errorf("hide %s from tasks: the agent has started this executor where it is in sight; start the server again",
			config.Hide.Folder)
	}
	var as *isolation.Account
	var refuses error
	if config.container == nil { // who runs in one, its image and the pod say
		as, refuses = isolation.Needed(config.RunAs, os.Geteuid())
	}
	store, err := openStore(&config, as, log)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := makeFolders(config, as); err != nil {
		return err
	}
	sandbox, err := os.OpenRoot(config.Sandbox)
	if err != nil {
		return fmt.Errorf("open the sandbox: %w", err)
	}
	defer func() { _ = sandbox.Close() }()
	for _, folder := range []string{config.Sandbox, config.Cache} {
		if refuses == nil {
			refuses = cmp.Or(as.Reaches(folder), as.LeavesAlone(folder))
		}
	}
	if refuses != nil {
		log.Error("tasks refused", "error", refuses)
	}
	supervised, err := launchSupervisor(config)
	if err != nil {
		return err
	}
	s := &session{
		config: config, log: log, agent: of, supervisor: supervised, store: store,
		references: launch.NewReferences(config.Secrets, os.LookupEnv),
		ledger:     agent.NewLedger(), outputs: newOutput(config, as, log),
		base: config.container.environment(launch.BaseEnvironment(as)), as: as, refuses: refuses, tasks: map[string]*task{},
		temporaries: workdir.New(workdir.Options{Sandbox: sandbox, Dir: temporariesFolder, As: as, Log: log}),
		works: workdir.New(workdir.Options{
			Sandbox: sandbox, Dir: workFoldersFolder, Kept: failedFolder, Keep: config.KeepFailed, As: as, Log: log,
		}),
		starting: make(chan struct{}, starters), turns: newTurns(), clock: newClockWatch(log), alarm: newAlarm(),
		reports: newReports(), orphaned: make(chan struct{}),
	}
	background, stop := context.WithCancel(context.Background())
	var helpers sync.WaitGroup
	defer func() {
		// The order matters: when no process is left, all tasks end; only then may the goroutines that serve them.
		s.killAll(0, "the executor ended")
		_ = supervised.Close()
		s.work.Wait()
		s.alarm.wait()
		s.works.RemoveAll() // sandboxes are kept for long, and links take disk space
		stop()
		s.ledger.Close()
		helpers.Wait()
	}()
	helpers.Go(func() {
		<-supervised.Lost()
		_ = supervised.Close() // reaps it, so that all other children are what it left behind
		s.left = supervised.KillChildren(inheritance)
		close(s.orphaned)
	})
	for range senders {
		helpers.Go(func() { s.send(background) })
	}
	helpers.Go(func() { s.outputs.Watch(background) })
	helpers.Go(func() { s.clock.watch(background) })
	helpers.Go(func() { s.sendReports(background) })
	shutdown := make(chan struct{})
	away := make(chan error, 1)
	helpers.Go(func() { away <- s.listen(background, shutdown) })
	if config.TLS != nil && config.TLS.VerifyConnection == nil {
		log.Warn("agent's certificate not checked: no CA is known, and LIBPROCESS_SSL_VERIFY_SERVER_CERT does not ask for it")
	}
	log.Info("executor started", "executor", config.ExecutorID, "agent", config.Agent, "sandbox", config.Sandbox,
		"pid", os.Getpid(), "supervisor", supervised.PID())

	select {
	case err := <-away:
		return err
	case <-supervised.Lost():
		<-s.orphaned
		s.killAll(0, "the executor ended")
		s.work.Wait()
		s.flushAfter(time.Second)
		return ErrSupervisorEnded
	case <-shutdown:
		log.Info("shutdown requested by the agent")
	case <-ctx.Done():
		log.Info("end requested", "reason", context.Cause(ctx))
	}
	s.drain()
	return nil
}

// launchSupervisor starts the supervisor. An executor that sees nothing of the data folder has its secrets in sight,
// which tasks must not see: the supervisor is started without.
func launchSupervisor(config Config) (*supervisor.Client, error) {
	if config.container != nil {
		return supervisor.Inside()
	}
	if len(config.Supervisor) == 0 {
		return nil, errors.New("start supervisor: no command is configured")
	}
	if err := supervisor.Inherit(); err != nil {
		return nil, err
	}
	// The sandbox is there to be seen in a list of processes.
	args := append(slices.Clone(config.Supervisor[1:]), config.Sandbox)
	return supervisor.Launch(config.hiddenFromTasks(), config.Supervisor[0], args...)
}

// makeFolders makes the folders of tasks in the sandbox. Those that tasks write to belong to their user: what he can
// reach is only touched with his rights. The sandbox itself stays the executor's, and he may pass through it.
func makeFolders(config Config, as *isolation.Account) error {
	if config.container != nil { // for one task, few files come and go
		if err := errors.Join(makeFolder(config.Sandbox, temporariesFolder),
			makeFolder(config.Sandbox, workFoldersFolder)); err != nil {
			return fmt.Errorf("make the folder for the task: %w", err)
		}
		return nil
	}
	folders := []string{output.Folder, temporariesFolder, workFoldersFolder}
	if as != nil && config.KeepFailed > 0 {
		folders = append(folders, failedFolder)
	}
	err := letPass(config.Sandbox, as)
	for _, folder := range folders {
		err = errors.Join(err, makeSpread(config.Sandbox, folder))
		path := filepath.Join(config.Sandbox, folder)
		switch {
		case err != nil || as == nil:
		case folder == output.Folder:
			err = os.Chmod(path, 0o700) // tasks have their output open, and nothing to look for there
		default:
			err = os.Lchown(path, int(as.UID), int(as.GID))
		}
	}
	if err != nil {
		return fmt.Errorf("make the folder for tasks: %w", err)
	}
	return nil
}

func makeFolder(parent, name string) error {
	if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// letPass lets a user go through a folder of the executor's, and nobody else but root.
func letPass(folder string, as *isolation.Account) error {
	if as == nil {
		return nil
	}
	return errors.Join(os.Chown(folder, os.Geteuid(), int(as.GID)), os.Chmod(folder, 0o710))
}

// listen keeps a subscription. It closes asked at SHUTDOWN, and returns when the tasks must be stopped at once (rule
// X6).
func (s *session) listen(ctx context.Context, asked chan struct{}) error {
	every := min(max(s.config.BackoffMax/4, 10*time.Millisecond), 500*time.Millisecond) // rule X5
	lastSeen := time.Now()
	once := sync.OnceFunc(func() { close(asked) })
	for first := true; ; {
		tasks, updates := s.ledger.Unacknowledged()
		stream, err := s.agent.Subscribe(ctx, tasks, updates)
		if err == nil {
			s.log.Info("subscribed", "unacknowledged tasks", len(tasks), "unacknowledged updates", len(updates))
			s.ledger.Connect(updates)
			err = s.follow(stream, once)
			s.ledger.Disconnect()
			lastSeen, first = time.Now(), false
			if ctx.Err() == nil {
				s.log.Warn("agent disconnected", "error", err)
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, agent.ErrUnknown):
			s.log.Error("executor refused by the agent: all tasks stopped", "error", err)
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		case !s.config.Checkpoint && !first,
			!s.config.Checkpoint && time.Since(lastSeen) > agent.AnswerWithin,
			time.Since(lastSeen) > s.config.Recovery:
			s.log.Error("agent out of reach: all tasks stopped", "error", err, "for",
				time.Since(lastSeen).Round(time.Millisecond))
			return fmt.Errorf("%w: %w", ErrAway, err)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
	}
}

// follow handles events until the stream ends, as it does with the context of subscribe.
func (s *session) follow(stream agent.Events, onShutdown func()) error {
	defer stream.Close()
	for {
		e, err := stream.Next()
		if err != nil {
			return err
		}
		s.obey(e, onShutdown)
	}
}

// send delivers updates, one at a time.
func (s *session) send(ctx context.Context) {
	for {
		u, ok := s.ledger.Take()
		if !ok {
			return
		}
		err := s.agent.Update(ctx, u)
		if s.ledger.SendDone(u, err) && ctx.Err() == nil {
			s.log.Warn("update not accepted; it will be sent again", "task", u.Task, "error", err)
		}
	}
}

// killAll ends every task, with its own grace but no more than most, and lets no more begin.
func (s *session) killAll(most time.Duration, why string) {
	s.mu.Lock()
	s.closed = true
	tasks := slices.Collect(maps.Values(s.tasks))
	s.mu.Unlock()
	for _, t := range tasks {
		t.kill(min(t.grace(), most), why)
	}
}

// reporting is the most of the agent's time that is kept for the updates which follow when all tasks have ended.
const reporting = 3 * time.Second

// ShutdownGrace is what an agent is to be asked for, so that SHUTDOWN leaves tasks their own grace; 0 stands for
// the default, as in wire.Task.
func ShutdownGrace(task time.Duration) time.Duration {
	if task <= 0 {
		task = defaultGrace
	}
	return task + reporting + reporting/2
}

// timesOf divides the agent's time: by when we end, and how long tasks may take until SIGKILL.
func timesOf(shutdownGrace time.Duration) (end, tasks time.Duration) {
	end = shutdownGrace - min(shutdownGrace/10, reporting/2)
	return end, end - min(end/4, reporting)
}

// drain ends every task with grace, and reports what it can in the time that the agent gives.
func (s *session) drain() {
	end, most := timesOf(s.config.ShutdownGrace)
	deadline := time.Now().Add(end)
	s.killAll(most, "killed because the executor is shut down")
	ended := make(chan struct{})
	go func() {
		s.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(end):
	}
	s.flushAfter(max(time.Until(deadline), 100*time.Millisecond))
}

// flushAfter waits until all updates are acknowledged, within the limit.
func (s *session) flushAfter(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.ledger.Flush(ctx)
}

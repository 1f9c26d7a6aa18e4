package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/lease"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/tasks"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
)

// senders is how many updates, each of a different task, are sent concurrently.
const senders = 8

// orphanKillTimeout is how long the executor tries to kill the processes that a killed supervisor left behind. Only a
// process that the kernel can't end, such as one that waits for a dead disk, survives that long.
const orphanKillTimeout = 30 * time.Second

// Run runs the executor. If the agent shuts the executor down or ctx ends, it kills the tasks with their grace and
// then returns nil. Otherwise it returns ErrUnknown, ErrAway or ErrSupervisorEnded, or an error of the start. When it
// returns, no process of a task is left, except for processes that the kernel can't end. The process must have no
// children of its own.
func Run(ctx context.Context, config Config, log *slog.Logger) error {
	return runWith(ctx, config, agent.NewClient(agent.Options{Agent: config.Agent, Token: config.Token,
		FrameworkID: config.FrameworkID, ExecutorID: config.ExecutorID, TLS: config.TLS, Connections: senders}), log)
}

func runWith(ctx context.Context, config Config, api agent.API, log *slog.Logger) (err error) {
	defer api.Close()
	if config.Hide != nil && !isolation.Entered() && os.Geteuid() != 0 {
		return fmt.Errorf("hide %s from tasks: the agent started this executor where it is visible; restart the server",
			config.Hide.Folder)
	}
	var as *isolation.Account
	var refusal error            // why the executor refuses all tasks; nil if it accepts them
	if config.container == nil { // in a pod, the pod and the image define the user
		as, refusal = isolation.AccountFor(config.RunAs, os.Geteuid())
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
		if refusal == nil {
			refusal = cmp.Or(as.CheckEntry(folder), as.CheckProtected(folder))
		}
	}
	if refusal != nil {
		log.Error("tasks refused", "error", refusal)
	}
	supervisorClient, err := launchSupervisor(config)
	if err != nil {
		return err
	}
	orphaned := make(chan struct{}) // closed when the supervisor has ended and its processes were killed
	var unkilled []int              // processes that could not be killed; valid once orphaned is closed
	ledger, outputs := agent.NewLedger(), newOutput(config, as, log)
	workFolders := workdir.New(workdir.Options{
		Sandbox: sandbox, Dir: workFoldersFolder, Kept: keptFolder, As: as, Log: log,
	})
	leaseOptions := lease.Options{Log: log}
	if config.container == nil { // in a pod there is no agent to send to
		leaseOptions.Send = api.Message
	}
	leases := lease.New(leaseOptions)
	taskSet := tasks.New(tasks.Options{
		App: config.App, AgentSandbox: config.AgentSandbox, Processes: config.Processes, Container: config.container,
		As: as, Refusal: refusal, Base: config.container.Environment(launch.BaseEnvironment(as)),
		References: launch.NewReferences(config.Secrets, os.LookupEnv), Supervisor: supervisorClient,
		Leases:     leases,
		LeftBehind: func() []int { <-orphaned; return unkilled },
		Store:      store, Ledger: ledger, Outputs: outputs,
		Temporaries: workdir.New(workdir.Options{Sandbox: sandbox, Dir: temporariesFolder, As: as, Log: log}),
		Works:       workFolders, KeepFailed: config.KeepFailed, Kept: keptFolder, KeepSucceeded: config.keepSucceeded,
		Log: log,
	})
	s := &session{config: config, log: log, agent: api, ledger: ledger, tasks: taskSet, leases: leases}
	background, stop := context.WithCancel(context.Background())
	var helpers sync.WaitGroup
	defer func() {
		// The order matters: tasks end only after their processes have ended, and the goroutines that serve tasks
		// must run until all tasks have ended.
		taskSet.KillAll(0, "the executor ended")
		_ = supervisorClient.Close()
		taskSet.Wait()
		workFolders.RemoveAll() // sandboxes are kept for long, and the links in them take disk space
		stop()
		ledger.Close()
		helpers.Wait()
	}()
	helpers.Go(func() {
		<-supervisorClient.Lost()
		_ = supervisorClient.Close() // reaps the supervisor, so that all remaining children are processes that it left behind
		unkilled = supervisorClient.KillChildren(orphanKillTimeout)
		close(orphaned)
	})
	for range senders {
		helpers.Go(func() { s.send(background) })
	}
	helpers.Go(func() { outputs.Watch(background) })
	helpers.Go(func() { taskSet.Serve(background, api) })
	shutdown := make(chan struct{})
	away := make(chan error, 1)
	helpers.Go(func() { away <- s.listen(background, shutdown) })
	if config.TLS != nil && config.TLS.VerifyConnection == nil {
		log.Warn("agent's certificate not verified: no CA is configured, and LIBPROCESS_SSL_VERIFY_SERVER_CERT does not require it")
	}
	log.Info("executor started", "executor", config.ExecutorID, "agent", config.Agent, "sandbox", config.Sandbox,
		"pid", os.Getpid(), "supervisor", supervisorClient.PID())

	select {
	case err := <-away:
		return err
	case <-supervisorClient.Lost():
		<-orphaned
		taskSet.KillAll(0, "the executor ended")
		taskSet.Wait()
		s.flushWithin(time.Second)
		return ErrSupervisorEnded
	case <-shutdown:
		log.Info("shutdown requested by the agent")
	case <-ctx.Done():
		log.Info("executor stop requested", "reason", context.Cause(ctx))
	}
	s.drain()
	return nil
}

// launchSupervisor starts the supervisor. An executor from which the data folder is hidden still sees its own
// secrets. Tasks must not see those, so the supervisor, and with it the tasks, starts without them.
func launchSupervisor(config Config) (*supervisor.Client, error) {
	switch {
	case len(config.Supervisor) > 0:
	case config.container != nil:
		return supervisor.Inside()
	default:
		return nil, errors.New("start supervisor: no command is configured")
	}
	if err := supervisor.Inherit(); err != nil {
		return nil, err
	}
	// The sandbox as an argument tells executors apart in a list of processes.
	args := append(slices.Clone(config.Supervisor[1:]), config.Sandbox)
	return supervisor.Launch(config.hiddenFromTasks(), config.Supervisor[0], args...)
}

func newOutput(config Config, as *isolation.Account, log *slog.Logger) output.Sink {
	if config.container != nil {
		return config.container.Output()
	}
	return output.NewFiles(config.Sandbox, config.Output, as, log)
}

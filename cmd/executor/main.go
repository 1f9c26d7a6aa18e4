// Command executor runs the shards of an app. A Mesos agent starts it with its configuration in the environment;
// arguments may set limits. "executor run" runs shards manually, and "executor pod" runs the task of a pod.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/release"
	"github.com/elasticjob-go/elasticjob/internal/trust"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// supervisorCommand starts this program, even if its file has been replaced.
var supervisorCommand = []string{"/proc/self/exe", "supervisor"}

func main() {
	os.Exit(run())
}

func run() int {
	err := isolation.Enter()
	// The process may have been executed through a file descriptor. Lists of processes would then show the
	// descriptor's number as its name. If this fails, only the name is wrong.
	_ = os.WriteFile("/proc/self/comm", []byte("executor"), 0)
	if err == nil {
		err = isolation.Conceal()
	}
	if err == nil && !slices.Contains(os.Args[1:], "supervisor") { // a supervisor makes no connections
		if err = trust.Add(os.Getenv(trust.Variable)); err != nil {
			err = fmt.Errorf("%s: %w", trust.Variable, err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "executor:", err)
		return 1
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "can-hide":
			return canHide()
		case "supervisor":
			if err := supervisor.Serve(); err != nil {
				fmt.Fprintln(os.Stderr, "executor supervisor:", err)
				return 1
			}
			return 0
		case "run":
			return try(os.Args[2:])
		case "pod":
			return pod(os.Args[2:])
		case "--version":
			fmt.Print(release.Text("executor"))
			return 0
		}
	}
	config, err := executor.FromEnvironment(os.Getenv)
	if errors.Is(err, executor.ErrNoAgent) {
		fmt.Fprintln(os.Stderr, "This is ElasticJob's executor: a Mesos agent starts it to run the tasks of an app; it isn't started by hand.")
		fmt.Fprintln(os.Stderr, "To try a package before it is published: executor run --help")
		fmt.Fprintln(os.Stderr, "To try ElasticJob on this machine run `scheduler --local`, publish an app and register a job: the scheduler brings the executor along.")
		return 2
	}
	if err == nil {
		err = config.Arguments(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "executor:", err)
		return 2
	}
	if id, err := jobs.ParseExecutorID(config.ExecutorID); err == nil { // otherwise another scheduler started it
		config.App = id.App
	}
	config.Supervisor = supervisorCommand
	syscall.Umask(0o022)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := executor.Run(ctx, config, log); err != nil {
		log.Error("executor ended", "error", err)
		return 1
	}
	log.Info("executor ended")
	return 0
}

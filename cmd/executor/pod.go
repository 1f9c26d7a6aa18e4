package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/elasticjob-go/elasticjob/executor"
)

const podUsage = `usage: executor pod [--prepare] [--package-bytes=16GiB …]

What the pods of scheduler --kubernetes start: it runs the one task that its environment has (ELASTICJOB_TASK, or the file that
ELASTICJOB_TASK_FILE names), and ends as the task does. With --prepare, in an init container, it fetches the task's package and leaves it, and
itself, at /elasticjob for the next container.
`

// pod is executor pod. It returns the exit status.
func pod(args []string) int {
	// It takes its memory and its turns from the job's. A pod rarely has a limit of CPUs, and Go would prepare for all
	// of the node's.
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2))
	debug.SetGCPercent(25)
	// A pod's image says which signal asks for its end; the first process gets none that it doesn't listen to.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT,
		syscall.SIGHUP)
	defer stop()
	syscall.Umask(0o022)
	prepare := len(args) > 0 && args[0] == "--prepare"
	if prepare {
		args = args[1:]
	}
	if slices.Contains(args, "--help") {
		fmt.Print(podUsage)
		return 0
	}
	p, err := executor.PodFromEnvironment(os.Getenv, args)
	if errors.Is(err, executor.ErrNoPod) {
		fmt.Fprint(os.Stderr, podUsage)
		return 2
	}
	// The output is the job's. The end of its only run is in the termination message; of a daemon that goes on, more
	// is to be said.
	level := slog.LevelError
	if p.Task.Daemon != nil {
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	_ = p.Begin() // where it can't be written, Leave says so
	var ending executor.Ending
	switch {
	case err != nil:
		ending = executor.NotStarted(err)
	case prepare:
		ending = p.Prepare(ctx, log)
	default:
		ending = p.Run(ctx, log)
	}
	if !ending.Finished && ending.Status.StartTime.IsZero() {
		fmt.Fprintln(os.Stderr, "executor pod:", ending.Message)
	}
	if err := p.Leave(ending); err != nil {
		fmt.Fprintln(os.Stderr, "executor pod:", err)
	}
	return ending.ExitStatus()
}

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

// pod is the command executor pod. It returns the exit status.
func pod(args []string) int {
	// The executor shares memory and CPUs with the job. Pods rarely have a CPU limit, so Go would otherwise start
	// threads for all CPUs of the node.
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2))
	debug.SetGCPercent(25)
	// The image of a pod determines the signal that stops the pod. The kernel delivers a signal to the first process
	// of a pod only if the process handles it.
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
	p.Supervisor = supervisorCommand
	// The executor logs little, because the output belongs to the job. The termination message reports the end of a
	// run; a daemon has several runs, so its warnings are logged too. Without a lease a task does not begin, and only
	// the log says why.
	level := slog.LevelError
	if p.Task.Daemon != nil || p.Task.Lease != nil {
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	_ = p.ClearMessage() // WriteMessage reports that the file cannot be written
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
	if err := p.WriteMessage(ending); err != nil {
		fmt.Fprintln(os.Stderr, "executor pod:", err)
	}
	return ending.ExitStatus()
}

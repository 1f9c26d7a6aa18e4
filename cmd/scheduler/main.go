// Command scheduler is the server. It publishes apps, registers jobs and runs their shards on a cluster or, with
// --local, on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/commands"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

func main() {
	if err := isolation.Conceal(); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends ctx. Then stop restores the default action, so that a second signal ends the process at
	// once. Tasks keep running in that case, and the next start finds them again.
	context.AfterFunc(ctx, stop)
	err := commands.New().ExecuteContext(ctx)
	switch {
	case err == nil:
	case errors.Is(err, commandline.ErrUsage):
		os.Exit(2)
	case errors.Is(err, server.ErrLogged):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

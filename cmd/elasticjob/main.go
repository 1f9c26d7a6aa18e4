// Command elasticjob is the command line of the scheduler, for people and
// scripts: it publishes apps, registers and triggers jobs, and shows runs.
// docs/cli.md has all commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(newCLI().run(ctx, os.Args[1:]))
}

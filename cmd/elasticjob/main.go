// Command elasticjob is the command line of the scheduler for users and scripts. It publishes apps, registers and
// triggers jobs, and shows runs. docs/cli.md describes all commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default action is restored, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(newCLI().run(ctx, os.Args[1:]))
}

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

const runUsage = `usage: executor run --app PACKAGE [--script COMMAND] [--job job.json] [--item N] [--param TEXT]
       executor run --app app.json --job job.json [--item N | --all] [--param TEXT]

Runs one shard of a job here, or with --all all its shards, one after the other: the package is fetched and unpacked,
the command is found in it, and the process is run and ended as on a cluster, with its environment, arguments and
limits. Nothing is registered anywhere.

  --app PACKAGE     the package: a tar, zip, script or program, as a file or an http(s) URL; or the app's document as it is
                    posted, with appURL and bootstrapScript
  --script COMMAND  the bootstrapScript. It can be left out for a single script or program, with app.json, and
                    if the job has script.command.line
  --job job.json    the job's document as it is posted; without it a job of one shard, or as many as --item needs
  --item N          the shard, from 0 (default 0)
  --all             all shards of the job, one after the other
  --param TEXT      the shard's own parameter, in place of the one of the job; with --all that of each, or 0=A,1=B
  --keep            keep the working directory of the process, however it ends, and say where it is
  --run-as USER     run it as this user of the machine, as a server with --run-as would (needs root; default: as
                    the user who starts this, even root)

Exit status: the process's own; 128 + N if signal N ended it; 124 if it exceeded the job's timeoutSeconds; 1 if it
failed otherwise (an HTTP job, say); 125 if it could not be started. With --all: that of the first shard that failed.
`

// statusNotRun is the exit status if no process was started (see executor.Ending).
const statusNotRun = 125

// tryFlags are the flags of the command executor run. given has the names of the flags that were set.
type tryFlags struct {
	app, script, job, param, runAs string
	item                           int
	all, keep                      bool
	given                          map[string]bool
}

func parseTry(args []string) (tryFlags, error) {
	f := tryFlags{given: map[string]bool{}}
	flags := flag.NewFlagSet("executor run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&f.app, "app", "", "")
	flags.StringVar(&f.script, "script", "", "")
	flags.StringVar(&f.job, "job", "", "")
	flags.StringVar(&f.param, "param", "", "")
	flags.StringVar(&f.runAs, "run-as", "", "")
	flags.IntVar(&f.item, "item", 0, "")
	flags.BoolVar(&f.all, "all", false, "")
	flags.BoolVar(&f.keep, "keep", false, "")
	if err := flags.Parse(args); err != nil {
		return f, err
	}
	if f.runAs != "" {
		if _, err := isolation.AccountFor(f.runAs, os.Geteuid()); err != nil {
			return f, err
		}
	}
	flags.Visit(func(set *flag.Flag) { f.given[set.Name] = true })
	if f.all && f.given["item"] {
		return f, errors.New("--item and --all: give one of them")
	}
	if flags.NArg() > 0 {
		return f, fmt.Errorf("%q is not a flag; put a command of several words in quotes: --script 'bin/start.sh -v'",
			flags.Arg(0))
	}
	return f, nil
}

// try is the command executor run. It returns the exit status.
func try(args []string) int {
	f, err := parseTry(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(runUsage)
		return 0
	}
	if err == nil {
		var status int
		if status, err = f.runAll(); err == nil {
			return status
		}
	}
	fmt.Fprintln(os.Stderr, "executor run:", err)
	return statusNotRun
}

// runAll runs the shards that the flags name, one after the other. It returns the exit status of the first shard that
// did not finish, or 0.
func (f tryFlags) runAll() (status int, err error) {
	shards, err := f.shards(time.Now())
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	for _, local := range shards {
		shardStatus, err := f.run(ctx, local)
		if err != nil {
			return 0, err
		}
		status = cmp.Or(status, shardStatus)
		if ctx.Err() != nil {
			break
		}
	}
	return status, nil
}

// run runs one shard in a temporary folder, and returns its exit status.
func (f tryFlags) run(ctx context.Context, local executor.Local) (status int, err error) {
	if local.Sandbox, err = os.MkdirTemp("", "elasticjob-run-"); err != nil {
		return 0, fmt.Errorf("create a folder to run in: %w", err)
	}
	defer func() {
		if _, statErr := os.Stat(local.KeptFolder()); f.keep && statErr == nil {
			fmt.Fprintln(os.Stderr, "executor run: its working directory is kept at", local.KeptFolder())
			return
		}
		if removeErr := pack.RemoveTree(local.Sandbox); removeErr != nil && err == nil {
			fmt.Fprintln(os.Stderr, "executor run: what it unpacked is left at", local.Sandbox+":", removeErr)
		}
	}()
	if f.runAs == "" && os.Geteuid() == 0 {
		fmt.Fprintln(os.Stderr, "executor run: the job runs as root; a server that runs as root uses its --run-as for jobs and, with --local and no --run-as, an unnamed user; try another with --run-as USER")
	}
	local.Secrets = launch.SecretFolders(os.Getenv(launch.SecretsVariable))
	local.Keep = f.keep
	local.RunAs, local.Supervisor, local.Stdout, local.Stderr = f.runAs, supervisorCommand, os.Stdout, os.Stderr
	local.Progress = func(p wire.Progress) {
		text := p.Message
		if !p.Notice {
			text = fmt.Sprintf("%.0f %%: %s", 100*p.Fraction, text)
		}
		fmt.Fprintln(os.Stderr, "executor run:", text)
	}
	syscall.Umask(0o022)
	// The outcome is printed as a sentence instead of being logged.
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	ending, err := executor.RunLocal(ctx, local, log)
	if err != nil {
		return 0, err
	}
	fmt.Fprintln(os.Stderr, "executor run:", describe(ending, local))
	return ending.ExitStatus(), nil
}

// describe returns a sentence about how a task ended.
func describe(e executor.Ending, l executor.Local) string {
	s := e.Status
	duration := ""
	if !s.StartTime.IsZero() && !s.CompleteTime.IsZero() {
		duration = fmt.Sprintf(", after %s", s.CompleteTime.Sub(s.StartTime).Round(time.Millisecond))
	}
	shard := fmt.Sprintf("item %d of job %s", l.Task.Item, l.Task.JobName)
	if s.Forced {
		e.Message += "; it went on after SIGTERM until the end of its grace period (killGraceSeconds)"
	}
	switch {
	case e.Finished:
		return shard + " has finished" + duration + ": " + e.Message
	case e.TimedOut:
		return fmt.Sprintf("%s has timed out: it ran longer than timeoutSeconds, %s, and was %s", shard, l.Timeout,
			e.Message)
	case e.Killed:
		return shard + " was killed" + duration + ": " + e.Message
	case s.StartTime.IsZero():
		return fmt.Sprintf("%s could not be started: %s", shard, e.Message)
	}
	return shard + " has failed" + duration + ": " + e.Message
}

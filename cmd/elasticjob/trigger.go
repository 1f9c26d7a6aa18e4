package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

// triggerOptions are the flags of trigger.
type triggerOptions struct {
	parameter, itemParameters, key string
	env                            []string
	wait, logs                     bool
}

func (a *cli) triggerCommand() *cobra.Command {
	var t triggerOptions
	cmd := &cobra.Command{Use: "trigger NAME", Short: "Run a job now", Args: oneArg("NAME"),
		ValidArgsFunction: firstOnly(a.completion(jobNames)),
		Long: `trigger asks for a run of a job, and prints its id. With --wait it waits until the run has ended, shows its shards as they change,
and ends with status 0 if the run finished and 3 if it failed or was killed. An interrupt ends the waiting, not the run.

It waits for a server that changes its leader or restarts. The request has a key, so it makes only one run even if it must be sent twice; --key
sets your own, so that a restarted script does not trigger again. If it ends without knowing whether there is a run, it prints the key.`,
		Example: `  elasticjob job trigger nightly --parameter 2026-05-01 --wait
  elasticjob job trigger nightly --wait --logs`}
	flags := cmd.Flags()
	flags.StringVar(&t.parameter, "parameter", "", "the jobParameter of this run")
	flags.StringVar(&t.itemParameters, "item-parameters", "", "the shardingItemParameters of this run: 0=a,1=b")
	flags.StringArrayVar(&t.env, "env", nil, "a variable of this run's processes, `NAME=VALUE`; may be given again")
	flags.StringVar(&t.key, "key", "", "the Idempotency-Key: of triggers with the same key only the first makes a run")
	flags.BoolVar(&t.wait, "wait", false, "wait for the end of the run")
	flags.BoolVar(&t.logs, "logs", false, "print the output of its shards meanwhile; it waits as well")
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		env, err := pairs("env", t.env)
		if err != nil {
			return err
		}
		o := client.Overrides{Env: env}
		if cmd.Flags().Changed("parameter") {
			o.JobParameter = &t.parameter
		}
		if cmd.Flags().Changed("item-parameters") {
			o.ShardingItemParameters = &t.itemParameters
		}
		made, err := c.TriggerJob(ctx, args[0], o, t.key)
		if unknown := new(client.UnknownError); errors.As(err, &unknown) {
			a.note(fmt.Sprintf("the run may have been made: the same command with --key %s sends it again without a second run", unknown.Key))
		}
		if err != nil {
			return a.suggestJob(ctx, c, err, args[0])
		}
		if !t.wait && !t.logs {
			return a.show(made.Raw, func() error { a.printf("%s", made.Value.ExecutionID); return nil })
		}
		return a.wait(ctx, c, made.Value.ExecutionID, t.logs)
	})
	return cmd
}

// wait shows a run until it ends, and returns an error if it did not finish.
func (a *cli) wait(ctx context.Context, c *client.Client, id string, logs bool) error {
	// With JSON or YAML, or with --logs, standard output is for the requested output, so the progress of the run goes
	// to standard error.
	about := a.out
	if a.output != "table" || logs {
		about = a.err
	}
	fmt.Fprintln(about, id)
	w := &progressPrinter{cli: a, out: &lockedWriter{w: about}, shown: map[int]string{}}
	var output *logFollower
	if logs {
		output = a.newLogFollower(ctx, c, []string{"stdout", "stderr"})
		defer output.stop()
	}
	var last client.Answer[client.Execution]
	for now, err := range c.Watch(ctx, id) {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(a.err, "the run continues; \"elasticjob run kill %s\" kills it\n", id)
		}
		if err != nil {
			return err
		}
		last = now
		if output != nil {
			output.follow(now.Value)
		}
		w.changed(now.Value)
	}
	if output != nil {
		_ = output.finish() // the error was printed, and the exit status is that of the run
	}
	w.ended(last.Value)
	if a.output != "table" {
		if err := a.show(last.Raw, nil); err != nil {
			return err
		}
	}
	if run := last.Value; run.State != client.Finished {
		return &exitError{statusRunFailed, fmt.Errorf("run %s is %s: %s", id, run.State, oneLine(run.Reason))}
	}
	return nil
}

// progressPrinter prints the changes of a run.
type progressPrinter struct {
	cli   *cli
	out   io.Writer
	shown map[int]string // the last shown state, by shard
}

// maxLines is the maximum number of shards whose changes are shown individually. For larger runs it shows the number
// of shards in each state.
const maxLines = 20

func (w *progressPrinter) changed(run client.Execution) {
	colours := w.cli.coloured()
	stamp := dim.paint(w.cli.now().In(w.cli.zone).Format("15:04:05"), colours)
	if len(run.Shards) > maxLines {
		byState := map[string]int{}
		for _, s := range run.Shards {
			byState[s.State]++
		}
		if now := counts(byState); w.shown[-1] != now {
			w.shown[-1] = now
			fmt.Fprintf(w.out, "%s shards: %s\n", stamp, now)
		}
		return
	}
	for _, s := range run.Shards {
		now := fmt.Sprint(s.State, " ", s.Attempt)
		if w.shown[s.Item] == now {
			continue
		}
		w.shown[s.Item] = now
		line := fmt.Sprintf("%s shard %d %s", stamp, s.Item, styleOf(s.State).paint(s.State, colours))
		if s.Attempt > 1 {
			line += fmt.Sprintf(", attempt %d", s.Attempt)
		}
		if s.StartTime != nil && s.CompleteTime != nil {
			line += " after " + durationText(s.CompleteTime.Sub(*s.StartTime))
		}
		if s.FailureCause != "" {
			line += ": " + indented(s.FailureCause, "    ")
		}
		fmt.Fprintln(w.out, line)
	}
}

func (w *progressPrinter) ended(run client.Execution) {
	stamp := dim.paint(w.cli.now().In(w.cli.zone).Format("15:04:05"), w.cli.coloured())
	fmt.Fprintf(w.out, "%s run %s\n", stamp, styleOf(run.State).paint(run.State, w.cli.coloured()))
}

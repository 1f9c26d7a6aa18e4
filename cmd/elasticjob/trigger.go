package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

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
		triggered, err := c.TriggerJob(ctx, args[0], o, t.key)
		if unknown := new(client.UnknownError); errors.As(err, &unknown) {
			a.note(fmt.Sprintf("the run may have been made: the same command with --key %s sends it again without a second run", unknown.Key))
		}
		if err != nil {
			return a.suggestJob(ctx, c, err, args[0])
		}
		if !t.wait && !t.logs {
			return a.show(triggered.Raw, func() error { a.printf("%s", triggered.Value.ExecutionID); return nil })
		}
		return a.wait(ctx, c, triggered.Value.ExecutionID, t.logs)
	})
	return cmd
}

// wait shows a run until it ends, and returns an error if it did not finish.
func (a *cli) wait(ctx context.Context, c *client.Client, id string, logs bool) error {
	// With JSON or YAML, or with --logs, standard output is for the requested output, so the progress of the run goes
	// to standard error.
	progressOut := a.out
	if a.output != "table" || logs {
		progressOut = a.err
	}
	fmt.Fprintln(progressOut, id)
	w := &progressPrinter{cli: a, out: &lockedWriter{w: progressOut}, shown: map[int]string{}}
	w.waiting.delay, w.waiting.print = a.waitDelay, w.line
	defer w.waiting.set("")
	var output *logFollower
	if logs {
		output = a.newLogFollower(ctx, c, []string{"stdout", "stderr"})
		defer output.stop()
	}
	var last client.Answer[client.Execution]
	for run, err := range c.Watch(ctx, id) {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(a.err, "the run continues; \"elasticjob run kill %s\" kills it\n", id)
		}
		if err != nil {
			return err
		}
		last = run
		if output != nil {
			output.follow(run.Value)
		}
		w.changed(run.Value)
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
	cli     *cli
	out     io.Writer
	shown   map[int]string // the last shown state, by shard; that of all shards of a large run at -1
	waiting waitNotice
}

// line prints a line with the time.
func (w *progressPrinter) line(text string) {
	stamp := dim.paint(w.cli.now().In(w.cli.zone).Format("15:04:05"), w.cli.coloured())
	fmt.Fprintln(w.out, stamp+" "+text)
}

// maxLines is the maximum number of shards whose changes are shown individually. For larger runs the number of shards
// in each state is shown.
const maxLines = 20

// changed prints what has changed in the run since the last call.
func (w *progressPrinter) changed(run client.Execution) {
	colours := w.cli.coloured()
	defer func() { w.waiting.set(waitText(run)) }()
	if len(run.Shards) > maxLines {
		byState := map[string]int{}
		for _, s := range run.Shards {
			byState[s.State]++
		}
		if now := counts(byState); w.shown[-1] != now {
			w.shown[-1] = now
			w.line("shards: " + now)
		}
		return
	}
	for _, s := range run.Shards {
		now := fmt.Sprint(s.State, " ", s.Attempt)
		if w.shown[s.Item] == now {
			continue
		}
		w.shown[s.Item] = now
		line := fmt.Sprintf("shard %d %s", s.Item, styleOf(s.State).paint(s.State, colours))
		if s.Attempt > 1 {
			line += fmt.Sprintf(", attempt %d", s.Attempt)
		}
		if s.StartTime != nil && s.CompleteTime != nil {
			line += " after " + durationText(s.CompleteTime.Sub(*s.StartTime))
		}
		if why := cmp.Or(s.FailureCause, s.Note); why != "" {
			line += ": " + indented(why, "    ")
		}
		w.line(line)
	}
}

// waitText says what a run waits for, or what its first waiting shard waits for if others run. It returns "" if
// nothing waits or the run has ended.
func waitText(run client.Execution) string {
	if run.Ended() {
		return ""
	}
	if run.Reason != "" {
		return "waiting: " + indented(inCommands(run.Reason), "    ")
	}
	for _, s := range run.Shards {
		if s.Reason != "" {
			return fmt.Sprintf("shard %d waiting: %s", s.Item, indented(inCommands(s.Reason), "    "))
		}
	}
	return ""
}

// waitNotice prints what a run waits for, after the run has waited for the delay, and again when the text changes.
type waitNotice struct {
	delay time.Duration
	print func(string)

	mu         sync.Mutex
	now, shown string
	timer      *time.Timer // set while the run waits
	due        bool        // whether the run has waited for the delay
}

// set records what the run waits for now; "" if it does not wait.
func (n *waitNotice) set(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch n.now = text; {
	case text != "" && n.timer == nil:
		var timer *time.Timer
		timer = time.AfterFunc(n.delay, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.timer != timer {
				return // the run has gone on meanwhile
			}
			n.due = true
			n.printNews()
		})
		n.timer = timer
	case text == "" && n.timer != nil:
		n.timer.Stop()
		n.timer, n.due, n.shown = nil, false, ""
	case n.due:
		n.printNews()
	}
}

// printNews prints the text, unless it is empty or was printed last. The caller holds mu.
func (n *waitNotice) printNews() {
	if n.now != "" && n.now != n.shown {
		n.shown = n.now
		n.print(n.now)
	}
}

func (w *progressPrinter) ended(run client.Execution) {
	w.line("run " + styleOf(run.State).paint(run.State, w.cli.coloured()))
}

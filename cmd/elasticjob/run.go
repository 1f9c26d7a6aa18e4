package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

func (a *cli) runCommand() *cobra.Command {
	ids := a.completion(runIDs)
	return group("run", "List, show, wait for and kill runs",
		"A run is one execution of a job: all its shards, from one fire or trigger.",
		a.listRunsCommand(),
		&cobra.Command{Use: "show RUN", Short: "Show a run with its shards", Args: oneArg("RUN"),
			RunE: a.withServer(a.showRun), ValidArgsFunction: firstOnly(ids)},
		&cobra.Command{Use: "wait RUN", Short: "Wait for the end of a run, as trigger --wait does",
			Args: oneArg("RUN"), ValidArgsFunction: firstOnly(ids),
			RunE: a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
				return a.wait(ctx, c, args[0], false)
			})},
		&cobra.Command{Use: "kill RUN|TASK...", Short: "Kill runs, or single tasks of them, permanently",
			Args: someArgs("the id of a run or task"), RunE: a.withServer(a.kill), ValidArgsFunction: ids})
}

// maxPerList is the maximum number of runs in one list of the server.
const maxPerList = 1000

func (a *cli) listRunsCommand() *cobra.Command {
	var query client.Runs
	var limit int
	cmd := &cobra.Command{Use: "list [JOB]", Short: "List runs, the newest first", Args: optionalArg("JOB"),
		ValidArgsFunction: firstOnly(a.completion(jobNames)),
		Example:           `  elasticjob run list nightly --state FAILED,KILLED --since 24h`}
	flags := cmd.Flags()
	flags.StringSliceVar(&query.States, "state", nil, "states: WAITING, RUNNING, FINISHED, FAILED, KILLED")
	flags.StringVar(&query.Since, "since", "", "fired since a time (RFC 3339), or so long ago at most: 30m, 24h")
	flags.StringVar(&query.Before, "before", "", "fired before a time (RFC 3339)")
	flags.IntVar(&limit, "limit", 20, "the maximum number of runs")
	completeWords(cmd, "state", "WAITING", "RUNNING", client.Finished, client.Failed, client.Killed)
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		if limit < 1 {
			return usagef("--limit %d: must be 1 or more", limit)
		}
		if len(args) > 0 {
			query.Job = args[0]
		}
		raw, rows := []json.RawMessage{}, []client.Summary{}
		for len(rows) < limit {
			query.Limit = min(maxPerList, limit-len(rows))
			runs, err := c.Executions(ctx, query)
			if err != nil {
				return a.suggestJob(ctx, c, err, query.Job)
			}
			a.note(runs.Warning)
			var page []json.RawMessage
			if err := json.Unmarshal(runs.Raw, &page); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			raw, rows = append(raw, page...), append(rows, runs.Value...)
			if query.Before = runs.Next; query.Before == "" {
				break
			}
		}
		return a.showOwn(raw, func() error {
			err := a.print(a.runTable(rows), "no run matches")
			if slices.ContainsFunc(rows, func(run client.Summary) bool { return run.Source == "DAEMON" }) {
				a.printf(`a run by daemon has all fires of its job; "elasticjob run show RUN" counts them`)
			}
			return err
		})
	})
	return cmd
}

func (a *cli) runTable(rows []client.Summary) *table {
	t := &table{columns: []column{{title: "RUN", minWidth: 30}, {title: "STATE"}, {title: "BY"}, {title: "FIRED"},
		{title: "TOOK", right: true}, {title: "SHARDS", minWidth: 8}, {title: "REASON", minWidth: 8}}}
	for _, run := range rows {
		t.add(text(run.ExecutionID), state(run.State), text(sourceWord(run.Source)),
			text(a.relativeShort(&run.FireTime)),
			text(millisText(run.DurationMillis)), text(counts(run.Shards)), text(shortReason(run.Why)))
	}
	return t
}

// sourceWord returns a short word for what started a run.
func sourceWord(source string) string {
	switch source {
	case "NORMAL_TRIGGER":
		return "cron"
	case "TRIGGER", "MISFIRE", "DAEMON":
		return strings.ToLower(source)
	}
	return source
}

func (a *cli) showRun(ctx context.Context, c *client.Client, args []string) error {
	run, err := c.Execution(ctx, args[0])
	if err != nil {
		return err
	}
	a.note(run.Warning)
	return a.show(run.Raw, func() error {
		r := run.Value
		pairs := []pair{{"run", r.ExecutionID}, {"job", r.JobName}, {stateName, r.State},
			{"fired", a.timeText(r.FireTime) + " by " + sourceWord(r.Source)}}
		if r.Reason != "" {
			pairs = append(pairs, pair{"reason", r.Reason})
		}
		if o := r.Overrides; o != nil {
			if o.JobParameter != nil {
				pairs = append(pairs, pair{"with parameter", *o.JobParameter})
			}
			if o.ShardingItemParameters != nil {
				pairs = append(pairs, pair{"with item parameters", *o.ShardingItemParameters})
			}
		}
		a.printPairs(pairs)
		a.printf("")
		if err := a.print(a.shardTable(r.Shards), "it has no shards yet"); err != nil {
			return err
		}
		for _, s := range r.Shards {
			if why := cmp.Or(s.FailureCause, s.Note); why != "" {
				a.printf("\nshard %d: %s", s.Item, indented(why, "  "))
			}
			if s.Daemon != nil && s.Daemon.LastRun != nil {
				a.printDaemonRun(s.Item, "last run", s.Daemon.LastRun)
			}
			if d := s.Daemon; d != nil && d.LastFailure != nil {
				isLastRun := d.LastRun != nil && d.LastRun.FireTime.Equal(d.LastFailure.FireTime)
				if !isLastRun {
					a.printDaemonRun(s.Item, "last failed run", d.LastFailure)
				}
			}
		}
		a.note(r.LifeNote)
		return nil
	})
}

func (a *cli) printDaemonRun(item int, which string, run *client.DaemonRun) {
	why := cmp.Or(run.FailureCause, run.Note)
	if why != "" {
		why = "\n  " + indented(why, "  ")
	}
	state := styleOf(run.State).paint(run.State, a.coloured())
	a.printf("\nshard %d: its %s %s, fired %s, took %s%s", item, which, state, a.timeText(run.FireTime),
		millisText(&run.DurationMillis), why)
}

func (a *cli) shardTable(shards []client.Shard) *table {
	t := &table{columns: []column{{title: "SHARD", right: true}, {title: "STATE"}, {title: "ATTEMPT", right: true},
		{title: "STARTED"}, {title: "TOOK", right: true}, {title: "EXIT", right: true}, {title: "AGENT", minWidth: 8}, {title: "PROGRESS", minWidth: 8}}}
	for _, s := range shards {
		var length, exit string
		if s.StartTime != nil {
			end := a.now()
			if s.CompleteTime != nil {
				end = *s.CompleteTime
			}
			length = durationText(end.Sub(*s.StartTime))
		}
		if s.ExitStatus != nil {
			exit = fmt.Sprint(*s.ExitStatus)
		}
		done := strings.TrimSpace(progress(s.Progress))
		if d := s.Daemon; d != nil {
			done = fmt.Sprintf("%d runs, %d failed, %d skipped", d.Runs, d.Failed, d.Skipped)
		}
		t.add(cell{text: fmt.Sprint(s.Item)}, state(s.State), cell{text: fmt.Sprint(s.Attempt)},
			text(a.relativeShort(s.StartTime)), text(length), text(exit), text(s.Agent), text(done))
	}
	return t
}

// kill kills runs and tasks. The form of an id shows which of them it names.
func (a *cli) kill(ctx context.Context, c *client.Client, args []string) error {
	return a.each(args, func(id string) error {
		kill, noun := c.KillExecution, "run"
		if strings.Contains(id, "@-@") {
			kill, noun = c.KillTask, "task"
		}
		answer, err := kill(ctx, id)
		if err != nil {
			return err
		}
		return a.show(answer.Raw, func() error { a.printf("%s %s is being killed", noun, id); return nil })
	})
}

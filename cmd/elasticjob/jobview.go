package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

func (a *cli) listJobsCommand() *cobra.Command {
	var query client.JobQuery
	var limit int
	cmd := &cobra.Command{Use: "list", Short: "List jobs, each with its state, next fire and last run", Args: noArgs,
		Example: `  elasticjob job list --app billing --last FAILED
  elasticjob job list --sort failures --desc --limit 10`}
	flags := cmd.Flags()
	flags.StringVar(&query.Search, "search", "", "words in the name, app or description")
	flags.StringVar(&query.App, "app", "", "jobs of this app only")
	flags.StringVar(&query.Type, "type", "", "TRANSIENT or DAEMON")
	flags.StringSliceVar(&query.States, "state", nil, "states, such as RUNNING,PAUSED")
	flags.StringSliceVar(&query.Last, "last", nil, "how the last run ended: FINISHED, FAILED, KILLED")
	flags.StringVar(&query.Sort, "sort", "name", strings.Join(jobOrders, ", "))
	flags.BoolVar(&query.Descending, "desc", false, "reverse the order")
	flags.IntVar(&limit, "limit", 0, "the maximum number of jobs; 0: all")
	a.complete(cmd, "app", appNames)
	completeWords(cmd, "type", "TRANSIENT", "DAEMON")
	completeWords(cmd, "state", "READY", "RUNNING", "WAITING", "PAUSED", "DISABLED", "APP_DISABLED", "SHUTTING_DOWN",
		"ON_TRIGGER", "NEVER", "FAULTY")
	completeWords(cmd, "last", client.Finished, client.Failed, client.Killed)
	completeWords(cmd, "sort", jobOrders...)
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, _ []string) error {
		rows, raw, err := allJobs(ctx, c, query, limit)
		if err != nil {
			return err
		}
		text, err := json.Marshal(raw)
		if err != nil {
			return err
		}
		return a.show(text, func() error { return a.print(a.jobTable(rows), "no job matches") })
	})
	return cmd
}

var jobOrders = []string{"name", "app", "state", "nextFire", "lastRun", "duration", "failures"}

// allJobs reads the pages of the list of jobs, up to limit rows, or all pages if limit is 0.
func allJobs(
	ctx context.Context, c *client.Client, query client.JobQuery, limit int,
) ([]client.JobRow, []json.RawMessage, error) {
	query.PerPage = client.MaxPerPage
	if limit > 0 && limit < query.PerPage {
		query.PerPage = limit
	}
	rows, raw := []client.JobRow{}, []json.RawMessage{}
	for query.Page = 1; ; query.Page++ {
		page, err := c.JobPage(ctx, query)
		if err != nil {
			return nil, nil, err
		}
		rows, raw = append(rows, page.Value.Rows...), append(raw, page.Value.RawRows...)
		if limit > 0 && len(rows) >= limit {
			return rows[:limit], raw[:limit], nil
		}
		if len(page.Value.Rows) < query.PerPage {
			return rows, raw, nil
		}
	}
}

func (a *cli) jobTable(rows []client.JobRow) *table {
	t := &table{columns: []column{{title: "NAME", minWidth: 12}, {title: "APP", minWidth: 5},
		{title: "STATE", minWidth: 7}, {title: "RUN", right: true}, {title: "WAIT", right: true}, {title: "NEXT"},
		{title: "LAST RUN", minWidth: 10}, {title: "TOOK", right: true}, {title: "FAILS", right: true}}}
	for _, row := range rows {
		last, duration := cell{}, ""
		if run := row.LastRun; run != nil {
			last = state(run.State)
			last.text += " " + a.relativeShort(&run.FireTime)
			duration = millisText(run.DurationMillis)
		}
		t.add(text(row.JobName), text(row.AppName), state(row.State), count(row.Running), count(row.Waiting),
			text(a.relativeShort(row.NextFire)), last, text(duration), count(row.Failures))
	}
	return t
}

// count returns the cell of a number; it is empty for 0.
func count(n int) cell {
	if n == 0 {
		return cell{}
	}
	return cell{text: fmt.Sprint(n)}
}

func (a *cli) showJob(ctx context.Context, c *client.Client, args []string) error {
	job, err := c.Job(ctx, args[0])
	if err != nil {
		return a.suggestJob(ctx, c, err, args[0])
	}
	return a.show(job.Raw, func() error {
		x, err := c.Explain(ctx, args[0])
		if err != nil {
			return err
		}
		extra := []pair{{stateName, x.Value.State}}
		if len(x.Value.NextFires) > 0 {
			extra = append(extra, pair{"next fire", a.fireText(x.Value.NextFires[0], x.Value.TimeZone)})
		}
		return a.printFields(job.Raw, extra...)
	})
}

// stateTexts describes the states of jobs.
var stateTexts = map[string]string{
	"DISABLED":      "no runs are made",
	"APP_DISABLED":  "no runs are made, since its app is disabled",
	"SHUTTING_DOWN": "no new runs are made, and it is disabled when its running shards have ended",
	"PAUSED":        "no new runs are made; running shards continue",
	"RUNNING":       "shards run now",
	"WAITING":       "shards wait, and none runs",
	"READY":         "it fires on its cron",
	"ON_TRIGGER":    "it has no cron, and runs when it is triggered",
	"NEVER":         "it has a cron that never fires again",
	"FAULTY":        "its document in the registry can't be used",
}

func (a *cli) explainJob(ctx context.Context, c *client.Client, args []string) error {
	answer, err := c.Explain(ctx, args[0])
	if err != nil {
		return a.suggestJob(ctx, c, err, args[0])
	}
	return a.show(answer.Raw, func() error { a.printExplanation(answer.Value); return nil })
}

func (a *cli) printExplanation(x client.Explanation) {
	colours := a.coloured()
	a.printf("%s  %s: %s", bold.paint(clean(x.JobName), colours), styleOf(x.State).paint(x.State, colours),
		stateTexts[x.State])
	for _, note := range x.Notes {
		a.printf("  note: %s", clean(inCommands(note)))
	}
	if len(x.Running) > 0 {
		a.printf("running:")
	}
	for _, r := range x.Running {
		a.printf("  %s shard %d: %s on %s since %s%s", r.ExecutionID, r.Item, styleOf(r.State).paint(r.State, colours),
			r.Agent, a.timeText(r.Since), progress(r.Progress))
		if r.Reason != "" {
			a.printf("    %s", indented(inCommands(r.Reason), "    "))
		}
	}
	if len(x.Ended) > 0 {
		a.printf("failed, lost or killed in runs under way:")
	}
	for _, e := range x.Ended {
		where := ""
		if e.Agent != "" { // without an agent it ended before it was launched
			where = " on " + e.Agent
		}
		a.printf("  %s shard %d: %s%s", e.ExecutionID, e.Item, styleOf(e.State).paint(e.State, colours), where)
		if e.Reason != "" {
			a.printf("    %s", indented(inCommands(e.Reason), "    "))
		}
	}
	if len(x.Waiting) > 0 {
		a.printf("waiting:")
	}
	for _, w := range x.Waiting {
		a.printf("  %s shard %d, since %s:", w.ExecutionID, w.Item, a.timeText(w.Since))
		a.printf("    %s", indented(inCommands(w.Reason), "    "))
	}
	if len(x.NextFires) > 0 {
		a.printf("next fires:")
	}
	for _, t := range x.NextFires {
		a.printf("  %s", a.fireText(t, x.TimeZone))
	}
	a.printRun("last run", x.LastRun)
	if x.LastRun == nil || x.LastSuccess == nil || x.LastRun.ExecutionID != x.LastSuccess.ExecutionID {
		a.printRun("last that finished", x.LastSuccess)
	}
	if x.LastFailure != nil && (x.LastRun == nil || x.LastRun.ExecutionID != x.LastFailure.ExecutionID) {
		a.printRun("last that failed", x.LastFailure)
	}
	a.printFires("dropped", x.DroppedFires)
	a.printFires("missed", x.MissedFires)
}

func (a *cli) printRun(title string, run *client.Summary) {
	if run == nil {
		return
	}
	a.printf("%s:", title)
	length := ""
	if run.StartTime != nil && run.CompleteTime != nil {
		length = ", took " + durationText(run.CompleteTime.Sub(*run.StartTime))
	}
	a.printf("  %s %s, fired %s%s", run.ExecutionID, styleOf(run.State).paint(run.State, a.coloured()),
		a.timeText(run.FireTime), length)
	if run.Reason != "" {
		a.printf("    %s", indented(run.Reason, "    "))
	}
}

func (a *cli) printFires(fate string, fires *client.Fires) {
	if fires != nil {
		a.printf("fires %s: %d, the last %s: %s", fate, fires.Count, a.timeText(fires.Last), clean(fires.Reason))
	}
}

// indented indents all lines of a text but the first, and replaces control characters.
func indented(text, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(clean(text)), "\n", "\n"+by)
}

// progress returns the progress of a shard as the end of a line.
func progress(p *client.Progress) string {
	if p == nil {
		return ""
	}
	text := ""
	if !p.Notice {
		text = fmt.Sprintf(" %.0f%%", p.Fraction*100)
	}
	if p.Message != "" {
		text += " " + oneLine(p.Message)
	}
	return text
}

// counts returns the numbers of shards or jobs in each state, such as 1 FAILED, 2 FINISHED.
func counts(byState map[string]int) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(byState)) {
		parts = append(parts, fmt.Sprintf("%d %s", byState[state], state))
	}
	return strings.Join(parts, ", ")
}

// printCheck prints the result of checking a job.
func (a *cli) printCheck(raw json.RawMessage) error {
	var answer struct {
		Notes []string
		Cron  *struct {
			Words, TimeZone string
			NextFires       []struct{ Local time.Time }
		}
		Placement *struct {
			Fits   bool
			Reason string
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	a.notes(answer.Notes)
	a.printf("no errors found; nothing was changed")
	if answer.Cron != nil {
		a.printf("fires %s", clean(answer.Cron.Words))
		for _, fire := range answer.Cron.NextFires {
			a.printf("  %s", a.fireText(fire.Local, answer.Cron.TimeZone))
		}
	}
	if p := answer.Placement; p != nil && !p.Fits {
		a.printf("it would wait: %s", clean(p.Reason))
	}
	return nil
}

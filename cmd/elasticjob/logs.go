package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

// logOptions are the flags of logs.
type logOptions struct {
	follow bool
	stream string
	items  []int
	tail   int
	// attempt is the number of the attempt; 0 for the last one.
	attempt int
}

// maxFollowed is the maximum number of shards whose output is followed at once. Each uses two long-lived requests.
const maxFollowed = 64

func (a *cli) logsCommand() *cobra.Command {
	var r logOptions
	cmd := &cobra.Command{Use: "logs JOB|RUN|TASK", Short: "Print what a job's last run, a run or a task has written",
		Args:              oneArg("the name of a job, or the id of a run or task"),
		ValidArgsFunction: firstOnly(a.completion(combine(jobNames, runIDs))),
		Long: `logs prints the output of the shards of a run: standard output on standard output, standard error on standard error. Lines of several
shards begin with the number of the shard. For a job it prints the last run.`,
		Example: `  elasticjob logs -f nightly
  elasticjob logs nightly@20260501T030000Z --item 2 --stream stderr --tail 20
  elasticjob logs nightly --item 2 --attempt 1`}
	flags := cmd.Flags()
	flags.BoolVarP(&r.follow, "follow", "f", false, "follow until the run has ended")
	flags.StringVar(&r.stream, "stream", "both", "stdout, stderr or both")
	flags.IntSliceVar(&r.items, "item", nil, "these shards only, by their numbers")
	flags.IntVar(&r.tail, "tail", -1, "begin with so many lines before the end; -1: all")
	flags.IntVar(&r.attempt, "attempt", 0,
		"this attempt of each shard, from 1; the last four are kept; 0: the last one")
	completeWords(cmd, "stream", "stdout", "stderr", "both")
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		streams := []string{r.stream}
		switch r.stream {
		case "both":
			streams = []string{"stdout", "stderr"}
		case "stdout", "stderr":
		default:
			return usagef("--stream %q: must be stdout, stderr or both", r.stream)
		}
		if r.attempt < 0 || r.attempt > 0 && r.follow {
			return usagef("--attempt %d: must be 1 or more, and cannot be followed", r.attempt)
		}
		err := a.logs(ctx, c, args[0], streams, r)
		if errors.Is(err, context.Canceled) && r.follow {
			return &exitError{statusInterrupted, errors.New("")} // following always ends with an interrupt
		}
		return err
	})
	return cmd
}

// logs prints the output that arg names: that of a task, or that of a run or a job's last run.
func (a *cli) logs(ctx context.Context, c *client.Client, arg string, streams []string, r logOptions) error {
	f := a.newLogFollower(ctx, c, streams)
	defer f.stop()
	f.tail = r.tail
	if len(r.items) > 0 {
		f.items = map[int]bool{}
		for _, item := range r.items {
			f.items[item] = true
		}
	}
	if strings.Contains(arg, "@-@") {
		if !r.follow {
			return a.printPieces(ctx, f, f.pieces(arg, "", ""))
		}
		f.task(arg, "")
		return cmp.Or(f.finish(), ctx.Err())
	}
	id, err := a.runOf(ctx, c, arg)
	if err != nil {
		return err
	}
	if !r.follow {
		return a.printRunOutput(ctx, f, id, r.attempt)
	}
	for run, err := range c.Watch(ctx, id) {
		if err != nil {
			return err
		}
		f.follow(run.Value)
	}
	return cmp.Or(f.finish(), ctx.Err())
}

// runOf returns the id of a run. arg is this id, or the name of a job, which stands for the job's last run.
func (a *cli) runOf(ctx context.Context, c *client.Client, arg string) (string, error) {
	if strings.Contains(arg, "@") {
		return arg, nil
	}
	runs, err := c.Executions(ctx, client.Runs{Job: arg, Limit: 1})
	if err != nil {
		return "", a.suggestJob(ctx, c, err, arg)
	}
	if len(runs.Value) == 0 {
		return "", &exitError{statusNotFound,
			fmt.Errorf("job %s has not run yet; \"elasticjob job trigger %s\" runs it", arg, arg)}
	}
	return runs.Value[0].ExecutionID, nil
}

// printRunOutput prints the present output of all shards of a run, one after the other. It prints the attempt with
// that number, or the last attempt of each shard if attempt is 0.
func (a *cli) printRunOutput(ctx context.Context, f *logFollower, id string, attempt int) error {
	run, err := f.client.Execution(ctx, id)
	if err != nil {
		return err
	}
	shards := slices.SortedFunc(slices.Values(run.Value.Shards),
		func(x, y client.Shard) int { return cmp.Compare(x.Item, y.Item) })
	var pieces []piece
	for _, shard := range shards {
		if f.items != nil && !f.items[shard.Item] {
			continue
		}
		if shard.TaskID == "" || shard.State == "LAUNCHING" && shard.Reason != "" {
			text := fmt.Sprintf("shard %d is %s and has written nothing", shard.Item, shard.State)
			if why := cmp.Or(shard.Reason, run.Value.Reason); why != "" {
				text += ": " + clean(inCommands(why))
			}
			a.note(text)
			continue
		}
		task := shard.TaskOf(attempt)
		if task == "" {
			why := "its output is not kept, only that of the last four attempts"
			if attempt > shard.Attempt {
				why = fmt.Sprintf("its last attempt is %d", shard.Attempt)
			}
			a.note(fmt.Sprintf("shard %d has no attempt %d to show: %s", shard.Item, attempt, why))
			continue
		}
		prefix := ""
		if len(shards) > 1 && len(f.items) != 1 {
			prefix = a.prefix(shard.Item)
		}
		pieces = append(pieces, f.pieces(task, fmt.Sprintf("shard %d: ", shard.Item), prefix)...)
	}
	return a.printPieces(ctx, f, pieces)
}

// piece is one stream of a task. about names the shard in errors; prefix is printed before each line.
type piece struct{ task, stream, about, prefix string }

func (f *logFollower) pieces(task, about, prefix string) (all []piece) {
	for _, stream := range f.streams {
		all = append(all, piece{task, stream, about, prefix})
	}
	return all
}

// printPieces prints the present output of each piece, and continues after an error.
func (a *cli) printPieces(ctx context.Context, f *logFollower, pieces []piece) error {
	return tryAll(a, pieces, func(p piece) error {
		err := f.print(ctx, client.Output{Task: p.task, Stream: p.stream}, p.prefix)
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s%s: %w", p.about, p.stream, err)
		}
		return err
	})
}

// printStream prints one stream of a task: its last tail lines, or all of it if tail is negative. With o.Follow it
// continues until the task has ended.
func (a *cli) printStream(
	ctx context.Context, c *client.Client, o client.Output, tail int, w io.Writer, prefix string,
) error {
	lines := newLineWriter(w, prefix)
	if tail >= 0 {
		end, offset, err := readEnd(ctx, c, o, tail)
		if err != nil {
			return err
		}
		if _, err := lines.Write(end); err != nil {
			return err
		}
		if o.Offset = offset; !o.Follow {
			return lines.end()
		}
	}
	err := c.CopyLog(ctx, lines, o)
	return errors.Join(err, lines.end())
}

// maxTail is the maximum number of bytes that readEnd searches for the last lines.
const maxTail = 8 << 20

// readEnd reads the last lines of a stream, and returns the offset in the stream at which they end. It reads a longer
// and longer part of the end until that part contains enough lines or has maxTail bytes.
func readEnd(ctx context.Context, c *client.Client, o client.Output, lines int) ([]byte, int64, error) {
	for o.Tail = 64 << 10; ; o.Tail *= 4 {
		text, from, err := c.ReadLog(ctx, o)
		if client.HasCode(err, "no_output_yet") {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if bytes.Count(text, []byte{'\n'}) > lines || from == 0 || o.Tail >= maxTail {
			return lastLines(text, lines), from + int64(len(text)), nil
		}
	}
}

func isStderr(stream string) bool { return stream == "stderr" }

// prefix returns the prefix of a shard's lines.
func (a *cli) prefix(item int) string {
	colours := []style{cyan, green, yellow, "35", "34", red}
	return colours[item%len(colours)].paint(fmt.Sprintf("%d| ", item), a.coloured())
}

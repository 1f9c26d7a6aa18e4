package sdk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

const usage = `usage: %[1]s --item N [--total N] [--param TEXT] [--job-param TEXT] [--prop NAME=VALUE]...
       %[1]s --all --total N ...

Runs this job here, without a scheduler. Ctrl-C ends the job's context, a second one the program.

  --item N           the shard to run, from 0
  --all              run all shards, one after the other
  --total N          how many shards there are (default 1)
  --param TEXT       the shard's own parameter; with --all that of each
  --job-param TEXT   the parameter of all shards
  --prop NAME=VALUE  a property of the job; may be given several times

Status: 0 all went well, 1 the job failed, 2 wrong flags.
`

// standaloneInterval is the interval at which a run's progress is printed at the terminal.
const standaloneInterval = time.Second

// standalone runs shards for a user at a terminal.
type standalone struct {
	name     string // of the program
	job      Job
	out, log io.Writer // standard output and standard error
}

// request is what the flags ask for.
type request struct {
	shard       Shard // the fields that all shards share
	first, last int
}

func (a standalone) start(ctx context.Context, args []string) int {
	asked, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintf(a.out, usage, a.name) // an error is ignored: the reader may have closed the pipe
		return statusOK
	}
	if err != nil {
		a.logf("%s: %v", a.name, err)
		a.logf("%s --help lists the flags; a scheduler's executor would have started it without any", a.name)
		return statusFlags
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	shard := asked.shard
	shard.JobName, shard.Source, shard.Attempt, shard.FireTime = a.name, Trigger, 1, now
	shard.ExecutionID = a.name + "@" + now.Format("20060102T150405.000Z")
	status := statusOK
	for shard.Item = asked.first; shard.Item <= asked.last; shard.Item++ {
		if err := a.run(ctx, shard); err != nil {
			status = statusFailed
		}
		if ctx.Err() != nil {
			break
		}
	}
	return status
}

// run runs one shard and prints its result.
func (a standalone) run(ctx context.Context, s Shard) error {
	who := fmt.Sprintf("shard %d of %d", s.Item, s.Total)
	s.TaskID = fmt.Sprintf("%s@-@%d@-@READY@-@local@-@%d", s.JobName, s.Item, s.FireTime.UnixMilli())
	s.progress = &progress{every: standaloneInterval, send: func(fraction float64, message string) {
		a.logf("%s: %.1f %% %s", who, 100*fraction, message)
	}}
	began := time.Now()
	err := a.job.Run(ctx, s)
	s.progress.close()
	took := time.Since(began).Round(100 * time.Microsecond)
	if err != nil {
		writeFailure(a.log, fmt.Sprintf("%s: failed after %v", who, took), err)
		return err
	}
	a.logf("%s: finished after %v", who, took)
	return nil
}

func (a standalone) logf(format string, args ...any) { fmt.Fprintf(a.log, format+"\n", args...) }

// parse parses the flags. Its error lists everything that is wrong with them.
func parse(args []string) (request, error) {
	var (
		asked request
		all   bool
		item  int
		wrong []error
	)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&item, "item", -1, "")
	flags.BoolVar(&all, "all", false, "")
	flags.IntVar(&asked.shard.Total, "total", 1, "")
	flags.StringVar(&asked.shard.Parameter, "param", "", "")
	flags.StringVar(&asked.shard.JobParameter, "job-param", "", "")
	flags.Func("prop", "", func(text string) error {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			wrong = append(wrong, fmt.Errorf("--prop %s: must be NAME=VALUE", text))
			return nil
		}
		if asked.shard.Props == nil {
			asked.shard.Props = map[string]string{}
		}
		asked.shard.Props[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return request{}, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	total := asked.shard.Total
	if flags.NArg() > 0 {
		wrong = append(wrong, fmt.Errorf("%q is not a flag", flags.Arg(0)))
	}
	if total < 1 {
		wrong = append(wrong, fmt.Errorf("--total %d: must be 1 or more", total))
	}
	switch {
	case all && given["item"]:
		wrong = append(wrong, errors.New("--item and --all: give one of them"))
	case all:
		asked.first, asked.last = 0, total-1
	case !given["item"]:
		wrong = append(wrong, errors.New("give --item N, the shard to run, or --all"))
	case item < 0 || total > 0 && item >= total:
		wrong = append(wrong, fmt.Errorf("--item %d: with --total %d there are the shards 0 to %d", item, total,
			total-1))
	default:
		asked.first, asked.last = item, item
	}
	return asked, errors.Join(wrong...)
}

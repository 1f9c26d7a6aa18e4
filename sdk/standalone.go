package sdk

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const usage = `usage: %[1]s --item N [--total N] [--param TEXT] [--job-param TEXT] [--prop NAME=VALUE]...
       %[1]s --all --total N ...

Runs this job here, without a scheduler. Ctrl-C ends the job's context, a second one the program.

  --item N            the shard to run, from 0
  --all               run all shards, one after the other
  --total N           how many shards there are (default 1)
  --param TEXT        the shard's own parameter; with --all that of each, or 0=A,1=B
  --item-params LIST  the shards' own parameters, as in a job's shardingItemParameters: 0=A,1=B
  --job-param TEXT    the parameter of all shards
  --prop NAME=VALUE   a property of the job; may be given several times

Status: 0 all went well, 1 the job failed, 2 wrong flags.
`

// standaloneInterval is the interval at which a run's progress is printed at the terminal.
const standaloneInterval = time.Second

// standalone runs shards for a user at a terminal.
type standalone struct {
	name     string // the program's name
	job      Job
	out, log io.Writer // standard output and standard error
}

// request is the run that the flags request.
type request struct {
	shard       Shard          // the fields that all shards share
	first, last int            // the shards to run
	parameters  map[int]string // by shard; nil if all shards have shard.Parameter
}

// start runs the shards that the arguments select, and returns the exit status.
func (a standalone) start(ctx context.Context, args []string) int {
	r, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintf(a.out, usage, a.name) // fails if a pager was closed, which needs no message
		return statusOK
	}
	if err != nil {
		a.logf("%s: %v", a.name, err)
		a.logf("%s --help lists the flags; a scheduler's executor would have started it without any", a.name)
		return statusFlags
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	shard := r.shard
	shard.JobName, shard.Source, shard.Attempt, shard.FireTime = a.name, Trigger, 1, now
	shard.ExecutionID = a.name + "@" + now.Format("20060102T150405.000Z")
	status := statusOK
	for shard.Item = r.first; shard.Item <= r.last; shard.Item++ {
		if r.parameters != nil {
			shard.Parameter = r.parameters[shard.Item]
		}
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
	name := fmt.Sprintf("shard %d of %d", s.Item, s.Total)
	s.TaskID = fmt.Sprintf("%s@-@%d@-@READY@-@local@-@%d", s.JobName, s.Item, s.FireTime.UnixMilli())
	s.progress = &progress{interval: standaloneInterval, send: func(fraction float64, message string) {
		a.logf("%s: %.1f %% %s", name, 100*fraction, message)
	}}
	began := time.Now()
	err := a.job.Run(ctx, s)
	s.progress.close()
	duration := time.Since(began).Round(100 * time.Microsecond)
	if err != nil {
		outcome := "failed"
		if endedEarly(err) {
			outcome = "ended early"
		}
		writeFailure(a.log, fmt.Sprintf("%s: %s after %v", name, outcome, duration), err)
		return err
	}
	a.logf("%s: finished after %v", name, duration)
	return nil
}

func (a standalone) logf(format string, args ...any) { fmt.Fprintf(a.log, format+"\n", args...) }

// parse parses the flags. Its error lists everything that is wrong with them.
func parse(args []string) (request, error) {
	var (
		r          request
		all        bool
		item       int
		itemParams string
		problems   []error
	)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&item, "item", -1, "")
	flags.BoolVar(&all, "all", false, "")
	flags.IntVar(&r.shard.Total, "total", 1, "")
	flags.StringVar(&r.shard.Parameter, "param", "", "")
	flags.StringVar(&itemParams, "item-params", "", "")
	flags.StringVar(&r.shard.JobParameter, "job-param", "", "")
	flags.Func("prop", "", func(text string) error {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			problems = append(problems, fmt.Errorf("--prop %s: must be NAME=VALUE", text))
			return nil
		}
		if r.shard.Props == nil {
			r.shard.Props = map[string]string{}
		}
		r.shard.Props[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return request{}, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	total := r.shard.Total
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("%q is not a flag", flags.Arg(0)))
	}
	if total < 1 {
		problems = append(problems, fmt.Errorf("--total %d: must be 1 or more", total))
	}
	switch {
	case all && given["item"]:
		problems = append(problems, errors.New("--item and --all: give one of them"))
	case all:
		r.first, r.last = 0, total-1
	case !given["item"]:
		problems = append(problems, errors.New("give --item N, the shard to run, or --all"))
	case item < 0 || total > 0 && item >= total:
		problems = append(problems, fmt.Errorf("--item %d: with --total %d there are the shards 0 to %d", item, total,
			total-1))
	default:
		r.first, r.last = item, item
	}
	problems = append(problems, r.setParameters(itemParams, given["item-params"], all))
	return r, errors.Join(problems...)
}

// setParameters sets the parameters of single shards: from --item-params, whose value is itemParams, if it isGiven.
// Otherwise, with --all, it takes them from --param if that has the same form.
func (r *request) setParameters(itemParams string, isGiven, all bool) error {
	name := "--item-params"
	switch {
	case isGiven && r.shard.Parameter != "":
		return errors.New("--param and --item-params: give one of them")
	case !isGiven && all:
		name, itemParams = "--param", r.shard.Parameter
	case !isGiven:
		return nil
	}
	parameters, ok := parseItemParameters(itemParams)
	if !ok {
		if isGiven {
			return fmt.Errorf("--item-params %s: must be a list of ITEM=TEXT: 0=A,1=B", itemParams)
		}
		return nil
	}
	for item := range parameters {
		if item >= r.shard.Total && r.shard.Total > 0 {
			return fmt.Errorf("%s %s: with --total %d there are the shards 0 to %d", name, itemParams, r.shard.Total,
				r.shard.Total-1)
		}
	}
	r.parameters = parameters
	return nil
}

// parseItemParameters parses a text in the form of a job's shardingItemParameters, such as 0=a,1=b. It returns false
// for any other text.
func parseItemParameters(text string) (map[int]string, bool) {
	parameters := map[int]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(part, "=")
		item, err := strconv.ParseUint(strings.TrimSpace(key), 10, 31)
		value = strings.TrimSpace(value)
		isValid := found && err == nil && value != "" && !strings.Contains(value, "=")
		if _, repeated := parameters[int(item)]; !isValid || repeated {
			return nil, false
		}
		parameters[int(item)] = value
	}
	return parameters, true
}

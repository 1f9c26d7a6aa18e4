package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Shard is one run of one shard of a job. A test of a job's function can create it as a literal; Progress then does
// nothing.
type Shard struct {
	// JobName is the job's name. A program that serves several jobs distinguishes them by their names.
	JobName string
	// Item is the number of the shard, from 0 to Total-1. A shard selects its share of the work by Item and Total.
	Item, Total int
	// Parameter is the shard's own parameter, from the job's shardingItemParameters. JobParameter is the same for all
	// shards.
	Parameter, JobParameter string
	// TaskID is the id of the attempt; the runs of a daemon's shard have the same id. ExecutionID and FireTime are the
	// same for all shards and attempts of a run.
	TaskID, ExecutionID string
	FireTime            time.Time
	// Source is what started the run.
	Source Source
	// Attempt counts from 1. A higher attempt repeats an attempt that failed or was lost.
	Attempt int
	// Props are the job's own properties and those of the family "streaming.", but not those of other families.
	Props map[string]string

	progress *progress
}

// Source is what started a run.
type Source string

// The sources of a run.
const (
	NormalTrigger Source = "NORMAL_TRIGGER" // the job's cron
	Trigger       Source = "TRIGGER"        // the request of a user or a program
	Misfire       Source = "MISFIRE"        // a fire that found the job running and had to wait
	Failover      Source = "FAILOVER"       // the loss of the shard with its agent or executor
)

// Progress reports the progress of the run: a fraction from 0 to 1, and a message, which is cut after 200 bytes. If
// there are several calls within a short interval, only the last one is sent. So Progress takes some nanoseconds, and
// may be called in a loop and by several goroutines. It never blocks and never fails. After the end of the run it does
// nothing.
func (s Shard) Progress(fraction float64, message string) { s.progress.set(fraction, message) }

// Job is what [Main] runs. [Simple] and [Dataflow] return one.
type Job struct {
	run func(context.Context, Shard) error
}

// Simple returns a job that calls a function once for each run of a shard.
func Simple(run func(ctx context.Context, s Shard) error) Job { return Job{run} }

// propStreaming is the property that makes a dataflow job repeat fetch and process until fetch returns nothing.
const propStreaming = "streaming.process"

// Dataflow returns a job with two steps: fetch returns a batch of items, and process is called with the batch unless
// the batch is empty. If the job's property streaming.process is "true", both steps are repeated until fetch returns
// an empty batch. If ctx ends before either step, the run ends with an error.
//
// If process fails, the next attempt gets the items of the batch again only if fetch selects the unprocessed items.
func Dataflow[T any](fetch func(ctx context.Context, s Shard) ([]T, error),
	process func(ctx context.Context, s Shard, batch []T) error) Job {
	return Job{func(ctx context.Context, s Shard) error {
		for batches := 0; ; batches++ {
			if ctx.Err() != nil {
				return fmt.Errorf("stopped after %d batches: %w", batches, ctx.Err())
			}
			batch, err := fetch(ctx, s)
			switch {
			case err != nil:
				return fmt.Errorf("fetch batch %d: %w", batches+1, err)
			case ctx.Err() != nil:
				return fmt.Errorf("stopped after %d batches, with %d items fetched: %w", batches, len(batch),
					ctx.Err())
			case len(batch) == 0:
				return nil
			}
			if err := process(ctx, s, batch); err != nil {
				return fmt.Errorf("process batch %d, of %d items: %w", batches+1, len(batch), err)
			}
			if !strings.EqualFold(s.Props[propStreaming], "true") {
				return nil
			}
		}
	}}
}

// Run runs the job once in this process, as [Main] does, and returns its error. It is meant for tests of jobs. Run
// also returns an error if the job's function panics or ends its goroutine.
func (j Job) Run(ctx context.Context, s Shard) error {
	if j.run == nil {
		return errors.New("the job has no function: make it with sdk.Simple or sdk.Dataflow")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := error(errNoReturn)
		defer func() {
			if value := recover(); value != nil {
				err = newPanicError(value)
			}
			ended <- withCause(ctx, err)
		}()
		err = j.run(ctx, s)
	}()
	return <-ended
}

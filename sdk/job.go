package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Shard is one run of one shard of a job. In tests of a job's function it can be written as a literal: its Progress
// then does nothing.
type Shard struct {
	// JobName is the job's name. One program can serve several jobs of its app and look here which one it is.
	JobName string
	// Item is the shard, 0 to Total-1. Shards share their work by it.
	Item, Total int
	// Parameter is the shard's own, of the job's shardingItemParameters; JobParameter is the same for all shards.
	Parameter, JobParameter string
	// TaskID is the attempt's id; a daemon's shard keeps it from run to run. ExecutionID and FireTime are the run's,
	// the same for all of its shards and attempts.
	TaskID, ExecutionID string
	FireTime            time.Time
	// Source is why it runs.
	Source Source
	// Attempt counts from 1; a higher one runs again what failed or was lost.
	Attempt int
	// Props are the job's own properties, and those of the family "streaming.".
	Props map[string]string

	progress *progress
}

// Source is why a run was started.
type Source string

// The sources of a run.
const (
	NormalTrigger Source = "NORMAL_TRIGGER" // the job's cron
	Trigger       Source = "TRIGGER"        // a person or another program asked for it
	Misfire       Source = "MISFIRE"        // a fire that found the job running, run after it
	Failover      Source = "FAILOVER"       // a shard that was lost with its agent or executor
)

// Progress says how far the run has come: a fraction from 0 to 1 and a message of at most 200 bytes, what exceeds them
// is cut. It costs some nanoseconds and may be called in a loop and from several goroutines: only the last of some
// time is sent. It never waits for anybody and never fails. After the end of the run it does nothing.
func (s Shard) Progress(fraction float64, message string) { s.progress.set(fraction, message) }

// Job is what [Main] runs: make one with [Simple] or [Dataflow].
type Job struct {
	run func(context.Context, Shard) error
}

// Simple is a job that calls a function once for each run of a shard.
func Simple(run func(ctx context.Context, s Shard) error) Job { return Job{run} }

// propStreaming makes a dataflow job repeat fetch and process until there is nothing left.
const propStreaming = "streaming.process"

// Dataflow is a job in two steps: fetch gives a batch of items, process is called with it, unless it is empty. If the
// job's property streaming.process is "true", both are repeated until fetch gives an empty batch. Between fetch and
// process, and between batches, the run ends with an error if ctx has ended.
//
// A batch whose process failed is given out again by a fetch of the next attempt only if fetch looks for what is
// unprocessed.
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

// Run runs the job once in this process, as [Main] does, and returns how that failed. It is for tests of jobs: a panic
// of the job's function is an error, and so is the end of its goroutine.
func (j Job) Run(ctx context.Context, s Shard) error {
	if j.run == nil {
		return errors.New("the job has no function: make it with sdk.Simple or sdk.Dataflow")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := error(errEnded)
		defer func() {
			if value := recover(); value != nil {
				err = newPanicError(value)
			}
			ended <- explained(ctx, err)
		}()
		err = j.run(ctx, s)
	}()
	return <-ended
}

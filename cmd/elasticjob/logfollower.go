package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/elasticjob-go/elasticjob/client"
)

// logFollower prints the output of several tasks while they write it. Each stream has its own goroutine.
type logFollower struct {
	cli      *cli
	client   *client.Client
	streams  []string
	items    map[int]bool // the selected shards; nil for all
	tail     int          // the number of lines to start with; negative for all
	out, err *lockedWriter

	ctx    context.Context
	cancel context.CancelFunc
	tasks  map[string]bool
	work   sync.WaitGroup
	once   sync.Once
	failed error // the first error
}

func (a *cli) newLogFollower(ctx context.Context, c *client.Client, streams []string) *logFollower {
	ctx, cancel := context.WithCancel(ctx)
	return &logFollower{cli: a, client: c, streams: streams, tail: -1, ctx: ctx, cancel: cancel,
		tasks: map[string]bool{},
		out:   &lockedWriter{w: a.out}, err: &lockedWriter{w: a.err}}
}

// follow starts to follow the new tasks of a run. If the run has more than maxFollowed shards, it follows only the
// first ones.
func (f *logFollower) follow(run client.Execution) {
	if f.items == nil && len(run.Shards) > maxFollowed {
		f.items = map[int]bool{}
		for item := range maxFollowed {
			f.items[item] = true
		}
		fmt.Fprintf(f.err, "note: of %d shards the output of the first %d is printed; \"elasticjob logs %s\" has all\n", len(run.Shards), maxFollowed, run.ExecutionID)
	}
	for _, shard := range run.Shards {
		if shard.TaskID == "" || f.tasks[shard.TaskID] || f.items != nil && !f.items[shard.Item] {
			continue
		}
		prefix := ""
		if len(run.Shards) > 1 && len(f.items) != 1 {
			prefix = f.cli.prefix(shard.Item)
		}
		f.task(shard.TaskID, prefix)
	}
}

// task follows one task.
func (f *logFollower) task(id, prefix string) {
	f.tasks[id] = true
	for _, stream := range f.streams {
		f.work.Go(func() {
			o := client.Output{Task: id, Stream: stream, Follow: true}
			if err := f.print(f.ctx, o, prefix); err != nil && f.ctx.Err() == nil {
				f.once.Do(func() { f.failed = err })
				fmt.Fprintf(f.err, "elasticjob: %s of %s: %s\n", stream, id, errorText(err))
			}
		})
	}
}

// print prints one stream of a task. If both streams are requested, a cluster that keeps stderr in stdout refuses the
// second one; print then prints nothing for it.
func (f *logFollower) print(ctx context.Context, o client.Output, prefix string) error {
	o.Dropped = func(bytes int64) {
		fmt.Fprintf(f.err, "note: %d bytes of %s are left out: the executor has dropped them and keeps the end\n",
			bytes, o.Stream)
	}
	err := f.cli.printStream(ctx, f.client, o, f.tail, f.writer(o.Stream), prefix)
	if len(f.streams) > 1 && client.HasCode(err, "one_stream") {
		return nil
	}
	return err
}

func (f *logFollower) writer(stream string) *lockedWriter {
	if isStderr(stream) && len(f.streams) > 1 {
		return f.err
	}
	return f.out
}

// finish waits until all output has been printed, after the end of the tasks. If an error occurred, its text has been
// printed already; finish then returns an error without text that has the exit status of the first error.
func (f *logFollower) finish() error {
	f.work.Wait()
	if f.failed == nil {
		return nil
	}
	return &exitError{statusOf(f.failed), errors.New("")}
}

// stop ends all streams at once.
func (f *logFollower) stop() {
	f.cancel()
	f.work.Wait()
}

// Package output is where the tasks of an executor write to: files in its sandbox, which it bounds and of which it
// keeps the last ones (Files), or the streams of a pod's container (Streams). It finds in them why a task has failed.
package output

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// Limits bound what tasks' output may take on the disk.
type Limits struct {
	// File is the size, in bytes, at which stdout or stderr is rotated: its end goes to
	// stdout.1, which is replaced, and the file begins empty.
	File int64
	// Tasks and Bytes say how many ended tasks' folders are kept, and how large they may be together.
	Tasks int
	Bytes int64
	// Every is how often sizes are checked.
	Every time.Duration
}

// DefaultLimits keep an executor below about 1.1 GiB, plus 128 MiB per running task.
func DefaultLimits() Limits {
	return Limits{File: 32 << 20, Tasks: 1000, Bytes: 1 << 30, Every: 200 * time.Millisecond}
}

// Sink is where tasks write to: Files or Streams.
type Sink interface {
	// Begin makes room for a task's output. end must be called when its processes are gone, with when it was known
	// that they are: before the task's end is reported, since tasks that start after that report end later.
	Begin(number string) (end func(at time.Time), err error)
	// Streams gives a process of the task its standard output and standard error, by what it is started with: by the
	// specification, or by descriptors, which the caller closes once the process has them. ended must be called when
	// nothing of the process is left, or it was not started.
	Streams(number string, spec *supervisor.Spec) (files []*os.File, ended func(), err error)
	// Answers takes what a task's requests are answered.
	Answers(number string) (io.WriteCloser, error)
	// Mark says where the output of what comes next begins.
	Mark(number string) Mark
	// Cause is why something failed: the end of what was written to stderr since the mark, after what happened. hide
	// sees what is read before it is cut to its length, so that no half of a secret is left.
	Cause(number, what string, since Mark, hide func(string) string) string
	// Watch bounds what running tasks write, until ctx ends.
	Watch(ctx context.Context)
}

// CloseAll closes files that were only read, or were written by others.
func CloseAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

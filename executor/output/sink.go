// Package output manages the output of an executor's tasks: files in its sandbox, whose size and number it limits
// (Files), or the streams of a pod's container (Streams). It also extracts the cause of a failure from the output.
package output

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// Limits limits the disk space of tasks' output.
type Limits struct {
	// File is how many bytes of stdout and of stderr are kept at least, a multiple of 64 KiB. Once a file has more
	// than twice as many, its beginning is dropped.
	File int64
	// Tasks is how many folders of ended tasks are kept, and Bytes is their maximum total size.
	Tasks int
	Bytes int64
	// CheckInterval is the longest interval between checks of the sizes.
	CheckInterval time.Duration
}

// DefaultLimits limit an executor to about 1.1 GiB, plus 128 MiB per running task.
func DefaultLimits() Limits {
	return Limits{File: 32 << 20, Tasks: 1000, Bytes: 1 << 30, CheckInterval: 200 * time.Millisecond}
}

// Sink is the destination of tasks' output: Files or Streams.
type Sink interface {
	// Begin prepares a task's output. Once the task's processes have ended, the caller must call end with the time at
	// which this became known. That time must be before the report of the task's end, so that a task that is started
	// after this report always has a later end.
	Begin(number string) (end func(at time.Time), err error)
	// Streams provides the standard output and standard error of a process of the task. The caller closes files once
	// the process has them, and calls ended when the process and its children have ended, or if the process was not
	// started.
	Streams(number string, spec *supervisor.Spec) (files []*os.File, ended func(), err error)
	// Answers returns the writer for the answers to a task's requests.
	Answers(number string) (io.WriteCloser, error)
	// Mark returns the current position in the task's output.
	Mark(number string) Mark
	// Cause returns the cause of a failure: its description, followed by the end of the output since the mark. show
	// decodes the output and removes secrets. It is called before the text is cut to its length, so that no part of a
	// secret is left.
	Cause(number, failure string, since Mark, show func([]byte) string) string
	// LastWrite returns when the processes of a running task last wrote something, by the machine's clock. It returns
	// zero if that is not known.
	LastWrite(number string) time.Time
	// Watch limits the output of running tasks, until ctx ends.
	Watch(ctx context.Context)
}

// CloseAll closes files and ignores errors. It is for files that this process has only read, or that other
// processes have written.
func CloseAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

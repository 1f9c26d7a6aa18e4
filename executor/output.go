package executor

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// OutputLimits bound what tasks' output may take on the disk.
type OutputLimits struct {
	// File is the size, in bytes, at which stdout or stderr is rotated: its end goes to
	// stdout.1, which is replaced, and the file begins anew.
	File int64
	// Tasks and Bytes say how many ended tasks' folders are kept, and how large they may be together.
	Tasks int
	Bytes int64
	// Every is how often sizes are looked at.
	Every time.Duration
}

// DefaultOutputLimits keep an executor below about 1.1 GiB, plus 128 MiB per running task.
func DefaultOutputLimits() OutputLimits {
	return OutputLimits{File: 32 << 20, Tasks: 1000, Bytes: 1 << 30, Every: 200 * time.Millisecond}
}

// outputs looks after the files that tasks write to. They are plain files, so that output costs
// a task nothing and outlives everything; so a size is only noticed after the fact.
type outputs struct {
	sandbox string
	limits  OutputLimits
	log     *slog.Logger

	mu    sync.Mutex
	live  map[string]bool
	begun chan struct{} // of size 1: something is live
	ended []folder      // oldest first
	spare []string      // no longer kept, to be used again
	bytes int64         // of ended
}

type folder struct {
	number string
	bytes  int64
}

var streams = []string{"stdout", "stderr"}

func newOutputs(sandbox string, limits OutputLimits, log *slog.Logger) *outputs {
	return &outputs{sandbox: sandbox, limits: limits, log: log, live: map[string]bool{}, begun: make(chan struct{}, 1)}
}

func (o *outputs) file(number, name string) string {
	return filepath.Join(o.sandbox, "tasks", number, name)
}

// add begins to look after a task's output. The function that it gives must be called when its processes are gone.
func (o *outputs) add(number string) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live[number] = true
	select {
	case o.begun <- struct{}{}:
	default:
	}
	return func() { o.end(number) }
}

func (o *outputs) end(number string) {
	o.mu.Lock()
	delete(o.live, number)
	o.mu.Unlock()
	for _, stream := range streams {
		path := o.file(number, stream)
		if sizeOf(path) > o.limits.File {
			if err := keepEnd(path, o.limits.File); err != nil {
				o.log.Warn("can't shorten output", "file", path, "error", err)
			}
		}
	}
	f := folder{number: number, bytes: sizeOfAll(filepath.Join(o.sandbox, "tasks", number))}
	o.mu.Lock()
	o.ended = append(o.ended, f)
	o.bytes += f.bytes
	var remove []folder
	for len(o.ended) > 1 && (len(o.ended) > o.limits.Tasks || o.bytes > o.limits.Bytes) {
		remove = append(remove, o.ended[0])
		o.bytes -= o.ended[0].bytes
		o.ended = o.ended[1:]
	}
	o.mu.Unlock()
	for _, f := range remove {
		if !o.keepSpare(f) {
			if err := pack.RemoveTree(filepath.Join(o.sandbox, "tasks", f.number)); err != nil {
				o.log.Warn("can't remove old output", "error", err)
			}
		}
	}
}

// File systems are slow when many files come and go (ext4 looks for inodes that weren't freed
// in the last seconds), so folders to be removed are used again, as many as a burst of tasks may need.
const (
	spares    = 1024
	spareSize = 64 << 10
)

func (o *outputs) keepSpare(f folder) bool {
	if f.bytes > spareSize || !reusable(filepath.Join(o.sandbox, "tasks", f.number)) {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.spare) >= spares {
		return false
	}
	o.spare = append(o.spare, f.number)
	return true
}

// folder makes the folder of a task's output and gives its path.
func (o *outputs) folder(number string) (string, error) {
	path := filepath.Join(o.sandbox, "tasks", number)
	o.mu.Lock()
	old := ""
	if len(o.spare) > 0 {
		old, o.spare = o.spare[0], o.spare[1:]
	}
	o.mu.Unlock()
	if old != "" {
		used := filepath.Join(o.sandbox, "tasks", old)
		if emptied(used) && os.Rename(used, path) == nil {
			return path, nil
		}
		_ = pack.RemoveTree(used)
	}
	return path, os.MkdirAll(path, 0o755)
}

// watched is a running task's output as it was seen last.
type watched struct {
	sizes [2]int64 // of streams
	every time.Duration
	due   time.Time
}

// watch rotates what grows too large, until ctx ends. It looks at a task often when it is new
// or its output grows fast, then less and less.
func (o *outputs) watch(ctx context.Context) {
	often := min(max(o.limits.Every/20, time.Millisecond), o.limits.Every)
	tasks := map[string]*watched{}
	for {
		var next <-chan time.Time
		if len(tasks) > 0 {
			due := time.Now().Add(o.limits.Every)
			for _, w := range tasks {
				if w.due.Before(due) {
					due = w.due
				}
			}
			timer := time.NewTimer(max(time.Until(due), often))
			next = timer.C
		}
		select {
		case <-next:
		case <-o.begun:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		live := o.running()
		for number := range live {
			w := tasks[number]
			switch {
			case w == nil:
				tasks[number] = &watched{every: often, due: now.Add(often)}
			case !w.due.After(now):
				o.look(number, w, often)
				w.due = now.Add(w.every)
			}
		}
		if len(tasks) > len(live) {
			maps.DeleteFunc(tasks, func(number string, _ *watched) bool { return !live[number] })
		}
	}
}

func (o *outputs) running() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.live)
}

// look rotates what is too large, and says when to look again.
func (o *outputs) look(number string, w *watched, often time.Duration) {
	w.every = min(2*w.every, o.limits.Every)
	for i, stream := range streams {
		path := o.file(number, stream)
		size := sizeOf(path)
		if size-w.sizes[i] > o.limits.File/4 {
			w.every = often
		}
		w.sizes[i] = size
		if size <= o.limits.File {
			continue
		}
		w.sizes[i] = 0
		if err := rotate(path, o.limits.File); err != nil {
			o.log.Warn("output is lost: it can't be rotated", "file", path, "error", err)
		}
	}
}

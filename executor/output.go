package executor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
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

const (
	causeLength   = 4000 // characters of output in a failure's cause
	messageLength = 300
)

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
	f := folder{number: number}
	for _, stream := range streams {
		path := o.file(number, stream)
		size := sizeOf(path)
		if size > o.limits.File {
			if err := keepEnd(path, o.limits.File); err != nil {
				o.log.Warn("can't shorten output", "file", path, "error", err)
			}
			size = sizeOf(path)
		}
		f.bytes += size + sizeOf(path+".1")
	}
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
			if err := os.RemoveAll(filepath.Join(o.sandbox, "tasks", f.number)); err != nil {
				o.log.Warn("can't remove old output", "error", err)
			}
		}
	}
}

// File systems are slow when many files come and go (ext4 looks for inodes that weren't freed
// in the last seconds), so a few of the folders to be removed are used again.
const (
	spares    = 64
	spareSize = 64 << 10
)

func (o *outputs) keepSpare(f folder) bool {
	entries, err := os.ReadDir(filepath.Join(o.sandbox, "tasks", f.number))
	if err != nil || len(entries) != len(streams) || f.bytes > spareSize {
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
		err := errors.Join(os.Truncate(filepath.Join(used, "stdout"), 0), os.Truncate(filepath.Join(used, "stderr"), 0))
		if err == nil {
			err = os.Rename(used, path)
		}
		if err == nil {
			return path, nil
		}
		_ = os.RemoveAll(used)
	}
	return path, os.MkdirAll(path, 0o755)
}

// watch rotates what grows too large, until ctx ends.
func (o *outputs) watch(ctx context.Context) {
	every := o.limits.Every
	for {
		select {
		case <-o.begun:
		case <-ctx.Done():
			return
		}
		for last := map[string]int64{}; ; {
			timer := time.NewTimer(every)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			sizes := map[string]int64{}
			every = o.limits.Every
			live := o.running()
			for _, number := range live {
				for _, stream := range streams {
					path := o.file(number, stream)
					sizes[path] = o.look(path)
					if sizes[path]-last[path] > o.limits.File/4 {
						every = max(o.limits.Every/20, time.Millisecond) // grows fast: look often
					}
				}
			}
			last = sizes
			if len(live) == 0 {
				break
			}
		}
	}
}

func (o *outputs) running() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	live := make([]string, 0, len(o.live))
	for number := range o.live {
		live = append(live, number)
	}
	return live
}

// look rotates the file if it is too large, and gives the size that it had.
func (o *outputs) look(path string) int64 {
	size := sizeOf(path)
	if size <= o.limits.File {
		return size
	}
	if err := rotate(path, o.limits.File); err != nil {
		o.log.Warn("can't rotate output", "file", path, "error", err)
	}
	return size
}

func sizeOf(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// rotate copies the file's end to path.1 and empties it. Its writers append, so they go on
// at its new end. What they write between the copy and the cut is lost.
func rotate(path string, limit int64) error {
	if err := copyEnd(path, path+".1", limit); err != nil {
		return err
	}
	return os.Truncate(path, 0)
}

// keepEnd shortens a file that nobody writes to any more.
func keepEnd(path string, limit int64) error {
	if err := copyEnd(path, path+".new", limit); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func copyEnd(from, to string, limit int64) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	size, err := source.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := source.Seek(max(size-limit, 0), io.SeekStart); err != nil {
		return err
	}
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, io.LimitReader(source, limit))
	return err
}

// cause is why a task failed: the end of its stderr, or of its stdout if that is empty, after what happened.
func (o *outputs) cause(number, what string) string {
	for _, stream := range []string{"stderr", "stdout"} {
		end := o.tail(o.file(number, stream))
		if end == "" {
			end = o.tail(o.file(number, stream+".1"))
		}
		if end != "" {
			return what + "; end of " + stream + ":\n" + end
		}
	}
	return what + "; it wrote nothing"
}

func (o *outputs) tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	const enough = 4 * causeLength
	_, err = f.Seek(max(size-enough, 0), io.SeekStart)
	if err != nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return ""
	}
	for len(data) > 0 && size > enough && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return readable(string(data), causeLength)
}

// readable keeps the last limit characters of a text, without control characters
// and terminal colours, so that it can be shown anywhere.
func readable(text string, limit int) string {
	var b strings.Builder
	escape := false
	for i, r := range text {
		switch {
		case r == 0x1b:
			escape = true
		case escape:
			// ESC [ … letter; other sequences are two characters long.
			if first := text[i-1] == 0x1b; first && r != '[' || !first && r >= '@' && r <= '~' {
				escape = false
			}
		case r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0):
			b.WriteRune(r)
		}
	}
	runes := []rune(strings.TrimSpace(b.String()))
	if len(runes) <= limit {
		return string(runes)
	}
	runes = runes[len(runes)-limit+1:]
	return "…" + string(runes)
}

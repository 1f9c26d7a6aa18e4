package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// Folder is the name of the folder in the sandbox that contains one folder of output per task. The name of that folder
// is the task's number.
const Folder = "tasks"

// outputMode is the mode of output folders.
const outputMode = 0o755

// Files manages the output files of tasks. These are plain files, so that output costs a task nothing and survives
// every process. Therefore the executor notices that a file is too large only after it has grown. The files belong to
// the executor. If tasks run as another user, that user can't reach them by a path, but can reopen them by the
// descriptors of its processes.
type Files struct {
	sandbox string
	limits  Limits
	as      *isolation.Account // the user of the tasks; nil for the executor's own
	log     *slog.Logger

	mu       sync.Mutex
	running  map[string]*watched
	begun    chan struct{} // has a value when running has grown
	ended    []folder      // the oldest first
	reusable []string      // the numbers of folders that are not kept any more and can be reused
	bytes    int64         // the total size of ended
}

type folder struct {
	number string
	ended  time.Time // the time of the task's end
	contents
}

var streamNames = []string{"stdout", "stderr"}

var _ Sink = (*Files)(nil)

// NewFiles returns the output of the tasks in a sandbox. as is the user of the tasks; nil for the executor's own user.
// The limits are enforced only while Watch runs.
func NewFiles(sandbox string, limits Limits, as *isolation.Account, log *slog.Logger) *Files {
	return &Files{sandbox: sandbox, limits: limits, as: as, log: log, running: map[string]*watched{},
		begun: make(chan struct{}, 1)}
}

func (o *Files) file(number, name string) string {
	return filepath.Join(o.sandbox, Folder, number, name)
}

// Begin implements Sink. It creates the task's empty files.
func (o *Files) Begin(number string) (end func(at time.Time), err error) {
	if _, err := o.folder(number); err != nil {
		return nil, err
	}
	w := &watched{interval: o.minInterval(), due: time.Now().Add(o.minInterval())}
	for _, name := range streamNames {
		f, err := o.open(o.file(number, name))
		if err != nil {
			CloseAll(w.files)
			return nil, fmt.Errorf("make the file of the task's %s: %w", name, err)
		}
		w.files = append(w.files, f)
	}
	o.add(number, w)
	return func(at time.Time) { o.end(number, at) }, nil
}

// open creates an output file, or opens an empty one that exists.
func (o *Files) open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err = errors.Join(err, o.permit(f)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// permit allows tasks to reopen an output file, for example by /dev/stdout. The mode of the parent folder keeps out
// other users of the same group.
func (o *Files) permit(f *os.File) error {
	if o.as == nil {
		return f.Chmod(0o644)
	}
	return errors.Join(f.Chown(os.Geteuid(), int(o.as.GID)), f.Chmod(0o660))
}

// filesOf returns the output files of a running task.
func (o *Files) filesOf(number string) []*os.File {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w := o.running[number]; w != nil {
		return w.files
	}
	return nil
}

// Streams implements Sink. It opens the files again, so that flags that a process sets on its descriptors do not
// affect the executor's descriptors.
func (o *Files) Streams(number string, _ *supervisor.Spec) (files []*os.File, ended func(), err error) {
	for i := range streamNames {
		f, err := o.writer(number, i)
		if err != nil {
			CloseAll(files)
			return nil, nil, err
		}
		files = append(files, f)
	}
	return files, func() {}, nil
}

// Answers implements Sink. Answers go to the file of stdout.
func (o *Files) Answers(number string) (io.WriteCloser, error) { return o.writer(number, 0) }

// LastWrite implements Sink.
func (o *Files) LastWrite(number string) (last time.Time) {
	for _, f := range o.filesOf(number) {
		if info, err := f.Stat(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// writer opens a running task's output file for appending.
func (o *Files) writer(number string, stream int) (*os.File, error) {
	files := o.filesOf(number)
	if files == nil {
		return nil, errors.New("open the task's output: it has ended")
	}
	err := o.permit(files[stream]) // a task may have changed the file's mode
	if err == nil {
		var f *os.File
		f, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", files[stream].Fd()), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("open the task's %s: %w", streamNames[stream], err)
}

// add begins to watch a task's output.
func (o *Files) add(number string, w *watched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running[number] = w
	select {
	case o.begun <- struct{}{}:
	default:
	}
}

// end adds a task's output to the kept output, in the order in which tasks ended. A call takes longer for a large
// output, so the call for a later task may be the first to finish.
func (o *Files) end(number string, at time.Time) {
	o.mu.Lock()
	w := o.running[number]
	delete(o.running, number)
	o.mu.Unlock()
	o.limit(w)
	w.close()
	f := folder{number, at, o.contentsOf(filepath.Join(o.sandbox, Folder, number))}
	o.mu.Lock()
	i, _ := slices.BinarySearchFunc(o.ended, at, func(f folder, at time.Time) int { return f.ended.Compare(at) })
	o.ended = slices.Insert(o.ended, i, f)
	o.bytes += f.bytes
	var remove []folder
	for len(o.ended) > 1 && (len(o.ended) > o.limits.Tasks || o.bytes > o.limits.Bytes) {
		remove = append(remove, o.ended[0])
		o.bytes -= o.ended[0].bytes
		o.ended = o.ended[1:]
	}
	o.mu.Unlock()
	for _, f := range remove {
		if !o.keepForReuse(f) {
			if err := pack.RemoveTree(filepath.Join(o.sandbox, Folder, f.number)); err != nil {
				o.log.Warn("old output not removed", "error", err)
			}
		}
	}
}

// File systems are slow when many files are created and removed, as makeSpread of package executor says. So folders
// that are not kept any more are reused: at most maxReusable, which suffices for a burst of tasks, of at most
// reusableSize bytes each.
const (
	maxReusable  = 1024
	reusableSize = 64 << 10
)

func (o *Files) keepForReuse(f folder) bool {
	if f.bytes > reusableSize || !f.plain {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.reusable) >= maxReusable {
		return false
	}
	o.reusable = append(o.reusable, f.number)
	return true
}

// folder creates the folder of a task's output, or reuses an old one, and returns its path.
func (o *Files) folder(number string) (string, error) {
	path := filepath.Join(o.sandbox, Folder, number)
	o.mu.Lock()
	old := ""
	if len(o.reusable) > 0 {
		old, o.reusable = o.reusable[0], o.reusable[1:]
	}
	o.mu.Unlock()
	if old != "" {
		used := filepath.Join(o.sandbox, Folder, old)
		if o.truncate(used) && syscall.Rename(used, path) == nil {
			return path, nil
		}
		_ = pack.RemoveTree(used)
	}
	// If the path exists, a task has created it and may have put anything into it.
	return path, remake(path)
}

// remake creates an empty folder, and first removes whatever has its path.
func remake(path string) error {
	if os.Mkdir(path, outputMode) == nil {
		return nil // nothing had the path
	}
	if err := pack.RemoveTree(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), outputMode); err != nil {
		return err
	}
	return os.Mkdir(path, outputMode)
}

// watched is the state of a running task's output.
type watched struct {
	// Only Watch uses interval and due after the task was added.
	interval time.Duration
	due      time.Time

	files []*os.File // the executor's own descriptors, by stream

	mu      sync.Mutex
	sizes   [2]int64 // the sizes at the last check, by stream
	dropped [2]int64 // the numbers of bytes that were dropped at the beginning, by stream
	closed  bool
}

func (w *watched) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	CloseAll(w.files)
}

// minInterval returns the interval of checks for a task that is new or whose output grows fast.
func (o *Files) minInterval() time.Duration {
	return min(max(o.limits.CheckInterval/20, time.Millisecond), o.limits.CheckInterval)
}

// Watch implements Sink. It checks a task often while the task is new or its output grows fast, then less and less
// often.
func (o *Files) Watch(ctx context.Context) {
	var next time.Time // the time of the next check; zero if no task runs
	timer := time.NewTimer(o.minInterval())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			next = o.checkDue()
		case <-o.begun:
			if due := time.Now().Add(o.minInterval()); next.IsZero() || due.Before(next) {
				next = due
			}
		case <-ctx.Done():
			return
		}
		if !next.IsZero() {
			timer.Reset(max(time.Until(next), time.Millisecond))
		}
	}
}

// checkDue checks the tasks that are due, and returns the time of the next check, or zero if no task runs.
func (o *Files) checkDue() (next time.Time) {
	now := time.Now()
	o.mu.Lock()
	tasks := slices.Collect(maps.Values(o.running))
	o.mu.Unlock()
	for _, w := range tasks {
		if !w.due.After(now.Add(o.minInterval() / 2)) {
			o.check(w)
			w.due = now.Add(w.interval)
		}
		if next.IsZero() || w.due.Before(next) {
			next = w.due
		}
	}
	return next
}

// check limits a task's output, and sets the interval until the next check.
func (o *Files) check(w *watched) {
	w.interval = min(2*w.interval, o.limits.CheckInterval)
	if growsFast := o.limit(w); growsFast {
		w.interval = o.minInterval()
	}
}

// limit drops the beginnings of files that are too large. It reports whether a file has grown fast since the last call.
func (o *Files) limit(w *watched) (growsFast bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	for i, f := range w.files {
		info, err := f.Stat()
		if err != nil {
			continue
		}
		size := info.Size()
		if size < w.dropped[i] {
			w.dropped[i] = 0 // the process has emptied the file
		}
		growsFast = growsFast || size-w.sizes[i] > o.limits.File/4
		w.sizes[i] = size
		if size-w.dropped[i] <= 2*o.limits.File && diskSize(info) <= 2*o.limits.File+allocatedAhead {
			continue
		}
		if w.dropped[i], err = dropBeginning(f, o.limits.File); err != nil {
			o.log.Warn("output not limited", "stream", streamNames[i], "error", err)
		}
	}
	return growsFast
}

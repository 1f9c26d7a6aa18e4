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

// Folder is the folder in the sandbox with a folder of each task's output, by the task's number.
const Folder = "tasks"

// outputMode is the mode of the folders of output.
const outputMode = 0o755

// Files looks after the files that tasks write to. They are plain files, so that output costs a task nothing and
// outlives everything; so a size is only noticed after the fact. They are the executor's own. Where tasks are another
// user's, that user can't reach them by a path, and can open them again by the descriptors that its processes have.
type Files struct {
	sandbox string
	limits  Limits
	as      *isolation.Account // who writes to them, nil for the executor's own user
	log     *slog.Logger

	mu       sync.Mutex
	live     map[string]*watched
	begun    chan struct{} // of size 1: something has been added to live
	ended    []folder      // oldest first
	reusable []string      // no longer kept, to be used again
	bytes    int64         // of ended
}

type folder struct {
	number string
	at     time.Time // when its task ended
	contents
}

var streamNames = []string{"stdout", "stderr"}

var _ Sink = (*Files)(nil)

// NewFiles returns the output of the tasks whose sandbox it is. as is who writes to the files, nil for the executor's
// own user. Watch must run for the limits to hold.
func NewFiles(sandbox string, limits Limits, as *isolation.Account, log *slog.Logger) *Files {
	return &Files{sandbox: sandbox, limits: limits, as: as, log: log, live: map[string]*watched{},
		begun: make(chan struct{}, 1)}
}

func (o *Files) file(number, name string) string {
	return filepath.Join(o.sandbox, Folder, number, name)
}

// Begin makes the task's files, empty.
func (o *Files) Begin(number string) (end func(at time.Time), err error) {
	if _, err := o.folder(number); err != nil {
		return nil, err
	}
	w := &watched{every: o.often(), due: time.Now().Add(o.often())}
	for _, name := range streamNames {
		f, err := o.open(o.file(number, name))
		if err != nil {
			CloseAll(w.files)
			return nil, fmt.Errorf("make the file of the task's %s: %w", name, err)
		}
		w.files, w.paths = append(w.files, f), append(w.paths, o.file(number, name))
	}
	o.add(number, w)
	return func(at time.Time) { o.end(number, at) }, nil
}

// open makes an output file, or takes one that is empty.
func (o *Files) open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err = errors.Join(err, o.permit(f)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// permit lets tasks open an output file again, as by /dev/stdout. The folder above keeps others of their group from
// it.
func (o *Files) permit(f *os.File) error {
	if o.as == nil {
		return f.Chmod(0o644)
	}
	return errors.Join(f.Chown(os.Geteuid(), int(o.as.GID)), f.Chmod(0o660))
}

// filesOf are the output files of a running task.
func (o *Files) filesOf(number string) []*os.File {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w := o.live[number]; w != nil {
		return w.files
	}
	return nil
}

// Streams opens the files again, so that no flag that a process sets on its descriptors counts for the executor's.
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

func (o *Files) Answers(number string) (io.WriteCloser, error) { return o.writer(number, 0) }

// writer opens a running task's file for what is added to it.
func (o *Files) writer(number string, stream int) (*os.File, error) {
	files := o.filesOf(number)
	if files == nil {
		return nil, errors.New("open the task's output: it has ended")
	}
	err := o.permit(files[stream]) // which its user may have changed
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", files[stream].Fd()), os.O_WRONLY|os.O_APPEND,
			0); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("open the task's %s: %w", streamNames[stream], err)
}

// add begins to look after a task's output.
func (o *Files) add(number string, w *watched) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live[number] = w
	select {
	case o.begun <- struct{}{}:
	default:
	}
}

// end counts a task's output among what is kept, in the order in which tasks ended. Large outputs take longer to be
// looked at than small ones, so that calls for tasks that ended one after the other can overtake each other.
func (o *Files) end(number string, at time.Time) {
	o.mu.Lock()
	w := o.live[number]
	delete(o.live, number)
	o.mu.Unlock()
	w.close()
	dir := filepath.Join(o.sandbox, Folder, number)
	found := o.contentsOf(dir)
	if found.largest > o.limits.File {
		o.shorten(number)
		found = o.contentsOf(dir)
	}
	f := folder{number, at, found}
	o.mu.Lock()
	i, _ := slices.BinarySearchFunc(o.ended, at, func(f folder, at time.Time) int { return f.at.Compare(at) })
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

// shorten leaves the end of what an ended task's output is too large of.
func (o *Files) shorten(number string) {
	for _, stream := range streamNames {
		path := o.file(number, stream)
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && fileSize(info, o.limits.File) > o.limits.File {
			if err := keepEnd(path, o.limits.File); err != nil {
				o.log.Warn("output not shortened", "file", path, "error", err)
			}
		}
	}
}

// File systems are slow when many files come and go (see makeSpread), so folders to be removed are used
// again, as many as a burst of tasks may need.
const (
	mostReusable = 1024
	reusableSize = 64 << 10
)

func (o *Files) keepForReuse(f folder) bool {
	if f.bytes > reusableSize || !f.plain {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.reusable) >= mostReusable {
		return false
	}
	o.reusable = append(o.reusable, f.number)
	return true
}

// folder makes the folder of a task's output and gives its path.
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
		if o.emptied(used) && syscall.Rename(used, path) == nil {
			return path, nil
		}
		_ = pack.RemoveTree(used)
	}
	// A task made what lies there already, and may have put anything into it.
	return path, remake(path)
}

// remake makes an empty folder in the place of whatever lies there.
func remake(path string) error {
	if os.Mkdir(path, outputMode) == nil {
		return nil // it is new
	}
	if err := pack.RemoveTree(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), outputMode); err != nil {
		return err
	}
	return os.Mkdir(path, outputMode)
}

// watched is a running task's output as it was seen last. Only watch uses what is not its files once it is in live.
type watched struct {
	paths []string // of streams
	sizes [2]int64
	every time.Duration
	due   time.Time

	files []*os.File // of streams, by the executor's own descriptors

	// mu is held while they are looked at, and to close them.
	mu     sync.Mutex
	closed bool
}

func (w *watched) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	CloseAll(w.files)
}

// often is how often a task is looked at that is new, or whose output grows fast.
func (o *Files) often() time.Duration {
	return min(max(o.limits.Every/20, time.Millisecond), o.limits.Every)
}

// Watch rotates what grows too large, until ctx ends. It looks at a task often when it is new
// or its output grows fast, then less and less.
func (o *Files) Watch(ctx context.Context) {
	var next time.Time // when the earliest task is due; zero without any
	timer := time.NewTimer(o.often())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			next = o.lookAtDue()
		case <-o.begun:
			if due := time.Now().Add(o.often()); next.IsZero() || due.Before(next) {
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

// lookAtDue looks at the tasks that are due, and says when the next one is; zero if no task runs.
func (o *Files) lookAtDue() (next time.Time) {
	now := time.Now()
	o.mu.Lock()
	tasks := slices.Collect(maps.Values(o.live))
	o.mu.Unlock()
	for _, w := range tasks {
		if !w.due.After(now.Add(o.often() / 2)) {
			o.look(w)
			w.due = now.Add(w.every)
		}
		if next.IsZero() || w.due.Before(next) {
			next = w.due
		}
	}
	return next
}

// look rotates what is too large, and says when to look again.
func (o *Files) look(w *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.every = min(2*w.every, o.limits.Every)
	for i, f := range w.files {
		info, err := f.Stat()
		if err != nil {
			continue
		}
		size := fileSize(info, o.limits.File)
		if size-w.sizes[i] > o.limits.File/4 {
			w.every = o.often()
		}
		w.sizes[i] = size
		if size <= o.limits.File {
			continue
		}
		w.sizes[i] = 0
		if err := rotate(f, w.paths[i], o.limits.File); err != nil {
			o.log.Warn("output not rotated, and lost", "file", w.paths[i], "error", err)
		}
	}
}

package podlog

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// Options are what Files need; a zero value means the default.
type Options struct {
	// Core is a client of the API server's core group.
	Core rest.Interface
	// Folder is where texts are while they are read. No file in it has a name for longer than a moment.
	Folder string
	// Budget is how many bytes of texts there are at most, 512 MiB; Most how many texts, 200.
	Budget int64
	Most   int
	// Idle is after which time a text that nobody reads is forgotten, 15 s. Pause is how long it takes until one that
	// broke off is asked for again, 1 s.
	Idle, Pause time.Duration
	// Quiet is how long nothing must come until what there is counts as read, 200 ms.
	Quiet time.Duration

	now func() time.Time
}

func (o *Options) complete() {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&o.Idle, 15 * time.Second}, {&o.Pause, time.Second}, {&o.Quiet, 200 * time.Millisecond}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
	if o.Budget == 0 {
		o.Budget = 512 << 20
	}
	if o.Most == 0 {
		o.Most = 200
	}
	if o.now == nil {
		o.now = time.Now
	}
}

// Files are the outputs of tasks in pods, as api.Logs has them. A path is the Dir of a task and a stream: all that a
// task writes is its stdout, in its order, since the API server keeps no two. Offsets count from where the text began
// that the node keeps: the kubelet rotates files, so a text that is opened again may be shorter. Its methods may be
// called concurrently.
type Files struct {
	opt     Options
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	texts map[place]*text
	bytes int64
	shut  bool
}

// NewFiles makes the folder, and connects to nothing yet.
func NewFiles(opt Options) (*Files, error) {
	opt.complete()
	if err := os.MkdirAll(opt.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for the output of pods: %w", err)
	}
	f := &Files{opt: opt, texts: map[place]*text{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// Close ends all that is followed, and waits for it.
func (f *Files) Close() error {
	f.mu.Lock()
	f.shut = true
	for _, t := range f.texts {
		f.forget(t)
	}
	f.mu.Unlock()
	f.cancel()
	f.running.Wait()
	return nil
}

// Read returns at most length bytes from offset; none at or past the end.
func (f *Files) Read(ctx context.Context, _, path string, offset int64, length int) ([]byte, error) {
	t, release, err := f.text(ctx, path)
	if err != nil {
		return nil, err
	}
	defer release()
	return t.read(offset, length)
}

// Size is how long the text is, now.
func (f *Files) Size(ctx context.Context, _, path string) (int64, error) {
	t, release, err := f.text(ctx, path)
	if err != nil {
		return 0, err
	}
	defer release()
	if err := t.failed(); err != nil {
		return 0, err
	}
	return t.length(), nil
}

// text is what a path names, as far as it was written. Its file stays open until release.
func (f *Files) text(ctx context.Context, path string) (t *text, release func(), err error) {
	at, stream, err := parsePath(path)
	switch {
	case err != nil:
		return nil, nil, err
	case stream == "stderr":
		return nil, nil, cluster.ErrOneStream
	case stream != "stdout":
		return nil, nil, fmt.Errorf("%w: there is no %s of pods", cluster.ErrGone, stream)
	}
	if t, err = f.find(at); err != nil {
		return nil, nil, err
	}
	release = func() { f.release(t) }
	select {
	case <-t.ready:
		return t, release, nil
	case <-ctx.Done():
		release()
		return nil, nil, ctx.Err()
	}
}

// find is the text of a pod, which is followed from now on if it wasn't. It has one reader more.
func (f *Files) find(at place) (*text, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		return nil, context.Canceled
	}
	now := f.opt.now()
	t := f.texts[at]
	if t != nil && t.stale(now, f.opt.Pause) {
		f.forget(t)
		t = nil
	}
	if t == nil {
		var err error
		if t, err = f.begin(at); err != nil {
			return nil, err
		}
	}
	t.used = now
	t.readers++
	return t, nil
}

func (f *Files) release(t *text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch t.readers--; {
	case t.readers > 0:
	case f.texts[t.at] == t:
		t.idle.Reset(f.opt.Idle)
	default: // it was forgotten
		_ = t.file.Close()
	}
}

// begin follows a pod's output. f.mu is held.
func (f *Files) begin(at place) (*text, error) {
	if other := f.leastUsed(); other != nil && len(f.texts) >= f.opt.Most {
		f.forget(other)
	}
	file, err := os.CreateTemp(f.opt.Folder, "text-*")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("keep the output of pod %s: %w", at.name, err)
	}
	ctx, stop := context.WithCancel(f.ctx)
	t := &text{at: at, file: file, stop: stop, ready: make(chan struct{})}
	t.idle = time.AfterFunc(f.opt.Idle, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if t.readers == 0 {
			f.forget(t)
		}
	})
	f.texts[at] = t
	f.running.Go(func() { t.follow(ctx, f) })
	return t, nil
}

// forget ends a text, unless that was done; who reads it now keeps the file. f.mu is held.
func (f *Files) forget(t *text) {
	if f.texts[t.at] != t {
		return
	}
	delete(f.texts, t.at)
	f.bytes -= t.reserved
	t.idle.Stop()
	t.stop()
	if t.readers == 0 {
		_ = t.file.Close()
	}
}

// makeRoom counts so many bytes more of a text, and forgets others if they are too many. It reports whether there is
// room.
func (f *Files) makeRoom(t *text, more int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts[t.at] != t {
		return false
	}
	for f.bytes+more > f.opt.Budget {
		other := f.leastUsed()
		if other == nil || other == t {
			return false
		}
		f.forget(other)
	}
	f.bytes += more
	t.reserved += more
	return true
}

// leastUsed is the text that was read the longest time ago, of those that nobody reads just now; nil if there is none.
// f.mu is held.
func (f *Files) leastUsed() *text {
	var least *text
	for _, t := range f.texts {
		if t.readers == 0 && (least == nil || t.used.Before(least.used)) {
			least = t
		}
	}
	return least
}

package podlog

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// Options configure Files; a zero value means the default.
type Options struct {
	// Core is a client of the API server's core group.
	Core rest.Interface
	// Folder holds the texts that are being read. Files in it are unlinked right after their creation.
	Folder string
	// Budget limits the total size of texts in bytes, 512 MiB by default. MaxTexts limits their number, 200 by
	// default, except that texts with readers are not dropped for it.
	Budget   int64
	MaxTexts int
	// Idle is the time without a read after which a text is dropped, 15 s by default. Pause is the minimum time before
	// a text that broke off is requested again, 1 s by default.
	Idle, Pause time.Duration
	// Quiet is the time without new data after which the existing output counts as complete, 200 ms by default.
	Quiet time.Duration

	now func() time.Time
}

// setDefaults replaces zero values by the defaults.
func (o *Options) setDefaults() {
	o.Idle, o.Pause = cmp.Or(o.Idle, 15*time.Second), cmp.Or(o.Pause, time.Second)
	o.Quiet = cmp.Or(o.Quiet, 200*time.Millisecond)
	o.Budget, o.MaxTexts = cmp.Or(o.Budget, 512<<20), cmp.Or(o.MaxTexts, 200)
	if o.now == nil {
		o.now = time.Now
	}
}

// Files serves the output of tasks in pods, as api.Logs expects it. A path is a task's Dir followed by a stream. All
// output is in stdout, in order, because the API server does not separate the streams. Offsets count from the
// beginning of the text that the node still has. The kubelet rotates files, so a text that is opened again may be
// shorter. The methods may be called concurrently.
type Files struct {
	opt     Options
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	texts  map[podRef]*text
	bytes  int64 // reserved by all texts
	closed bool
}

// NewFiles creates the folder. It opens no connection.
func NewFiles(opt Options) (*Files, error) {
	opt.setDefaults()
	if err := os.MkdirAll(opt.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder for the output of pods: %w", err)
	}
	f := &Files{opt: opt, texts: map[podRef]*text{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// Close stops following all texts and waits for the goroutines.
func (f *Files) Close() error {
	f.mu.Lock()
	f.closed = true
	for _, t := range f.texts {
		f.forget(t)
	}
	f.mu.Unlock()
	f.cancel()
	f.running.Wait()
	return nil
}

// Read returns at most length bytes from offset, and none at or beyond the end.
func (f *Files) Read(ctx context.Context, _, path string, offset int64, length int) ([]byte, error) {
	t, release, err := f.text(ctx, path)
	if err != nil {
		return nil, err
	}
	defer release()
	return t.read(offset, length)
}

// Size returns the current length of the text in bytes.
func (f *Files) Size(ctx context.Context, _, path string) (int64, error) {
	t, release, err := f.text(ctx, path)
	if err != nil {
		return 0, err
	}
	defer release()
	if err := t.failure(); err != nil {
		return 0, err
	}
	return t.length(), nil
}

// text returns the text that a path names, once its existing output has been read. Its file stays open until the
// caller calls release.
func (f *Files) text(ctx context.Context, path string) (t *text, release func(), err error) {
	ref, stream, err := parsePath(path)
	switch {
	case err != nil:
		return nil, nil, err
	case stream == "stderr":
		return nil, nil, cluster.ErrOneStream
	case stream != "stdout":
		return nil, nil, fmt.Errorf("%w: there is no %s of pods", cluster.ErrGone, stream)
	}
	if t, err = f.acquire(ref); err != nil {
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

// acquire returns the text of a pod and adds a reader to it. It starts to follow the pod's output if no text exists or
// if the text is stale.
func (f *Files) acquire(ref podRef) (*text, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, context.Canceled
	}
	now := f.opt.now()
	t := f.texts[ref]
	if t != nil && t.stale(now, f.opt.Pause) {
		f.forget(t)
		t = nil
	}
	if t == nil {
		var err error
		if t, err = f.begin(ref); err != nil {
			return nil, err
		}
	}
	t.lastRead = now
	t.readers++
	return t, nil
}

// release removes a reader from a text.
func (f *Files) release(t *text) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch t.readers--; {
	case t.readers > 0:
	case f.texts[t.ref] == t:
		t.idle.Reset(f.opt.Idle)
	default: // the text was dropped while it had readers
		_ = t.file.Close()
	}
}

// begin starts following a pod's output. f.mu must be held.
func (f *Files) begin(ref podRef) (*text, error) {
	if other := f.leastUsed(); other != nil && len(f.texts) >= f.opt.MaxTexts {
		f.forget(other)
	}
	file, err := os.CreateTemp(f.opt.Folder, "text-*")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("store the output of pod %s: %w", ref.name, err)
	}
	ctx, stop := context.WithCancel(f.ctx)
	t := &text{ref: ref, file: file, stop: stop, ready: make(chan struct{})}
	t.idle = time.AfterFunc(f.opt.Idle, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if t.readers == 0 {
			f.forget(t)
		}
	})
	f.texts[ref] = t
	f.running.Go(func() { t.follow(ctx, f) })
	return t, nil
}

// forget drops a text. It does nothing if the text was dropped before. If the text has readers, its file stays open
// until the last one calls release. f.mu must be held.
func (f *Files) forget(t *text) {
	if f.texts[t.ref] != t {
		return
	}
	delete(f.texts, t.ref)
	f.bytes -= t.reserved
	t.idle.Stop()
	t.stop()
	if t.readers == 0 {
		_ = t.file.Close()
	}
}

// reserve reserves more bytes of the budget for a text. If the budget is used up, reserve drops texts without readers.
// It returns false if the bytes do not fit nevertheless, or if t itself was dropped.
func (f *Files) reserve(t *text, more int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts[t.ref] != t {
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

// leastUsed returns the least recently read text without current readers, or nil. f.mu must be held.
func (f *Files) leastUsed() *text {
	var least *text
	for _, t := range f.texts {
		if t.readers == 0 && (least == nil || t.lastRead.Before(least.lastRead)) {
			least = t
		}
	}
	return least
}

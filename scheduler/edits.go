package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"

	"golang.org/x/sync/errgroup"
)

// externalEdits collects the paths that somebody else may have changed in the registry.
// A path that is reported many times before it is read is read once.
type externalEdits struct {
	mu      sync.Mutex
	waiting map[string]bool
	order   []string
	tried   map[string]int // how often it could not be read
	retries map[*time.Timer]bool
}

// editsPerStep paths are read again before one step, editsAtOnce of them at a time, so
// that even 100,000 of them keep no fire waiting for more than a few milliseconds; and
// after a failure so much later, each time twice as much up to the most.
const (
	editsPerStep   = 128
	editsAtOnce    = 16
	editRetryFirst = 500 * time.Millisecond
	editRetryMost  = time.Minute
)

// collect takes paths until ctx ends, and rings when there are some. A nil changed
// never has any.
func (f *externalEdits) collect(ctx context.Context, changed <-chan string, ring func()) {
	for {
		select {
		case path, ok := <-changed:
			if !ok {
				return
			}
			f.add(path)
			ring()
		case <-ctx.Done():
			return
		}
	}
}

func (f *externalEdits) add(paths ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == nil {
		f.waiting = map[string]bool{}
	}
	for _, path := range paths {
		if !f.waiting[path] {
			f.waiting[path] = true
			f.order = append(f.order, path)
		}
	}
}

// take returns the next paths, and whether there are more.
func (f *externalEdits) take() (paths []string, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.order), editsPerStep)
	paths = slices.Clone(f.order[:n])
	f.order = f.order[n:]
	for _, path := range paths {
		delete(f.waiting, path)
	}
	if len(f.order) == 0 {
		f.order = nil
	}
	return paths, len(f.order) > 0
}

// retry puts paths back that could not be read, and rings, after the pause that it returns.
func (f *externalEdits) retry(paths []string, ring func()) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tried == nil {
		f.tried, f.retries = map[string]int{}, map[*time.Timer]bool{}
	}
	tries := 0
	for _, path := range paths {
		tries = max(tries, f.tried[path])
		f.tried[path]++
	}
	pause := core.Backoff(editRetryFirst, editRetryMost, tries)
	var timer *time.Timer
	timer = time.AfterFunc(pause, func() {
		f.mu.Lock()
		delete(f.retries, timer)
		f.mu.Unlock()
		f.add(paths...)
		ring()
	})
	f.retries[timer] = true
	return pause
}

// read keeps that a path was read.
func (f *externalEdits) read(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tried, path)
}

func (f *externalEdits) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for timer := range f.retries {
		timer.Stop()
	}
}

// readExternalEdits reads again what somebody else may have changed, some of it, and says
// what that means for the core. It runs between two steps, so what it
// reads is never older than this term's last commit.
func (r *termRunner) readExternalEdits(ctx context.Context) []core.Event {
	paths, more := r.edits.take()
	if more {
		r.inbox.ring()
	}
	if len(paths) == 0 {
		return nil
	}
	found := make([][]core.Event, len(paths))
	var failed []string
	var failure error
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(editsAtOnce)
	for i, path := range paths {
		group.Go(func() error {
			events, err := r.reload(ctx, path)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed, failure = append(failed, path), err
				return nil
			}
			r.edits.read(path)
			found[i] = events
			return nil
		})
	}
	_ = group.Wait() // never an error
	if failure != nil && ctx.Err() == nil && !r.hasEnded() {
		pause := r.edits.retry(failed, r.inbox.ring)
		r.s.opt.Logger.Warn("external edit not readable yet", "paths", len(failed), "again", pause, "error", failure)
	}
	return slices.Concat(found...)
}

// logExternalEdits logs the external edits that are in force now. The core reports those that can't be used (NoteFaulty).
func (r *termRunner) logExternalEdits(edits []core.Event) {
	for _, e := range edits {
		if edit, ok := core.EditOf(e); ok {
			r.s.opt.Logger.Info("external edit applied", "path", edit.Path, "edit", edit.What, edit.Kind, edit.Name)
		}
	}
}

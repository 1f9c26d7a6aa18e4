package term

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// externalEdits are the paths in the registry that other programs may have changed. A path that is reported many times
// before it is read is read once.
type externalEdits struct {
	waiting   []string
	isWaiting map[string]bool
	tried     map[string]int // how often each path could not be read since it was last read
	later     []laterEdits   // sorted by time
}

// laterEdits are paths that could not be read, and when they are tried again.
type laterEdits struct {
	at    time.Duration
	paths []string
}

// At most editsPerStep paths are read before one step, so that even 100,000 of them delay no fire by more than a few
// milliseconds. After a failure a path is read again with a delay that doubles each time, up to a maximum.
const (
	editsPerStep         = 128
	minEditRetryInterval = 500 * time.Millisecond
	maxEditRetryInterval = time.Minute
)

func newExternalEdits() externalEdits {
	return externalEdits{isWaiting: map[string]bool{}, tried: map[string]int{}}
}

// add adds paths to be read.
func (f *externalEdits) add(paths ...string) {
	for _, path := range paths {
		if !f.isWaiting[path] {
			f.isWaiting[path] = true
			f.waiting = append(f.waiting, path)
		}
	}
}

// next returns the next paths to read, at most editsPerStep.
func (f *externalEdits) next(now time.Duration) []string {
	for len(f.later) > 0 && f.later[0].at <= now {
		f.add(f.later[0].paths...)
		f.later = f.later[1:]
	}
	n := min(len(f.waiting), editsPerStep)
	paths := slices.Clone(f.waiting[:n])
	f.waiting = f.waiting[n:]
	if len(f.waiting) == 0 {
		f.waiting = nil
	}
	for _, path := range paths {
		delete(f.isWaiting, path)
	}
	return paths
}

// retry schedules another read of paths that could not be read, and returns the delay before it.
func (f *externalEdits) retry(now time.Duration, paths []string) time.Duration {
	tries := 0
	for _, path := range paths {
		tries = max(tries, f.tried[path])
		f.tried[path]++
	}
	delay := step.Backoff(minEditRetryInterval, maxEditRetryInterval, tries)
	at := now + delay
	after := slices.IndexFunc(f.later, func(l laterEdits) bool { return l.at > at })
	if after < 0 {
		after = len(f.later)
	}
	f.later = slices.Insert(f.later, after, laterEdits{at, paths})
	return delay
}

// Document is the result of reading a path. Err is the error of the registry.
type Document struct {
	Path  string
	Entry registry.Entry
	Err   error
}

// DocumentsRead answers a Read.
func (m *Machine) DocumentsRead(read []Document) {
	then := m.onRead
	m.onRead, m.answered = nil, func() { then(read) }
}

// editsRead returns the events for external edits. Paths that could not be read are tried again later, without
// delaying the others.
func (m *Machine) editsRead(read []Document) []core.Event {
	var found []core.Event
	var failed []string
	var failure error
	for _, doc := range read {
		events, err := m.reloaded(doc)
		if err != nil {
			failed, failure = append(failed, doc.Path), err
			continue
		}
		delete(m.edits.tried, doc.Path)
		found = append(found, events...)
	}
	if failure != nil {
		delay := m.edits.retry(m.now.Elapsed, failed)
		if !m.stopping {
			m.emit(Log{Problem: true, Message: "external edit not readable yet",
				Attrs: []any{"paths", len(failed), "retry", delay, "error", failure}})
		}
	}
	return found
}

// reloaded returns the events for a document that was read again. A path that is invalid for the registry counts as
// missing.
func (m *Machine) reloaded(doc Document) ([]core.Event, error) {
	missing := errors.Is(doc.Err, registry.ErrNotFound) || errors.Is(doc.Err, registry.ErrBadPath)
	if doc.Err != nil && !missing {
		return nil, fmt.Errorf("read %s again: %w", doc.Path, doc.Err)
	}
	return m.core.Reloaded(doc.Path, doc.Entry, !missing), nil
}

// logExternalEdits logs the external edits that are in force now. The core reports those that cannot be used
// (NoteFaulty).
func (m *Machine) logExternalEdits(edits []core.Event) {
	for _, e := range edits {
		if edit, ok := config.EditOf(e); ok {
			m.emit(Log{Message: "external edit applied",
				Attrs: []any{"path", edit.Path, "edit", edit.What, edit.Kind, edit.Name}})
		}
	}
}

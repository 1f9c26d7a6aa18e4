package config

import (
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Mark is the meaning of the disabled mark of an app or a job. The zero value is no mark.
type Mark int

const (
	notMarked Mark = iota
	// MarkedDisabled disables an app or a job, and kills its executions (rule F6).
	MarkedDisabled
	// markedShutdown disables a job and lets its launched executions run to their end (rule F11).
	markedShutdown
)

// shutdownMark is the value of a mark that shuts its job down. Any other value disables the job; the original writes
// the job's name.
const shutdownMark = "shutdown"

// Disables reports whether the mark keeps an app's jobs, or a job, from making fires.
func (m Mark) Disables() bool { return m != notMarked }

// markFor returns the mark of an app or job that is disabled, or shut down if shutdown is set, too.
func markFor(disabled, shutdown bool) Mark {
	switch {
	case disabled && shutdown:
		return markedShutdown
	case disabled:
		return MarkedDisabled
	}
	return notMarked
}

// MarkOf decodes the mark that is stored at a path. The mark of an app can only disable it.
func MarkOf(path string, value []byte) Mark {
	dir, _ := store.Split(path)
	return markFor(true, dir == store.PathJobDisabled && string(value) == shutdownMark)
}

// value returns the stored value of this mark for the app or job with that name.
func (m Mark) value(name string) []byte {
	switch {
	case m == markedShutdown:
		return []byte(shutdownMark)
	case name == shutdownMark:
		return []byte("disabled") // a job may have the name "shutdown"
	}
	return []byte(name)
}

// SetMark sets the disabled mark at a path, or removes it, together with a fault there, if m does not disable.
func (k *Set) SetMark(path string, m Mark) {
	if m.Disables() {
		k.marked[path] = m
		return
	}
	delete(k.marked, path)
	delete(k.faulty, path)
}

// putMark adds the write that sets or removes a disabled mark.
func (p *Planned) putMark(dir, name string, m Mark) {
	p.Writes = append(p.Writes, registry.Write{Path: store.Under(dir, name), Value: m.value(name),
		Delete: !m.Disables()})
}

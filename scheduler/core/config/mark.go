package config

import (
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// mark is what the disabled mark of an app or a job says.
type Mark int

const (
	notMarked Mark = iota
	MarkedDisabled
	// markedShutdown disables a job without killing what was launched of it (rule F11).
	markedShutdown
)

// shutdownMark is the value of a mark that shuts its job down. One of any other value disables: the original writes the name.
const shutdownMark = "shutdown"

// disables reports whether an app or job with that mark makes no fires.
func (m Mark) Disables() bool { return m != notMarked }

func markWhen(disabled, shutdown bool) Mark {
	switch {
	case disabled && shutdown:
		return markedShutdown
	case disabled:
		return MarkedDisabled
	}
	return notMarked
}

// markOf reads a mark as it is stored at a path. An app has no other than a plain one.
func MarkOf(path string, value []byte) Mark {
	dir, _ := store.Split(path)
	return markWhen(true, dir == store.PathJobDisabled && string(value) == shutdownMark)
}

// value is what is stored as the mark of that name.
func (m Mark) value(name string) []byte {
	switch {
	case m == markedShutdown:
		return []byte(shutdownMark)
	case name == shutdownMark:
		return []byte("disabled") // a job may be called so
	}
	return []byte(name)
}

// setMark remembers what the disabled mark at a path says.
func (k *Set) SetMark(path string, m Mark) {
	if m.Disables() {
		k.marked[path] = m
		return
	}
	delete(k.marked, path)
	delete(k.faulty, path)
}

// putMark has a change put or remove a disabled mark.
func (p *Planned) putMark(dir, name string, m Mark) {
	p.Writes = append(p.Writes, registry.Write{Path: store.Under(dir, name), Value: m.value(name), Delete: !m.Disables()})
}

package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// store is the registry: its entries, and the term whose commits it accepts. Some of its servers lag behind the last
// writes. log has the values that the last writes replaced, so that reads can return the state of a server that lags.
type store struct {
	clock   func() time.Duration
	entries map[string]registry.Entry
	term    int64
	log     []replaced
	index   int64 // of the last write
}

// replaced is the value at a path before a write.
type replaced struct {
	index int64
	at    time.Duration
	path  string
	entry registry.Entry
	there bool
}

// maxLag is the maximum lag of a server.
const maxLag = 3 * time.Second

// indexBefore returns the index that a server with that lag has reached.
func (s *store) indexBefore(lag time.Duration) int64 {
	for i := len(s.log) - 1; i >= 0; i-- {
		if s.log[i].at <= s.clock()-lag {
			return s.log[i].index
		}
	}
	if len(s.log) > 0 {
		return s.log[0].index - 1
	}
	return s.index
}

// entryAt returns the entry that a server at an index has.
func (s *store) entryAt(path string, index int64) (registry.Entry, bool) {
	entry, there := s.entries[path]
	for i := len(s.log) - 1; i >= 0 && s.log[i].index > index; i-- {
		if s.log[i].path == path {
			entry, there = s.log[i].entry, s.log[i].there
		}
	}
	return entry, there
}

// listAt returns all entries below the paths that a server at an index has.
func (s *store) listAt(index int64, paths ...string) []registry.Entry {
	old := &store{clock: s.clock, entries: maps.Clone(s.entries)}
	for i := len(s.log) - 1; i >= 0 && s.log[i].index > index; i-- {
		if r := s.log[i]; r.there {
			old.entries[r.path] = r.entry
		} else {
			delete(old.entries, r.path)
		}
	}
	return old.list(paths...)
}

// remember stores the value that a write replaces.
func (s *store) remember(path string) {
	if len(s.log) > 2000 && s.log[1000].at < s.clock()-maxLag {
		s.log = slices.Clone(s.log[1000:])
	}
	s.index++
	entry, there := s.entries[path]
	s.log = append(s.log, replaced{s.index, s.clock(), path, entry, there})
}

// commit makes all writes or none, as registry.Term.Commit does.
func (s *store) commit(term int64, writes []registry.Write) error {
	if term != s.term {
		return registry.ErrTermEnded
	}
	// A condition would see earlier writes of the same commit. That makes no difference here, because no commit writes
	// a path twice.
	for _, wr := range writes {
		e, there := s.entries[wr.Path]
		if !wr.If.Met(there, e.Version) {
			return &registry.Conflict{Path: wr.Path}
		}
	}
	for _, wr := range writes {
		if wr.Delete {
			s.remove(wr.Path)
			continue
		}
		s.put(wr.Path, wr.Value)
	}
	return nil
}

func (s *store) remove(path string) {
	s.remember(path)
	delete(s.entries, path)
}

func (s *store) put(path string, value []byte) {
	s.remember(path)
	e, there := s.entries[path]
	version := int64(0)
	if there {
		version = e.Version + 1
	}
	s.entries[path] = registry.Entry{Path: path, Value: value, Version: version}
}

// list returns all entries below the paths: path by path, and sorted below each path.
func (s *store) list(paths ...string) []registry.Entry {
	var out []registry.Entry
	for _, path := range paths {
		from := len(out)
		for p, e := range s.entries {
			if strings.HasPrefix(p, path+"/") {
				out = append(out, e)
			}
		}
		slices.SortFunc(out[from:], func(a, b registry.Entry) int { return strings.Compare(a.Path, b.Path) })
	}
	return out
}

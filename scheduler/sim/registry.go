package sim

import (
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/registry"
)

// store is the registry: entries, and the term whose commits it takes.
type store struct {
	entries map[string]registry.Entry
	term    int64
	commits int64
}

func newStore() *store { return &store{entries: map[string]registry.Entry{}} }

// commit makes all writes or none, as registry.Term.Commit does.
func (s *store) commit(term int64, writes []registry.Write) error {
	if term != s.term {
		return registry.ErrTermOver
	}
	// Conditions see earlier writes of the same commit; ours have at most one write per path.
	for _, wr := range writes {
		e, there := s.entries[wr.Path]
		if !wr.If.Met(there, e.Version) {
			return &registry.Conflict{Path: wr.Path}
		}
	}
	for _, wr := range writes {
		if wr.Delete {
			delete(s.entries, wr.Path)
			continue
		}
		s.put(wr.Path, wr.Value)
	}
	s.commits++
	return nil
}

func (s *store) put(path string, value []byte) {
	e, there := s.entries[path]
	version := int64(0)
	if there {
		version = e.Version + 1
	}
	s.entries[path] = registry.Entry{Path: path, Value: value, Version: version}
}

// list is all entries below the paths, in their order, each sorted.
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

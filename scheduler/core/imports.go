package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/store"

// importEntry is an entry of the original's queues.
type importEntry struct {
	path, job, item, value string
}

// imports are the entries of the original: those found when the term was loaded, and those that became ours.
type imports struct {
	found []importEntry
	done  []string
}

// took notes entries that became ours: the commit that writes what they became removes them.
func (m *imports) took(paths ...string) { m.done = append(m.done, paths...) }

func (m *imports) write(r *store.Commit) {
	for _, path := range m.done {
		r.Remove(path)
	}
	m.done = nil
}

package imports

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// importEntry is an entry of the original's queues.
type importEntry struct {
	path, job, item, value string
}

// Imports are the entries of the original: those found when the term was loaded, and those that became ours.
type Imports struct {
	*state.State
	found []importEntry
	done  []string
}

// Took notes entries that became ours: the commit that writes what they became removes them.
func (m *Imports) Took(paths ...string) { m.done = append(m.done, paths...) }

// write removes them.
func (m *Imports) Write(r *store.Commit) {
	for _, path := range m.done {
		r.Remove(path)
	}
	m.done = nil
}

func New(s *state.State) *Imports { return &Imports{State: s} }

// Package imports takes over the entries that the original scheduler (ElasticJob-Cloud) left in its queues below
// /state/ready, /state/failover and /state/running. An Imports owns the entries that were found there, and the list of
// those that are to be removed. Queues turns the entries into executions, or passes them to a takeover, which waits
// for the end of their tasks (package subscription). The commit that writes the executions removes the entries, so
// that a crash neither loses an entry nor runs it twice. The package reads the queues only when a term begins.
package imports

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// importEntry is one entry of the original's queues. item is the last part of its path; it is "" for an entry that
// only names a job or groups its other entries.
type importEntry struct {
	path, job, item, value string
}

// Imports holds the entries of the original's queues. found are the loaded entries that Queues has not processed yet;
// done are the paths of those that the next commit removes.
type Imports struct {
	st    *state.State
	found []importEntry
	done  []string
}

// RemoveEntries removes entries, by their paths, with the commit of the step, because they were taken over.
func (im *Imports) RemoveEntries(paths ...string) { im.done = append(im.done, paths...) }

// Write adds the removals that RemoveEntries has requested to the commit of the step.
func (im *Imports) Write(r *store.Commit) {
	for _, path := range im.done {
		r.Remove(path)
	}
	im.done = nil
}

// New returns an Imports without entries. Restore adds those of the registry.
func New(s *state.State) *Imports { return &Imports{st: s} }

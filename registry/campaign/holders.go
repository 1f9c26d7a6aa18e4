package campaign

import (
	"slices"
	"sync"
)

// maxHolders is more than what shows who leads may be behind: a follower, or a store that was restored.
const maxHolders = 100

// Holders are the names that this process has stood for election under lately. It leads with its current term only:
// its others are over, or never began, and must not be shown as the leader, least of all by itself. Its methods may be
// called concurrently; its zero value is ready.
type Holders struct {
	mu    sync.Mutex
	names []string
}

// Add keeps that the lead may be this process's under that name.
func (h *Holders) Add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names = append(h.names, name)
	h.names = h.names[max(0, len(h.names)-maxHolders):]
}

// Has reports whether a name is one of this process.
func (h *Holders) Has(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.names, name)
}

// Any reports whether this process has stood for election.
func (h *Holders) Any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.names) > 0
}

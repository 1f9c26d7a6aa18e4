package campaign

import (
	"slices"
	"sync"
)

// maxHolders exceeds the number of terms by which a follower or a restored store can be behind.
const maxHolders = 100

// Holders records the names under which this process stood for election recently. This process leads only in its
// current term. A lease under any other of these names belongs to a term that has ended or never began, so it must not
// be reported as the leader. The methods may be called concurrently; the zero value is ready for use.
type Holders struct {
	mu    sync.Mutex
	names []string
}

// Add records a name under which this process may come to lead.
func (h *Holders) Add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names = append(h.names, name)
	h.names = h.names[max(0, len(h.names)-maxHolders):]
}

// Has reports whether this process has stood for election under the name.
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

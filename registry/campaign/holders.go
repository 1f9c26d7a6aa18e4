package campaign

import (
	"slices"
	"sync"
)

// maxHolders is the number of recorded names. A follower or a restored registry is never so many terms behind.
const maxHolders = 100

// Holders records the names under which this process has recently stood for election. If the observed leader has one
// of these names, and the process is not in a term, then the term of that name has ended or never began, and the
// process must not report itself as the leader. The methods may be called concurrently; the zero value is ready for
// use.
type Holders struct {
	mu    sync.Mutex
	names []string
}

// Add records a name under which this process stands for election.
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

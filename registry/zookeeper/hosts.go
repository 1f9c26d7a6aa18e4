package zookeeper

import (
	"context"
	"sync"
	"time"
)

// hosts is the order in which servers are tried. Names are looked up at each
// try, since addresses change while a process runs for months.
type hosts struct {
	servers []string
	ctx     context.Context

	mu    sync.Mutex
	next  int
	tries int // since the last session
}

func (h *hosts) Init([]string) error { return nil }
func (h *hosts) Len() int            { return len(h.servers) }

// Next may wait, since only its caller needs the lock that the library holds: when all
// servers were tried in vain the first pauses are short, and each later one is the library's second.
func (h *hosts) Next() (server string, wait bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next%len(h.servers)]
	round := h.tries / len(h.servers)
	again := h.tries > 0 && h.tries%len(h.servers) == 0
	h.next++
	h.tries++
	if again && round > 3 || h.ctx.Err() != nil {
		return server, true
	}
	if again {
		select {
		case <-time.After(50 * time.Millisecond << round):
		case <-h.ctx.Done():
		}
	}
	return server, false
}

func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries = 0
}

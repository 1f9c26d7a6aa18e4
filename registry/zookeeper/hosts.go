package zookeeper

import (
	"context"
	"sync"
	"time"
)

// hosts is the order in which the library tries servers. Names are looked up at each
// try, since addresses change while a process runs for months.
type hosts struct {
	servers []string
	ctx     context.Context

	mu    sync.Mutex
	next  int
	tries int // since the last answer
}

func (h *hosts) Init([]string) error { return nil }
func (h *hosts) Len() int            { return len(h.servers) }

// Next may wait, since only its caller needs the lock that the library holds. When all
// servers were tried and none answered, the first pauses are short, and each later one is the library's second: a
// session that lives must not end for want of a try. The first server after one that answered is tried at once, and so
// are the others of a round.
func (h *hosts) Next() (server string, wait bool) {
	h.mu.Lock()
	server = h.servers[h.next%len(h.servers)]
	round := h.tries / len(h.servers)
	again := h.tries > 0 && h.tries%len(h.servers) == 0
	h.next++
	h.tries++
	h.mu.Unlock()
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

// Connected is called at a session, which says little: some peers grant one and hang up.
func (h *hosts) Connected() {}

// answered says that the server has answered a request.
func (h *hosts) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries = 0
}

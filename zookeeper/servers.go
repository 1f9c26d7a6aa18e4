package zookeeper

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// ParseServers reads "h1:2181,h2:2181"; the port is 2181 where none is given.
func ParseServers(list string) (servers []string, err error) {
	for server := range strings.SplitSeq(list, ",") {
		server = strings.TrimSpace(server)
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			host, port = strings.Trim(server, "[]"), "2181"
		}
		if host == "" || port == "" || strings.ContainsAny(host, " \t") {
			return nil, fmt.Errorf("%q is no ZooKeeper server: write host or host:port", server)
		}
		servers = append(servers, net.JoinHostPort(host, port))
	}
	return servers, nil
}

// rotation is the order in which the library tries servers. Names are looked up at each
// try, since addresses change while a process runs for months.
type rotation struct {
	servers []string
	ctx     context.Context

	mu    sync.Mutex
	next  int
	tries int // since the last answer
}

// Init is for providers that look names up at the start.
func (r *rotation) Init([]string) error { return nil }

// Len is how many servers there are.
func (r *rotation) Len() int { return len(r.servers) }

// Next is the next server, and whether the library waits a second before it tries it. When all
// servers were tried and none answered, the first pauses are shorter than that: a
// session that lives must not end for want of a try. The first server after one that answered is tried at once, and so
// are the others of a round. Next may wait, since only its caller needs the lock that the library holds.
func (r *rotation) Next() (server string, wait bool) {
	r.mu.Lock()
	server = r.servers[r.next%len(r.servers)]
	round := r.tries / len(r.servers)
	again := r.tries > 0 && r.tries%len(r.servers) == 0
	r.next++
	r.tries++
	r.mu.Unlock()
	if again && round > 3 || r.ctx.Err() != nil {
		return server, true
	}
	if again {
		select {
		case <-time.After(50 * time.Millisecond << round):
		case <-r.ctx.Done():
		}
	}
	return server, false
}

// Connected is called at a session, which says little: some peers grant one and hang up.
func (r *rotation) Connected() {}

// answered says that the server has answered a request.
func (r *rotation) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries = 0
}

// exhausted reports whether each server was tried since the last answer.
func (r *rotation) exhausted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries >= len(r.servers)
}

package zookeeper

import (
	"fmt"
	"net"
	"strings"
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

// rotation is the order in which the library tries a client's servers. Names are looked up at each
// try, since addresses change while a process runs for months.
type rotation struct{ *Client }

// Init is for providers that look names up at the start.
func (r rotation) Init([]string) error { return nil }

// Len is how many servers there are.
func (r rotation) Len() int { return len(r.opt.Servers) }

// Next is the next server, and whether the library waits a second before it tries it. When all
// servers were tried and none answered, the first pauses are shorter than that: a
// session that lives must not end for want of a try. The first server after one that answered is tried at once, and so
// are the others of a round. Next may wait, since only its caller needs the lock that the library holds.
func (r rotation) Next() (server string, wait bool) {
	r.mu.Lock()
	server = r.opt.Servers[r.next%r.Len()]
	round := r.tries / r.Len()
	again := r.tries > 0 && r.tries%r.Len() == 0
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
func (r rotation) Connected() {}

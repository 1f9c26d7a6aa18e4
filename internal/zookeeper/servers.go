package zookeeper

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// ParseServers parses "h1:2181,h2:2181". The default port is 2181.
func ParseServers(list string) (servers []string, err error) {
	for server := range strings.SplitSeq(list, ",") {
		server = strings.TrimSpace(server)
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			host, port = strings.Trim(server, "[]"), "2181"
		}
		if host == "" || port == "" || strings.ContainsAny(host, " \t") {
			return nil, fmt.Errorf("%q is not a ZooKeeper server: it must be host or host:port", server)
		}
		servers = append(servers, net.JoinHostPort(host, port))
	}
	return servers, nil
}

// rotation is the order in which the library tries a client's servers. It resolves names at each try, because
// addresses change while a process runs for months.
type rotation struct{ *Client }

// Init does nothing, because names are resolved at each try.
func (r rotation) Init([]string) error { return nil }

// Len returns the number of servers.
func (r rotation) Len() int { return len(r.opt.Servers) }

// Next returns the next server, and whether the library must wait a second before it tries that server. The servers of
// a round are tried without a pause. Before another round, the first pauses are shorter than a second, so that a live
// session does not end for lack of a try; Next makes these pauses itself. It may block, because only its caller needs
// the lock that the library holds.
func (r rotation) Next() (server string, wait bool) {
	r.mu.Lock()
	server = r.opt.Servers[r.next%r.Len()]
	round := r.tries / r.Len()
	startsRound := r.tries > 0 && r.tries%r.Len() == 0
	r.next++
	r.tries++
	r.mu.Unlock()
	if startsRound && round > 3 || r.ctx.Err() != nil {
		return server, true
	}
	if startsRound {
		select {
		case <-time.After(50 * time.Millisecond << round):
		case <-r.ctx.Done():
		}
	}
	return server, false
}

// Connected does nothing. A session does not prove that a server works, because some peers grant sessions and hang up.
func (r rotation) Connected() {}

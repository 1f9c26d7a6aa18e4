package mesos

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkSession is how long ZooKeeper keeps our session without us, as long as a Mesos
// master's own detector has it. We keep nothing in ZooKeeper: it only bounds how late
// a dead server is noticed.
const zkSession = 10 * time.Second

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// zkConn is zk.Conn with what it lacks: the reason why it gets no connection, and an
// end that waits for nobody.
type zkConn struct {
	*zk.Conn

	log *slog.Logger

	mu      sync.Mutex
	last    error
	raw     net.Conn
	address string // of raw
}

// connectZK opens a connection in the background; events closes when it and its goroutines have ended.
func connectZK(ctx context.Context, servers []string, dial dialer, log *slog.Logger) (*zkConn, <-chan zk.Event, error) {
	c := &zkConn{log: log}
	conn, events, err := zk.Connect(servers, zkSession,
		zk.WithHostProvider(&rotation{}),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			raw, err := dial(ctx, network, address)
			if err == nil {
				raw = impatient{raw}
			}
			c.dialed(raw, address)
			return raw, err
		}),
		zk.WithLogInfo(false), zk.WithLogger(c),
	)
	c.Conn = conn
	return c, events, err
}

func (c *zkConn) dialed(raw net.Conn, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.address = raw, address
}

// Printf takes what the library logs, which is errors only: it is the only place that says why there is no session.
func (c *zkConn) Printf(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	c.log.Debug("zookeeper: " + text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = fmt.Errorf("%s: %s (is it a ZooKeeper server, and one of a majority?)", c.address, text)
}

// lastError is why there is no session, as far as that is known.
func (c *zkConn) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// cut closes the connection under zk.Conn, which may wait for a silent server.
func (c *zkConn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw != nil {
		_ = c.raw.Close()
	}
}

// impatient gives a server that takes connections and grants no session less time than zk.Conn, which waits for several
// session timeouts.
type impatient struct{ net.Conn }

func (c impatient) SetReadDeadline(t time.Time) error {
	if time.Until(t) > zkSession {
		t = time.Now().Add(zkSession * 2 / 3)
	}
	return c.Conn.SetReadDeadline(t)
}

// rotation tries the servers in turn, by name: zk's own provider looks all names up
// once, at the start, and fails when one of them is unknown.
type rotation struct {
	mu         sync.Mutex
	servers    []string
	next, last int
}

// Init takes the servers.
func (r *rotation) Init(servers []string) error {
	r.servers, r.last = servers, len(servers)-1
	return nil
}

// Len is how many there are.
func (r *rotation) Len() int { return len(r.servers) }

// Next is the next server, and whether all were tried since the last success.
func (r *rotation) Next() (server string, round bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server = r.servers[r.next%len(r.servers)]
	round = r.next > r.last
	if round {
		r.last = r.next + len(r.servers) - 1
	}
	r.next++
	return server, round
}

// Connected says that the last one answered.
func (r *rotation) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.next + len(r.servers) - 1
}

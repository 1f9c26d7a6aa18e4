package mesos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkSession is how long ZooKeeper keeps our session without us, as long as a Mesos
// master's own detector has it. We keep nothing in ZooKeeper: it only bounds how late
// a dead server is noticed.
const zkSession = 10 * time.Second

// maxHandshake is more than a server answers to the opening of a session: 37 bytes.
const maxHandshake = 4 << 10

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// zkConn is zk.Conn with what it lacks: the reason why it gets no connection, and an
// end that waits for nobody.
type zkConn struct {
	*zk.Conn

	mu   sync.Mutex
	last error
	raw  net.Conn
}

// connectZK opens a connection in the background; events closes when it and its goroutines have ended.
func connectZK(ctx context.Context, servers []string, dial dialer, log *slog.Logger) (*zkConn, <-chan zk.Event, error) {
	c := &zkConn{}
	conn, events, err := zk.Connect(servers, zkSession,
		zk.WithHostProvider(&rotation{}),
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			raw, err := dial(ctx, network, address)
			if err == nil {
				raw = &handshake{Conn: raw, owner: c}
			}
			c.dialed(raw, err)
			return raw, err
		}),
		zk.WithLogInfo(false), zk.WithLogger(zkLog{log}),
	)
	c.Conn = conn
	return c, events, err
}

func (c *zkConn) dialed(raw net.Conn, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = raw
	if err != nil {
		c.last = err
	}
}

func (c *zkConn) tell(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = err
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

// handshake watches over a session's opening: zk.Conn would wait for ten times the
// usual time, and takes as much memory as the first four bytes of whatever answers say.
type handshake struct {
	net.Conn
	owner *zkConn
	begun bool // the first answer's length was read
}

func (h *handshake) SetReadDeadline(t time.Time) error {
	if soonest := time.Now().Add(zkSession * 2 / 3); !h.begun && t.After(soonest) {
		t = soonest
	}
	return h.Conn.SetReadDeadline(t)
}

func (h *handshake) Read(p []byte) (int, error) {
	if h.begun || len(p) != 4 {
		return h.Conn.Read(p)
	}
	n, err := io.ReadFull(h.Conn, p)
	if err == nil && binary.BigEndian.Uint32(p) > maxHandshake {
		err = fmt.Errorf("%s is no ZooKeeper: it answers %q", h.RemoteAddr(), p)
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%s closes connections: no ZooKeeper, or one without a quorum: %w", h.RemoteAddr(), err)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%s takes connections and says nothing: no ZooKeeper, or one that hangs: %w", h.RemoteAddr(), err)
	}
	h.owner.tell(err)
	h.begun = err == nil
	return n, err
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

// zkLog passes what zk says on, for those who look for it.
type zkLog struct{ log *slog.Logger }

// Printf logs.
func (l zkLog) Printf(format string, args ...any) {
	l.log.Debug("zookeeper: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}

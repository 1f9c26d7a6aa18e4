package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// cable is the dialer of a registry. A test can freeze its connections, cut them, or break them at a commit, and can
// read their session ids.
type cable struct {
	mu     sync.Mutex
	conns  map[*plug]bool
	frozen chan struct{} // if not nil, no traffic passes until it is closed
	dead   bool          // no traffic passes any more
	// at maps the type of a request to the function that handles its next packet.
	at map[uint32]func(*plug, []byte) (int, error)
}

const (
	opCreate = 1
	opMulti  = 14
)

func newCable() *cable {
	return &cable{conns: map[*plug]bool{}, at: map[uint32]func(*plug, []byte) (int, error){}}
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := c.awaitThaw(ctx); err != nil {
		return nil, err
	}
	if c.isDead() {
		return nil, errCable
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	p := &plug{Conn: conn, cable: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[p] = true
	return p, nil
}

// freeze stops all traffic, as SIGSTOP stops a process. resume lets it continue.
func (c *cable) freeze() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frozen := make(chan struct{})
	c.frozen = frozen
	return sync.OnceFunc(func() {
		c.mu.Lock()
		c.frozen = nil
		c.mu.Unlock()
		close(frozen)
	})
}

// awaitThaw waits while the cable is frozen.
func (c *cable) awaitThaw(ctx context.Context) error {
	c.mu.Lock()
	frozen := c.frozen
	c.mu.Unlock()
	if frozen == nil {
		return nil
	}
	select {
	case <-frozen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cut breaks all connections.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.conns {
		_ = p.Conn.Close()
	}
}

// cutAt breaks all connections at the nth commit from now on, and ends the session. If arrives is true, the server
// makes that commit first; otherwise the request is lost.
func (c *cable) cutAt(t testing.TB, client *zk.Conn, address, root string, n int,
	arrives bool) (struck <-chan struct{}) {
	done := make(chan struct{})
	var count func(p *plug, packet []byte) (int, error)
	count = func(p *plug, packet []byte) (int, error) {
		if n--; n > 0 {
			c.onMulti(count)
			return p.Conn.Write(packet)
		}
		c.mu.Lock()
		c.dead = true
		c.mu.Unlock()
		sessions := c.sessions()
		if arrives {
			before, _, err := client.Get(root + "/registry/fence")
			if err != nil {
				t.Error(err)
			}
			if _, err := p.Conn.Write(packet); err != nil {
				t.Error(err)
			}
			eventually(t, "the server's commit", func() bool {
				now, _, err := client.Get(root + "/registry/fence")
				return err == nil && string(now) != string(before)
			})
		}
		for _, session := range sessions {
			expire(t, address, session)
		}
		c.cut()
		close(done)
		return 0, errCable
	}
	c.onMulti(count)
	return done
}

func (c *cable) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// onMulti passes the next Multi's packet to f instead of the server.
func (c *cable) onMulti(f func(p *plug, packet []byte) (int, error)) { c.on(opMulti, f) }

// on passes the next packet with this type of request to f instead of the server.
func (c *cable) on(op uint32, f func(p *plug, packet []byte) (int, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[op] = f
}

// sessions returns the session ids and passwords of the latest connections.
func (c *cable) sessions() (all [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.conns {
		if len(p.greeting) >= 40 {
			all = append(all, p.greeting[12:40])
		}
	}
	return all
}

type plug struct {
	net.Conn
	cable    *cable
	greeting []byte
}

func (p *plug) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if err := p.cable.awaitThaw(context.Background()); err != nil {
		return 0, err
	}
	p.cable.mu.Lock()
	defer p.cable.mu.Unlock()
	if p.cable.dead {
		return 0, errCable
	}
	if len(p.greeting) < 40 {
		p.greeting = append(p.greeting, b[:n]...)
	}
	return n, err
}

func (p *plug) Write(b []byte) (int, error) {
	if err := p.cable.awaitThaw(context.Background()); err != nil {
		return 0, err
	}
	if p.cable.isDead() {
		return 0, errCable
	}
	if len(b) >= 12 {
		op := binary.BigEndian.Uint32(b[8:])
		p.cable.mu.Lock()
		f := p.cable.at[op]
		delete(p.cable.at, op)
		p.cable.mu.Unlock()
		if f != nil {
			return f(p, b)
		}
	}
	return p.Conn.Write(b)
}

func (p *plug) Close() error {
	p.cable.mu.Lock()
	defer p.cable.mu.Unlock()
	delete(p.cable.conns, p)
	return p.Conn.Close()
}

var errCable = errors.New("the cable was cut")

// expire ends a session as its owner would, and returns when the server has forgotten it. Until then the owner, whose
// connection this breaks, could resume the session.
func expire(t testing.TB, address string, session []byte) {
	t.Helper()
	hello := binary.BigEndian.AppendUint32(nil, 44)
	hello = append(hello, make([]byte, 4+8)...)
	hello = binary.BigEndian.AppendUint32(hello, 4000)
	hello = append(hello, session...) // id, and password with its length
	eventually(t, "the session to be forgotten", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer conn.Close()
		_, _ = conn.Write(hello)
		_ = conn.SetReadDeadline(time.Now().Add(eventTimeout))
		greeting := make([]byte, 40)
		if _, err := io.ReadFull(conn, greeting); err != nil {
			return false
		}
		if binary.BigEndian.Uint64(greeting[12:]) == 0 {
			return true // the session no longer exists
		}
		_, _ = conn.Write([]byte{0, 0, 0, 8, 0, 0, 0, 1, 255, 255, 255, 245})
		_, _ = io.Copy(io.Discard, conn)
		return false
	})
}

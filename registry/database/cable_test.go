package database

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

// cable makes connections that can be cut at the nth request of a commit. Requests of commits are those on a
// connection that has sent an update of the fence.
type cable struct {
	mu      sync.Mutex
	armed   bool
	left    int
	arrives bool
	struck  chan struct{}
	all     []*wire
	hole    []byte // the connection that sends this text loses all further traffic in both directions
}

// wire is one connection.
type wire struct {
	net.Conn
	cable   *cable
	commits bool // it has sent an update of the fence
	deaf    bool // the answer to the request that arrived is dropped
	swallow bool // all its traffic is dropped
	closed  chan struct{}
	closing sync.Once
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.struck != nil && c.left <= 0 {
		return nil, net.ErrClosed
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, cable: c, closed: make(chan struct{})}
	c.all = append(c.all, w)
	return w, nil
}

// arm cuts all connections at the nth request from now on; if arrives is true, after the database has answered it.
func (c *cable) arm(n int, arrives bool) (struck <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.left, c.arrives, c.struck = true, n, arrives, make(chan struct{})
	return c.struck
}

// dig drops all traffic of the next connection that sends the text, as if the host had disappeared. The request itself
// arrives if arrives is true.
func (c *cable) dig(at string, arrives bool) (struck <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hole, c.arrives, c.left, c.struck = []byte(at), arrives, 1, make(chan struct{})
	return c.struck
}

func (w *wire) Write(b []byte) (int, error) {
	c := w.cable
	c.mu.Lock()
	if c.hole != nil && bytes.Contains(b, c.hole) {
		c.hole, w.swallow = nil, true
		close(c.struck)
		if c.arrives {
			_, _ = w.Conn.Write(b)
		}
	}
	if w.swallow {
		c.mu.Unlock()
		return len(b), nil
	}
	w.commits = w.commits || bytes.Contains(b[:min(len(b), 200)], []byte("UPDATE REGISTRY_FENCE SET changes"))
	if !c.armed || !w.commits {
		c.mu.Unlock()
		return w.Conn.Write(b)
	}
	c.left--
	if c.left > 0 {
		c.mu.Unlock()
		return w.Conn.Write(b)
	}
	c.armed = false
	if !c.arrives {
		c.cut()
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	w.deaf = true
	c.mu.Unlock()
	return w.Conn.Write(b)
}

// Read cuts all connections when the answer comes that must be lost.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.cable.mu.Lock()
	if w.swallow {
		w.cable.mu.Unlock()
		<-w.closed
		return 0, net.ErrClosed
	}
	defer w.cable.mu.Unlock()
	if w.deaf {
		w.deaf = false
		w.cable.cut()
		return 0, net.ErrClosed
	}
	return n, err
}

func (w *wire) Close() error {
	w.closing.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// cut closes all connections. The caller holds mu.
func (c *cable) cut() {
	c.left = 0
	for _, w := range c.all {
		_ = w.Conn.Close()
	}
	close(c.struck)
}

// TestCommitInABlackHole checks that when the database's host disappears while others at its address answer, a commit
// is delayed by at most the timeout of a request, and is made exactly once.
func TestCommitInABlackHole(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"UPDATE REGISTRY_FENCE SET changes", "SELECT path, version FROM"} {
		for _, arrives := range []bool{false, true} {
			t.Run(fmt.Sprint(at, arrives), func(t *testing.T) {
				t.Parallel()
				wires := &cable{}
				_, term := lead(t, Options{DSN: shared.Server(t).Database(t), Dial: wires.dial})
				struck := wires.dig(at, arrives)
				result := make(chan error, 1)
				go func() {
					result <- term.Commit(t.Context(),
						[]registry.Write{write("/b", "1"), {Path: "/a", Value: []byte("1"), If: registry.Absent()}})
				}()
				<-struck
				eventually.Works(t, "the commit ends", func() error {
					select {
					case err := <-result:
						result <- err
						return nil
					default:
						return fmt.Errorf("it hangs; term: %v", term.Err())
					}
				})
				if err := <-result; err != nil {
					t.Fatal(err)
				}
				if e, err := term.Get(t.Context(), "/b"); err != nil || e.Version != 0 {
					t.Errorf("version %d, %v", e.Version, err)
				}
			})
		}
	}
}

// TestRenewalInABlackHole checks that the lease is renewed on another connection, whichever request stayed unanswered.
func TestRenewalInABlackHole(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"UPDATE REGISTRY_LEASE SET renewals", "\x03COMMIT"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			wires := &cable{}
			_, term := lead(t, Options{DSN: shared.Server(t).Database(t), Dial: wires.dial})
			<-wires.dig(at, true)
			before := term.until.Load()
			eventually.Works(t, "the lease is renewed", func() error {
				if err := term.Err(); err != nil {
					t.Fatal(err)
				}
				if now := term.until.Load(); now < before+int64(2*lease) {
					return fmt.Errorf("until %d, was %d", now, before)
				}
				return nil
			})
		})
	}
}

// TestReadInABlackHole checks that a read whose answer stops coming ends with an error.
func TestReadInABlackHole(t *testing.T) {
	t.Parallel()
	wires := &cable{}
	_, term := lead(t, Options{DSN: shared.Server(t).Database(t), Dial: wires.dial})
	commit(t, term, write("/a", "1"))
	wires.dig("SELECT f.term AS term", true)
	result := make(chan error, 1)
	go func() {
		_, err := term.List(t.Context(), "/")
		result <- err
	}()
	eventually.Works(t, "the read ends", func() error {
		select {
		case err := <-result:
			if err == nil {
				t.Error("it was answered")
			}
			return nil
		default:
			return fmt.Errorf("it hangs; term: %v", term.Err())
		}
	})
	wantValue(t, term, "/a", "1")
}

package netproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

const deadline = 10 * time.Second

// echo starts a server that returns each line, and a line "bye" at the end of its
// input.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = conn.Close() }()
				if _, err := io.Copy(conn, conn); err == nil {
					_, _ = io.WriteString(conn, "bye\n")
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	return l.Addr().String()
}

type client struct {
	t    *testing.T
	conn *net.TCPConn
	in   *bufio.Reader
}

func dial(t *testing.T, p *netproxy.Proxy) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Address(), deadline)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(deadline))
	return &client{t, conn.(*net.TCPConn), bufio.NewReader(conn)}
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) hears(want string) {
	c.t.Helper()
	if got, err := c.in.ReadString('\n'); err != nil || got != want+"\n" {
		c.t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// broken waits for an error that is neither an end of file nor our own deadline.
func (c *client) broken() {
	c.t.Helper()
	_, err := c.in.ReadString('\n')
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("the connection was not reset: %v", err)
	}
}

// refused makes a connection that must be reset, possibly before it is established.
func refused(t *testing.T, p *netproxy.Proxy) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Address(), deadline)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(deadline))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection was not reset: %v", err)
	}
}

func TestPassesAndEnds(t *testing.T) {
	t.Parallel()
	c := dial(t, netproxy.Start(t, echo(t)))
	c.say("hello")
	c.hears("hello")
	_ = c.conn.CloseWrite()
	c.hears("bye")
	if _, err := c.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

func TestCutAndHeal(t *testing.T) {
	t.Parallel()
	p := netproxy.Start(t, echo(t))
	c := dial(t, p)
	c.say("hello")
	c.hears("hello")
	p.Cut()
	c.broken()
	refused(t, p)
	p.Heal()
	c = dial(t, p)
	c.say("again")
	c.hears("again")
}

// TestFailOver: connections are reset, and new ones go to the other target.
func TestFailOver(t *testing.T) {
	t.Parallel()
	other := echo(t)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = gone.Close() }()
	p := netproxy.Start(t, gone.Addr().String())
	c := dial(t, p)
	c.say("hello")
	// It never answers; a connection that is not established yet would go to the other target.
	arrived, err := gone.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arrived.Close() }()
	p.FailOver(other)
	c.broken()
	c = dial(t, p)
	c.say("hello")
	c.hears("hello")
}

func TestBlackholeKeepsWhatIsSent(t *testing.T) {
	t.Parallel()
	p := netproxy.Start(t, echo(t))
	old := dial(t, p)
	old.say("1")
	old.hears("1")
	p.Blackhole()
	fresh := dial(t, p)
	for _, c := range []*client{old, fresh} {
		c.say("2")
		_ = c.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := c.conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("through the blackhole: %v", err)
		}
		_ = c.conn.SetReadDeadline(time.Now().Add(deadline))
	}
	p.Heal()
	old.hears("2")
	fresh.hears("2")
}

func TestDelay(t *testing.T) {
	t.Parallel()
	p := netproxy.Start(t, echo(t))
	c := dial(t, p)
	const d = 50 * time.Millisecond
	p.Delay(d)
	begin := time.Now()
	c.say("slow")
	c.hears("slow")
	if took := time.Since(begin); took < 2*d {
		t.Errorf("there and back in %s", took)
	}
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	p := netproxy.Start(t, echo(t))
	c := dial(t, p)
	c.say("1")
	c.hears("1")
	p.HalfCloseToTarget()
	c.hears("bye") // the target read the end, and its answer arrived
	c = dial(t, p)
	c.say("2")
	c.hears("2")
	p.HalfClose()
	if _, err := c.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the client's end: %v", err)
	}
	c.say("3") // it still arrives, and its answer is dropped
}

func TestDropAfter(t *testing.T) {
	t.Parallel()
	p := netproxy.Start(t, echo(t))
	c := dial(t, p)
	p.DropAfter(6)
	c.say("abc")
	c.hears("abc")
	c.say("def")
	got, err := io.ReadAll(c.in)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not reset after 6 bytes: %v", err)
	}
	if !strings.HasPrefix("de", string(got)) { // a reset may overtake earlier data
		t.Errorf("got %q after 4 of 6 bytes", got)
	}
	c = dial(t, p) // only once
	c.say("more than six bytes")
	c.hears("more than six bytes")
}

func TestTargetThatIsDown(t *testing.T) {
	t.Parallel()
	refused(t, netproxy.Start(t, "127.0.0.1:1"))
}

package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an expected event.
const patience = 30 * time.Second

func options(address string) zookeeper.Options {
	log := io.Discard
	if os.Getenv("ZK_TEST_LOG") != "" {
		log = os.Stderr
	}
	return zookeeper.Options{
		Servers: []string{address}, SessionTimeout: 2 * time.Second, Dial: new(net.Dialer).DialContext,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

func connect(t *testing.T, o zookeeper.Options) *zookeeper.Client {
	t.Helper()
	c, err := zookeeper.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func join(t *testing.T, c *zookeeper.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Join(ctx); err != nil {
		t.Fatalf("join: %v", err)
	}
}

func awaitEnd(t *testing.T, c *zookeeper.Client) error {
	t.Helper()
	select {
	case <-c.Context().Done():
		return context.Cause(c.Context())
	case <-time.After(patience):
		t.Fatal("the session goes on")
		return nil
	}
}

// TestEndsOfSessions checks which events end a session, and that requests fail after its end.
func TestEndsOfSessions(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	ignore := func(zk.Event) {}
	for name, c := range map[string]struct {
		change func(*zookeeper.Options)
		strike func(*zookeeper.Client, *netproxy.Proxy)
		lives  bool
	}{
		"a connection breaks":                 {strike: func(_ *zookeeper.Client, p *netproxy.Proxy) { p.Cut(); p.Heal() }, lives: true},
		"a connection breaks, with watches":   {func(o *zookeeper.Options) { o.Watch = ignore }, func(_ *zookeeper.Client, p *netproxy.Proxy) { p.Cut(); p.Heal() }, false},
		"no server can be reached":            {strike: func(_ *zookeeper.Client, p *netproxy.Proxy) { p.Cut() }},
		"no server can be reached, giving up": {func(o *zookeeper.Options) { o.GiveUp, o.SessionTimeout = true, time.Hour }, func(_ *zookeeper.Client, p *netproxy.Proxy) { p.Cut() }, false},
		"silence":                             {strike: func(_ *zookeeper.Client, p *netproxy.Proxy) { p.Blackhole() }},
		"it is given back":                    {strike: func(c *zookeeper.Client, _ *netproxy.Proxy) { c.End() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := netproxy.Start(t, server.Address())
			o := options(proxy.Address())
			if c.change != nil {
				c.change(&o)
			}
			client := connect(t, o)
			join(t, client)
			before := client.SessionID()
			c.strike(client, proxy)
			if !c.lives {
				t.Log(awaitEnd(t, client))
				proxy.Heal()
			}
			err := ask(t, client)
			if c.lives != (err == nil) || c.lives != (client.Context().Err() == nil) {
				t.Errorf("a request: %v; the session's end: %v", err, context.Cause(client.Context()))
			}
			if c.lives && client.SessionID() != before {
				t.Error("another session goes on")
			}
		})
	}
}

// ask requests the root until there is an answer.
func ask(t *testing.T, c *zookeeper.Client) error {
	t.Helper()
	return c.Do(t.Context(), func() error {
		return c.Ask(t.Context(), func() error {
			_, _, err := c.Exists("/")
			return err
		})
	})
}

// An ended session is not followed by another one, as the library would do.
func TestEndedSessionIsNotReplaced(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	client := connect(t, options(server.Address()))
	join(t, client)
	server.Kill()
	cause := awaitEnd(t, client)
	server.Restart()
	if err := ask(t, client); err == nil || !errors.Is(err, cause) {
		t.Errorf("a request after %v: %v", cause, err)
	}
	if err := client.Join(t.Context()); err != nil {
		t.Errorf("it had joined: %v", err)
	}
}

// The caller of Do can leave, however long a request waits for a connection. A session that has not begun does not
// count as alive.
func TestDoCanBeLeft(t *testing.T) {
	t.Parallel()
	nowhere := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := options("127.0.0.1:1")
	o.Dial = nowhere
	client := connect(t, o)
	if !client.LivesUntil().IsZero() {
		t.Error("a session that has not begun counts as alive")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := client.Do(ctx, func() error {
		cancel()
		_, _, err := client.Exists("/")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("do: %v", err)
	}
	if err := client.Join(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("join: %v", err)
	}
	for range 100 {
		err := client.Do(ctx, func() error {
			t.Error("a request was made for a context that has ended")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("do, after it: %v", err)
		}
	}
}

// A server's answer is distinguished from silence, even if the library has only a message for it.
func TestAnswersAndSilence(t *testing.T) {
	t.Parallel()
	code := func(n int) error { return fmt.Errorf("unknown error: %v", zk.ErrCode(n)) }
	for name, c := range map[string]struct {
		err      error
		answered bool
		code     int
	}{
		"nothing":                     {nil, false, 0},
		"no node":                     {zk.ErrNoNode, true, 0},
		"no node, explained":          {fmt.Errorf("read /a: %w", zk.ErrNoNode), true, 0},
		"connection closed":           {zk.ErrConnectionClosed, false, 0},
		"no server":                   {zk.ErrNoServer, false, 0},
		"session expired":             {zk.ErrSessionExpired, false, 0},
		"a quota":                     {code(zookeeper.CodeQuotaExceeded), true, -125},
		"SASL, explained twice":       {fmt.Errorf("%w: %w", io.EOF, fmt.Errorf("talk: %w", code(zookeeper.CodeWantsSASL))), true, -124},
		"connection lost behind it":   {code(-4), false, -4},
		"throttled":                   {code(-127), false, -127},
		"the wire":                    {&net.OpError{Op: "read", Err: io.EOF}, false, 0},
		"a number in somebody's text": {errors.New("see unknown error: -125"), false, 0},
	} {
		if got := zookeeper.Answered(c.err); got != c.answered {
			t.Errorf("%s: answered %v", name, got)
		}
		if got := zookeeper.Code(c.err); got != c.code {
			t.Errorf("%s: code %d", name, got)
		}
	}
}

func TestParseServers(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"h": "[h:2181]", "h:1,i": "[h:1 i:2181]", "h1:1, h2:2": "[h1:1 h2:2]",
		"[::1]:3,[::2],10.0.0.1": "[[::1]:3 [::2]:2181 10.0.0.1:2181]",
		"":                       "", "h,,i": "", ":1": "", "h:": "", "a b": "",
	} {
		servers, err := zookeeper.ParseServers(list)
		if got := fmt.Sprint(servers); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v; want %s", list, got, err, want)
		}
	}
}

// lastWords is a connection whose writes block while held, and fail after the write that ends the session.
type lastWords struct {
	net.Conn
	hold   atomic.Pointer[chan struct{}]
	held   chan struct{} // receives a value when a write blocks
	broken atomic.Bool
}

func (w *lastWords) Write(p []byte) (int, error) {
	if hold := w.hold.Load(); hold != nil {
		select {
		case w.held <- struct{}{}:
		default:
		}
		<-*hold
	}
	if w.broken.Load() {
		return 0, errors.New("broken")
	}
	const opClose = -11
	w.broken.Store(len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == opClose)
	return w.Conn.Write(p)
}

// TestCloseWhileRequestsCannotBeWritten checks that requests that come just as the session ends, and can't be written,
// don't make the library hang.
func TestCloseWhileRequestsCannotBeWritten(t *testing.T) {
	t.Parallel()
	conn := &lastWords{held: make(chan struct{}, 1)}
	o := options(zkserver.Start(t).Address())
	o.SessionTimeout = 20 * time.Second
	o.Dial = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		conn.Conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return conn, err
	}
	c := connect(t, o)
	join(t, c)
	hold := make(chan struct{})
	conn.hold.Store(&hold)
	underWay := make(chan error, 1)
	go func() {
		_, _, err := c.Exists("/")
		underWay <- err
	}()
	<-conn.held
	c.End()
	<-underWay // the library knows that the session is ending
	for range 12 {
		_, _, _ = c.Exists("/") // half of them are queued
	}
	conn.hold.Store(nil)
	close(hold)
	closed := make(chan struct{})
	go func() {
		c.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the library hangs")
	}
}

package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Options say which ZooKeeper, and how.
type Options struct {
	// Servers are addresses as ParseServers returns them, tried in a random order.
	Servers []string
	// SessionTimeout is the silence after which the session ends. ZooKeeper bounds it to between 2 and 20 of its
	// ticks.
	SessionTimeout time.Duration
	// Digest is "user:password", or empty.
	Digest string
	// Watch, if not nil, takes what watches report, and must not block. The session ends with its connection then.
	Watch func(zk.Event)
	// GiveUp has the session end when each server was tried since the last answer, and none answered. Otherwise it
	// goes on until ZooKeeper may have ended it.
	GiveUp bool
	// Logger gets what the library logs, at level debug.
	Logger *slog.Logger
	// Dial makes connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

var (
	errConnectionEnded = errors.New("the connection has ended, and the session with it")
	errSilent          = errors.New("no ZooKeeper server has answered for the session timeout")
	errGivenBack       = errors.New("the session was given back")
)

// pause is between tries of what got no answer, pingEvery between signs of life.
const (
	pause     = 20 * time.Millisecond
	pingEvery = time.Second
)

// Client is one session with ZooKeeper. Requests are the library's own: they wait for a connection, and end with the
// session.
type Client struct {
	*zk.Conn
	opt Options

	ctx   context.Context // the session's
	end   context.CancelCauseFunc
	ready chan struct{} // closed when a server has answered a request, or refused to, or the session has ended without
	why   error         // no session: set before ready is closed

	mu    sync.Mutex
	begun bool
	// lastHeard is when the latest request left that was answered.
	lastHeard time.Time
	granted   time.Duration // the session timeout, which servers bound
	trouble   error         // why the last try to reach a server failed; nil while one answers
	raw       net.Conn
	address   string // of raw
	next      int    // the server that is tried next
	tries     int    // since the last answer

	work sync.WaitGroup
	// libraryEnded is closed when the library's own goroutines have ended.
	libraryEnded chan struct{}
}

// Connect makes a client that connects by itself; it does not wait for it. It must be closed.
func Connect(o Options) (*Client, error) {
	o.Servers = slices.Clone(o.Servers)
	rand.Shuffle(len(o.Servers), func(i, j int) { o.Servers[i], o.Servers[j] = o.Servers[j], o.Servers[i] })
	c := &Client{opt: o, granted: o.SessionTimeout, ready: make(chan struct{}), libraryEnded: make(chan struct{})}
	c.ctx, c.end = context.WithCancelCause(context.Background())
	conn, events, err := zk.Connect(o.Servers, o.SessionTimeout, zk.WithLogger(libraryLog{c}),
		zk.WithDialer(c.dial), zk.WithHostProvider(rotation{c}), zk.WithEventCallback(c.event))
	if err != nil {
		c.end(err)
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	c.Conn = conn
	go c.drain(events)
	c.work.Go(c.keepAlive)
	c.work.Go(c.watchSilence)
	c.work.Go(c.disconnect)
	return c, nil
}

// drain takes the library's events, which it closes when its goroutines have ended.
func (c *Client) drain(events <-chan zk.Event) {
	defer close(c.libraryEnded)
	for range events {
	}
}

// Context ends with the session. Its cause says why.
func (c *Client) Context() context.Context { return c.ctx }

// Join waits for the session, until it is logged in and a server has answered a request, which those that grant a
// session and hang up never do. Its error is a server's refusal, the session's end or ctx's.
func (c *Client) Join(ctx context.Context) error {
	select {
	case <-c.ready:
		return c.why
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do runs requests beside the caller, who can leave by ctx: one that waits for a connection can't be called back. For
// a context that has ended it runs nothing.
func (c *Client) Do(ctx context.Context, requests func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return context.Cause(c.ctx)
	}
	c.work.Go(func() { done <- requests() })
	c.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ask sends a request that only reads until a server has answered it, however often the connection breaks while the
// session lives. It can leave by ctx between two tries.
func (c *Client) Ask(ctx context.Context, request func() error) error {
	for {
		err := request()
		if err == nil || Answered(err) {
			return err
		}
		if err := c.Pause(ctx); err != nil {
			return err
		}
	}
}

// Pause is between tries of a request that got no answer; an error says that another one is useless.
func (c *Client) Pause(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// LivesUntil is how long the session surely lives, if no server answers any more; zero before it has begun.
func (c *Client) LivesUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		return time.Time{}
	}
	return c.lastHeard.Add(c.granted)
}

// Trouble is why the last try to reach a server failed, as far as that is known; nil while one answers.
func (c *Client) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// End gives the session back without waiting for it. Requests under way fail.
func (c *Client) End() { c.end(errGivenBack) }

// libraryPatience is longer than the library takes to end when no server answers.
const libraryPatience = 5 * time.Second

// Close gives the session back, so that its ephemeral nodes go at once, and waits for all that the client has
// started: a second or two, when no server answers.
//
// The library is not waited for without end. It answers a request up to three times when the request is queued just as
// the session ends and can't be written, has room for two answers, and hangs with the third (queueRequest, sendData
// and flushRequests of its conn.go). Requests end all the same.
func (c *Client) Close() {
	c.mu.Lock() // Do adds nothing to what is waited for after this
	c.End()
	c.mu.Unlock()
	c.work.Wait()
	select {
	case <-c.libraryEnded:
	case <-time.After(libraryPatience):
		c.opt.Logger.Debug("zk: the library has not ended")
	}
}

// disconnect ends what is the library's when the session has ended.
func (c *Client) disconnect() {
	<-c.ctx.Done()
	cut := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.raw != nil {
			_ = c.raw.Close()
		}
	}
	if c.State() == zk.StateHasSession {
		c.Conn.Close()
		cut()
	} else {
		cut()
		c.Conn.Close() // waits a second for nobody
	}
}

// keepAlive logs in, and then asks for a sign of life each second, and at once on a new connection.
func (c *Client) keepAlive() {
	if c.opt.Digest != "" {
		c.why = c.Ask(c.ctx, func() error { return c.AddAuth("digest", []byte(c.opt.Digest)) })
	}
	if c.why == nil {
		c.why = c.Ask(c.ctx, c.ping)
	}
	close(c.ready)
	if c.why != nil {
		return
	}
	tick := time.NewTicker(min(pingEvery, c.opt.SessionTimeout/5))
	defer tick.Stop()
	for {
		again := tick.C
		if err := c.ping(); err != nil && !Answered(err) {
			again = time.After(pause)
		}
		select {
		case <-again:
		case <-c.ctx.Done():
			return
		}
	}
}

// ping asks whether there is a root, for which nobody needs a permission.
func (c *Client) ping() error {
	left := time.Now()
	_, _, err := c.Exists("/")
	if err == nil || Answered(err) {
		c.answeredSince(left)
	}
	if err == nil {
		c.reached()
	}
	return err
}

// reached keeps that a server has answered as it should.
func (c *Client) reached() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble, c.tries = nil, 0
}

// answeredSince keeps that a server has answered a request that left then, or later.
func (c *Client) answeredSince(left time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left.After(c.lastHeard) {
		c.lastHeard = left
	}
}

// watchSilence ends the session when no request that left within its timeout was answered: the servers may have ended
// it.
func (c *Client) watchSilence() {
	for {
		wait := pause
		if until := c.LivesUntil(); !until.IsZero() {
			wait = min(time.Until(until), pingEvery) // what is granted may be known later than the session
		}
		if wait <= 0 {
			c.end(errSilent)
			return
		}
		select {
		case <-time.After(wait):
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Client) hasBegun() bool { return !c.LivesUntil().IsZero() }

// event takes the library's events. An expiry is reported before the library asks for another session.
func (c *Client) event(e zk.Event) {
	switch {
	case e.Type == zk.EventSession && e.State == zk.StateHasSession:
		c.mu.Lock()
		c.begun = true
		c.mu.Unlock()
	case e.Type == zk.EventSession && e.State == zk.StateExpired:
		c.end(zk.ErrSessionExpired)
	case e.Type == zk.EventSession && e.State == zk.StateDisconnected && c.opt.Watch != nil && c.hasBegun():
		c.end(errConnectionEnded)
	case e.Path != "" && e.Err == nil && c.opt.Watch != nil:
		c.opt.Watch(e)
	}
}

// dial is the library's Dialer.
func (c *Client) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if !c.hasBegun() {
		c.answeredSince(time.Now()) // the session begins later than this
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	raw, err := c.opt.Dial(ctx, network, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.address = address
	if err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil {
		_ = raw.Close()
		return nil, context.Cause(c.ctx)
	}
	c.raw = raw
	return impatient{raw, c.opt.SessionTimeout}, nil
}

// impatient gives a server that takes connections and grants no session less time than the library, which waits
// for several session timeouts. Others of an ensemble are tried meanwhile.
type impatient struct {
	net.Conn
	session time.Duration
}

// SetReadDeadline shortens what the library wants when it waits for a session.
func (c impatient) SetReadDeadline(t time.Time) error {
	if time.Until(t) > c.session {
		t = time.Now().Add(max(c.session/4, 500*time.Millisecond))
	}
	return c.Conn.SetReadDeadline(t)
}

// libraryLog takes what the library logs: nothing else shows why there is no session, nor for how long a session was
// granted.
type libraryLog struct{ *Client }

// Printf takes one line.
func (l libraryLog) Printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.opt.Logger.Debug("zk: " + text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasPrefix(format, "authenticated: id=%d, timeout=%d") && len(args) == 2 {
		if milliseconds, ok := args[1].(int32); ok {
			l.granted = time.Duration(milliseconds) * time.Millisecond
		}
	}
	failed := func(what string) bool { return strings.HasPrefix(format, what) }
	if l.ctx.Err() == nil && slices.ContainsFunc([]string{"failed to connect", "authentication failed",
		"recv loop terminated"}, failed) {
		l.trouble = fmt.Errorf("%s: %s (is it a ZooKeeper server, and one of a majority?)", l.address,
			strings.TrimSpace(text))
		if l.opt.GiveUp && l.tries >= len(l.opt.Servers) {
			l.end(l.trouble)
		}
	}
}

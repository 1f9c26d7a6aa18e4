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

// Options are the settings of a client.
type Options struct {
	// Servers are addresses from ParseServers. They are tried in a random order.
	Servers []string
	// SessionTimeout is the silence after which the session ends. ZooKeeper grants a timeout between 2 and 20 of its
	// ticks.
	SessionTimeout time.Duration
	// Digest is "user:password", or empty.
	Digest string
	// Watch, if not nil, receives the events of watches, and must not block. With it, the session ends with its
	// connection.
	Watch func(zk.Event)
	// GiveUp ends the session when every server was tried since the last answer and no server has answered. Without it
	// the session continues until ZooKeeper may have ended it.
	GiveUp bool
	// Logger receives the library's log, at level debug.
	Logger *slog.Logger
	// Dial connects to a server.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

var (
	errConnectionEnded = errors.New("the connection has ended, and the session with it")
	errSilent          = errors.New("no ZooKeeper server has answered for the session timeout")
	errEnded           = errors.New("the session was given back")
)

// pause is the time between two tries of an unanswered request, and pingInterval is the interval of pings.
const (
	pause        = 20 * time.Millisecond
	pingInterval = time.Second
)

// Client is one session with ZooKeeper. Requests are those of the library: they wait for a connection, and end with
// the session.
type Client struct {
	*zk.Conn
	opt Options

	ctx     context.Context // ends with the session
	end     context.CancelCauseFunc
	ready   chan struct{} // closed when a server has answered or refused a request, or the session has ended
	joinErr error         // the result of Join; set before ready is closed

	mu    sync.Mutex
	begun bool
	// lastHeard is the time at which the latest answered request was sent.
	lastHeard time.Time
	granted   time.Duration // the session timeout that the servers granted
	trouble   error         // the error of the last failed try to reach a server; nil while one answers
	raw       net.Conn
	address   string // address of raw
	next      int    // the server to try next
	tries     int    // tries since the last answer

	work sync.WaitGroup
	// libraryEnded is closed when the library's goroutines have ended.
	libraryEnded chan struct{}
}

// Connect creates a client, which connects in the background. The client must be closed.
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

// drain receives the library's events, whose channel is closed when the library's goroutines have ended.
func (c *Client) drain(events <-chan zk.Event) {
	defer close(c.libraryEnded)
	for range events {
	}
}

// Context returns a context that ends with the session. Its cause is the reason.
func (c *Client) Context() context.Context { return c.ctx }

// Join waits until the session is authenticated and a server has answered a request. A granted session is not enough:
// some peers grant sessions and hang up. The error is a server's refusal, the end of the session or the end of ctx.
func (c *Client) Join(ctx context.Context) error {
	select {
	case <-c.ready:
		return c.joinErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do runs requests on a goroutine of its own, because a request that waits for a connection can't be cancelled. It
// returns when ctx ends, even if requests still runs. If ctx has ended already, Do runs nothing.
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

// Ask repeats a read request until a server has answered it or the session has ended, however often the connection
// breaks. It stops between two tries when ctx ends.
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

// Pause waits between two tries of an unanswered request. An error means that another try is useless.
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

// LivesUntil returns the time until which the session certainly lives, even if no further answer comes. It returns zero
// before the session has begun.
func (c *Client) LivesUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		return time.Time{}
	}
	return c.lastHeard.Add(c.granted)
}

// Trouble returns why the last try to reach a server failed, as far as that is known. It returns nil while a server
// answers.
func (c *Client) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// End ends the session without waiting for it. Running requests fail.
func (c *Client) End() { c.end(errEnded) }

// Close ends the session, so that its ephemeral nodes are removed at once, and waits for all goroutines of the client.
// That takes a second or two if no server answers.
func (c *Client) Close() {
	c.mu.Lock() // Do starts no goroutine after this
	c.End()
	c.mu.Unlock()
	c.work.Wait()
	<-c.libraryEnded
}

// disconnect closes the library's connection when the session has ended.
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
		c.Conn.Close() // takes up to a second
	}
}

// keepAlive authenticates the session, and then pings each second, and at once on a new connection.
func (c *Client) keepAlive() {
	if c.opt.Digest != "" {
		c.joinErr = c.Ask(c.ctx, func() error { return c.AddAuth("digest", []byte(c.opt.Digest)) })
	}
	if c.joinErr == nil {
		c.joinErr = c.Ask(c.ctx, c.ping)
	}
	close(c.ready)
	if c.joinErr != nil {
		return
	}
	tick := time.NewTicker(min(pingInterval, c.opt.SessionTimeout/5))
	defer tick.Stop()
	for {
		next := tick.C
		if err := c.ping(); err != nil && !Answered(err) {
			next = time.After(pause)
		}
		select {
		case <-next:
		case <-c.ctx.Done():
			return
		}
	}
}

// ping asks whether the root exists, which needs no permission.
func (c *Client) ping() error {
	sent := time.Now()
	_, _, err := c.Exists("/")
	if err == nil || Answered(err) {
		c.recordAnswer(sent)
	}
	if err == nil {
		c.recordReachable()
	}
	return err
}

// recordReachable records that a server has answered properly.
func (c *Client) recordReachable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble, c.tries = nil, 0
}

// recordAnswer records that a server has answered a request that was sent at the time sent or later.
func (c *Client) recordAnswer(sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sent.After(c.lastHeard) {
		c.lastHeard = sent
	}
}

// watchSilence ends the session when no request that was sent within the session timeout has been answered: the
// servers may then have ended the session.
func (c *Client) watchSilence() {
	for {
		wait := pause
		if until := c.LivesUntil(); !until.IsZero() {
			wait = min(time.Until(until), pingInterval) // the granted timeout may be known later than the session
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

// event handles the library's events. An expiry is reported before the library requests another session.
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

// dial is the library's dialer.
func (c *Client) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if !c.hasBegun() {
		c.recordAnswer(time.Now()) // the session begins after this time
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
	return connection{raw, c.opt.SessionTimeout}, nil
}

// connection is a connection as the library sees it. Its methods avoid two faults of the library.
type connection struct {
	net.Conn
	session time.Duration
}

// Write returns no error. It closes the connection instead, which the library notices when it reads.
//
// The library answers a request that it can't write, and answers it again when it gives up the connection's requests
// (sendData and flushRequests in its conn.go). If no goroutine receives the second answer, or the third answer to a
// request that is queued just when the session ends (queueRequest), the library waits forever and never connects again.
func (c connection) Write(p []byte) (int, error) {
	if _, err := c.Conn.Write(p); err != nil {
		_ = c.Close()
	}
	return len(p), nil
}

// SetReadDeadline shortens the deadline that the library sets when it waits for a session. Otherwise the library would
// wait for several session timeouts for a server that accepts connections but grants no session, instead of trying the
// other servers.
func (c connection) SetReadDeadline(t time.Time) error {
	if time.Until(t) > c.session {
		t = time.Now().Add(max(c.session/4, 500*time.Millisecond))
	}
	return c.Conn.SetReadDeadline(t)
}

// libraryLog receives the library's log. Only the log shows why there is no session, and which timeout was granted.
type libraryLog struct{ *Client }

// Printf receives one line.
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
	isFailure := func(message string) bool { return strings.HasPrefix(format, message) }
	if l.ctx.Err() == nil && slices.ContainsFunc([]string{"failed to connect", "authentication failed",
		"recv loop terminated"}, isFailure) {
		l.trouble = fmt.Errorf("%s: %s (check that it is a ZooKeeper server with a quorum)", l.address,
			strings.TrimSpace(text))
		if l.opt.GiveUp && l.tries >= len(l.opt.Servers) {
			l.end(l.trouble)
		}
	}
}

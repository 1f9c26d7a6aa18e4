package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// client is one session with ZooKeeper. Since the library opens another session by itself when one has
// expired, its owner waits for lost, and then closes the client.
type client struct {
	*zk.Conn
	place *place
	hosts *hosts
	// brief: the session counts as lost with its connection. Only such a client sets watches: the
	// library sets them again on a new connection as of a transaction that it reads without a lock, and might miss a change.
	brief bool
	seen  func(zk.Event) // takes events of nodes, must not block

	ctx    context.Context // ends with the client
	stop   context.CancelFunc
	joined chan struct{} // closed at the first session
	join1  sync.Once
	lost   chan struct{} // closed when the session has ended, or servers may have ended it

	mu sync.Mutex
	// lastHeard is when the latest request left that was answered. Servers count a session's time
	// from a request's arrival, so not from before, however late the answer comes.
	lastHeard time.Time
	granted   time.Duration // the session timeout, which servers bound
	cause     error         // why lost is closed
	trouble   error         // why the last try to reach a server failed; nil while one answers
	raw       net.Conn
	address   string // of raw

	owned   sync.WaitGroup
	closing sync.Once
}

// dial makes a client that connects by itself; it does not wait for it.
func dial(p *place, brief bool, seen func(zk.Event)) (*client, error) {
	c := &client{place: p, granted: p.SessionTimeout, brief: brief, seen: seen, joined: make(chan struct{}), lost: make(chan struct{})}
	c.ctx, c.stop = context.WithCancel(context.Background())
	servers := slices.Clone(p.servers)
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	c.hosts = &hosts{servers: servers, ctx: c.ctx}
	conn, events, err := zk.Connect(servers, p.SessionTimeout, zk.WithLogger(libraryLog{c}),
		zk.WithDialer(c.dial), zk.WithHostProvider(c.hosts), zk.WithEventCallback(c.event))
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	c.Conn = conn
	// The library closes the events when its work is done.
	c.owned.Go(func() {
		for range events {
		}
	})
	c.owned.Go(c.watchSilence)
	return c, nil
}

// libraryLog takes what the library logs: nothing else shows why there is no session, nor for how long a session was granted.
type libraryLog struct{ *client }

func (l libraryLog) Printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.place.Logger.Debug("zk: " + text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasPrefix(format, "authenticated: id=%d, timeout=%d") && len(args) == 2 {
		if milliseconds, ok := args[1].(int32); ok {
			l.granted = time.Duration(milliseconds) * time.Millisecond
		}
	}
	failed := func(what string) bool { return strings.HasPrefix(format, what) }
	if l.ctx.Err() == nil && slices.ContainsFunc([]string{"failed to connect", "authentication failed", "recv loop terminated"}, failed) {
		l.trouble = fmt.Errorf("%s: %s (is it a ZooKeeper server, and one of a majority?)", l.address, text)
	}
}

var errBrief = errors.New("the connection has ended, and the session with it")

// dial is the library's Dialer.
func (c *client) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	select {
	case <-c.joined:
		if c.brief {
			return nil, errBrief
		}
	default:
		c.answeredSince(time.Now()) // the session begins later than this
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	raw, err := c.place.Dial(ctx, network, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.address = address
	if err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil {
		_ = raw.Close()
		return nil, c.ctx.Err()
	}
	c.raw = raw
	return impatient{raw, c.place.SessionTimeout}, nil
}

// impatient gives a server that takes connections and grants no session less time than the library, which waits
// for several session timeouts. Others of an ensemble are tried meanwhile.
type impatient struct {
	net.Conn
	session time.Duration
}

func (c impatient) SetReadDeadline(t time.Time) error {
	if time.Until(t) > c.session {
		t = time.Now().Add(max(c.session/4, 500*time.Millisecond))
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *client) event(e zk.Event) {
	switch {
	case e.Type == zk.EventSession && e.State == zk.StateExpired:
		c.lose(zk.ErrSessionExpired)
	case e.Type == zk.EventSession && e.State == zk.StateHasSession:
		c.join1.Do(func() { close(c.joined) })
	case e.Type == zk.EventSession && e.State == zk.StateDisconnected:
		select {
		case <-c.joined:
			if c.brief {
				c.lose(errBrief)
			}
		default:
		}
	case e.Path != "" && e.Err == nil && c.seen != nil:
		c.seen(e)
	}
}

func (c *client) lose(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = why
		close(c.lost)
	}
}

// whyLost is the cause once lost is closed.
func (c *client) whyLost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

func (c *client) isLost() bool {
	select {
	case <-c.lost:
		return true
	default:
		return false
	}
}

// answeredSince keeps that a server has answered a request that left then, or later.
func (c *client) answeredSince(left time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left.After(c.lastHeard) {
		c.lastHeard = left
	}
}

// livesUntil is how long the session surely lives, if no server answers any more; zero before the first session.
func (c *client) livesUntil() time.Time {
	select {
	case <-c.joined:
	default:
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastHeard.Add(c.granted)
}

// pingEvery is how often a server is asked for a sign of life.
const pingEvery = time.Second

// probe asks for a node, for which nobody needs a permission.
func (c *client) probe() error {
	left := time.Now()
	_, _, err := c.Exists("/")
	if err == nil || answered(err) {
		c.answeredSince(left)
	}
	if err == nil {
		c.hosts.answered()
		c.mu.Lock()
		c.trouble = nil
		c.mu.Unlock()
	}
	return err
}

// ping probes while the client lasts, and at once on a new connection.
func (c *client) ping() {
	tick := time.NewTicker(min(pingEvery, c.place.SessionTimeout/5))
	defer tick.Stop()
	for {
		again := tick.C
		if err := c.probe(); err != nil && !answered(err) {
			again = time.After(pause)
		}
		select {
		case <-again:
		case <-c.ctx.Done():
			return
		}
	}
}

// watchSilence takes the session for lost when no request that left within its life was
// answered: the servers may have ended it.
func (c *client) watchSilence() {
	select {
	case <-c.joined:
	case <-c.ctx.Done():
		return
	}
	for {
		left := time.Until(c.livesUntil())
		if left <= 0 {
			c.lose(errSilent)
			return
		}
		select {
		case <-time.After(min(left, pingEvery)): // what is granted may be known later than the session
		case <-c.ctx.Done():
			return
		}
	}
}

var errSilent = errors.New("no ZooKeeper server has answered for the session timeout")

// complain is how often the log says what can't be reached.
const complain = 10 * time.Second

// join waits for the session, gives it the credentials, and waits until a server has answered, which those who grant a
// session and hang up never do. The log says now and then what hinders it.
func (c *client) join(ctx context.Context) error {
	done := make(chan struct{})
	defer close(done)
	c.owned.Go(func() {
		next := time.After(min(complain, c.place.SessionTimeout) / 2)
		for {
			select {
			case <-next:
				c.place.Logger.Warn("can't reach ZooKeeper: trying on", "servers", c.place.servers, "error", c.whyTroubled())
				next = time.After(complain)
			case <-done:
				return
			case <-c.ctx.Done():
				return
			}
		}
	})
	logIn := func() error { return c.AddAuth("digest", []byte(c.place.Digest)) }
	if c.place.Digest == "" {
		logIn = func() error { return nil }
	}
	for _, request := range []func() error{logIn, c.probe} {
		for err := request(); err != nil; err = request() {
			if answered(err) {
				return c.place.explain("talk to", "/", err)
			}
			if err := c.wait(ctx); err != nil {
				return err
			}
		}
	}
	c.owned.Go(c.ping)
	return nil
}

// pause is between tries of what got no answer.
const pause = 20 * time.Millisecond

// wait is between tries of a request that got no answer; an error says that it is useless.
func (c *client) wait(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-c.lost:
		return c.whyLost()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) whyTroubled() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// close ends the session, so that its ephemeral nodes go at once, and waits for everything.
func (c *client) close() {
	c.abandon()
	c.owned.Wait()
}

// abandon is close that does not wait for more than the session's end; requests
// under way fail.
func (c *client) abandon() {
	c.closing.Do(func() {
		connected := !c.isLost() && c.State() == zk.StateHasSession
		c.lose(errors.New("the session was given back"))
		if connected {
			c.Close()
		} else {
			c.owned.Go(c.Close) // nobody to tell, for which it would wait
		}
		c.stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.raw != nil {
			_ = c.raw.Close()
		}
	})
}

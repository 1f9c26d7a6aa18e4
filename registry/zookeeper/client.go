package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// client is a connection to ZooKeeper. Since the library opens a new session by
// itself when one has expired, on the same connection, who cares is told by lost.
type client struct {
	*zk.Conn
	place *place
	wires *wires
	stop  context.CancelFunc
	// joined gets one token at most when a connection has come to a session.
	joined chan struct{}
	first  chan struct{} // closed at the first session
	// lost is closed when the first session is over or may be; cause says why.
	lost chan struct{}

	mu    sync.Mutex
	cause error
	seen  func(zk.Event) // events of nodes

	owned   sync.WaitGroup
	began   sync.Once
	closing sync.Once
}

// quiet passes the library's talk on for whoever looks for faults in it.
type quiet struct{ log *slog.Logger }

func (q quiet) Printf(format string, args ...any) { q.log.Debug("zk: " + fmt.Sprintf(format, args...)) }

// dial makes a client that connects by itself; it does not wait for it. Its session is lost
// as soon as servers may have ended it.
func dial(p *place) (*client, error) {
	ctx, c, err := connect(p)
	if err == nil {
		c.owned.Go(func() { c.watchSilence(ctx) })
	}
	return c, err
}

// connect makes a client whose session lasts until a server says that it is over.
func connect(p *place) (context.Context, *client, error) {
	ctx, stop := context.WithCancel(context.Background())
	servers := slices.Clone(p.servers)
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	order := &hosts{servers: servers, ctx: ctx}
	c := &client{place: p, wires: newWires(ctx, p, order), stop: stop, joined: make(chan struct{}, 1), first: make(chan struct{}), lost: make(chan struct{})}
	if p.Digest != "" {
		// Ahead of anything else on each connection, so nothing is refused meanwhile.
		c.wires.always(opAuth, digestAuth(p.Digest))
	}
	ready := make(chan struct{})
	conn, events, err := zk.Connect(servers, p.SessionTimeout,
		zk.WithLogger(quiet{p.Logger}), zk.WithDialer(c.wires.dial), zk.WithHostProvider(order),
		zk.WithEventCallback(func(e zk.Event) {
			<-ready
			c.event(e)
		}))
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	c.Conn = conn
	close(ready)
	// The library closes the events when its work is done.
	c.owned.Go(func() {
		for range events {
		}
	})
	return ctx, c, nil
}

func (c *client) event(e zk.Event) {
	switch {
	case e.Type == zk.EventSession && e.State == zk.StateExpired:
		c.lose(zk.ErrSessionExpired)
	case e.Type == zk.EventSession && e.State == zk.StateHasSession:
		c.began.Do(func() { close(c.first) })
		select {
		case c.joined <- struct{}{}:
		default:
		}
	case e.Path != "" && e.Err == nil:
		c.mu.Lock()
		seen := c.seen
		c.mu.Unlock()
		if seen != nil {
			seen(e)
		}
	}
}

// onNode has node events told to f, which must not block.
func (c *client) onNode(f func(zk.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = f
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

// watchSilence takes the session for lost when nothing that left within its life was
// answered: the servers may have ended it. It counts from the first session on.
func (c *client) watchSilence(ctx context.Context) {
	select {
	case <-c.first:
	case <-ctx.Done():
		return
	}
	for {
		left := c.wires.left()
		if left <= 0 {
			c.lose(errSilent)
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// errSilent says that no server was heard for a session's life.
var errSilent = errors.New("no ZooKeeper server was heard for the session timeout")

// complain is how often the log says what can't be reached.
const complain = 10 * time.Second

// join waits for a session.
func (c *client) join(ctx context.Context) error {
	tick := time.NewTicker(complain)
	defer tick.Stop()
	first := time.NewTimer(min(complain, c.place.SessionTimeout) / 2)
	defer first.Stop()
	for waiting := true; waiting; {
		select {
		case <-c.joined:
			waiting = false
		case <-first.C:
			c.complain()
		case <-tick.C:
			c.complain()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *client) complain() {
	c.wires.mu.Lock()
	trouble := c.wires.trouble
	c.wires.mu.Unlock()
	c.place.Logger.Warn("can't reach ZooKeeper: trying on", "servers", c.place.servers, "error", trouble)
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
		c.lose(errors.New("the session was given back"))
		if c.State() == zk.StateHasSession && c.wires.left() > 0 {
			c.Close()
		} else {
			c.owned.Go(c.Close) // nobody to tell, for which it would wait
		}
		c.stop()
		c.wires.cut()
	})
}

// prepare makes the folders that are always there, after one look at all of them.
func (c *client) prepare(ctx context.Context) error {
	p := c.place
	full := []string{"/"}
	if p.chroot != "" {
		full[0] = p.chroot
	}
	for _, path := range append([]string{electionPath, "/brain"}, edited...) {
		full = append(full, p.full(path))
	}
	found, err := c.wires.readBulk(ctx, opGetData, full)
	if errors.Is(err, errOld) {
		return fmt.Errorf("%w: %w: watches and reads of many nodes need 3.6 or later", registry.ErrUnusable, err)
	}
	if err != nil {
		return p.explain("look for", p.root, err)
	}
	if errors.Is(found[0].err, zk.ErrNoNode) {
		return fmt.Errorf("%w: there is no node %s in ZooKeeper, which the address %s names as chroot: make it (zkCli.sh create %s), or correct the address",
			registry.ErrUnusable, p.chroot, p.Servers, p.chroot)
	}
	for i, path := range full[1:] {
		switch err := found[i+1].err; {
		case errors.Is(err, zk.ErrNoNode):
			if err := c.make(path); err != nil {
				return err
			}
		case err != nil:
			return p.explain("read", path, err)
		}
	}
	return nil
}

// make makes a node, and before it its parents, where they are missing.
func (c *client) make(full string) error {
	there, _, err := c.Exists(full)
	if err != nil {
		return c.place.explain("look for", full, err)
	}
	if there {
		return nil
	}
	if above, _ := split(full); above != "/" && above != c.place.chroot {
		if err := c.make(above); err != nil {
			return err
		}
	}
	_, err = c.Create(full, mark, 0, c.place.acl)
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return c.place.explain("make the node", full, err)
	}
	return nil
}

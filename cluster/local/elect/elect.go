// Package elect is how Mesos' masters agree in ZooKeeper on which of them leads, and how
// that one is found: each has an ephemeral, sequential child json.info_0000000000 of one node,
// with its MasterInfo in JSON; the one with the lowest number leads.
//
// As in Mesos, a master that loses its session while it leads does not stand again: it
// has to end, and a new one begins with nothing in mind. One that merely stands by does.
package elect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// DefaultPath is the node of the masters when the group names none.
	DefaultPath = "/mesos"
	// DefaultSessionTimeout is Mesos' --zk_session_timeout.
	DefaultSessionTimeout = 10 * time.Second

	prefix = "json.info_"
	retry  = 200 * time.Millisecond
)

// ErrNoLeader tells that no master leads at present.
var ErrNoLeader = errors.New("no master leads at present")

// Group is where masters meet.
type Group struct {
	Servers []string // host:port
	Path    string   // begins with a slash
}

// ParseGroup reads "[zk://]host[:port],…[/path]"; the port is 2181 and the path
// DefaultPath by default.
func ParseGroup(text string) (Group, error) {
	hosts, folder, _ := strings.Cut(strings.TrimPrefix(text, "zk://"), "/")
	g := Group{Path: DefaultPath}
	if folder != "" {
		g.Path = path.Clean("/" + folder)
	}
	if strings.Contains(hosts, "@") {
		return g, errors.New("zookeeper with a user and password is not supported here")
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return g, fmt.Errorf("zookeeper servers %q: want host:port, separated by commas, with a path after them", text)
		}
		if !strings.Contains(host, ":") {
			host += ":2181"
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			return g, fmt.Errorf("zookeeper server %q: %w; want host:port", host, err)
		}
		g.Servers = append(g.Servers, host)
	}
	return g, nil
}

// String is the group as --mesos takes it.
func (g Group) String() string { return "zk://" + strings.Join(g.Servers, ",") + g.Path }

// Connection is a session with a group's ZooKeeper, and the next one when that is
// lost. Close it. Its methods may be called concurrently; they wait for ZooKeeper
// where it is away.
type Connection struct {
	group   Group
	timeout time.Duration
	log     *slog.Logger
	conn    *zk.Conn
	calls   sync.WaitGroup

	mu      sync.Mutex
	expired chan struct{} // closed when the present session is lost
	away    *time.Timer   // runs while there is no server
	closed  bool
}

// Connect returns at once; the connection is made, and made again, in the background.
// The timeout of its sessions is DefaultSessionTimeout when zero.
func Connect(group Group, timeout time.Duration, log *slog.Logger) (*Connection, error) {
	if timeout <= 0 {
		timeout = DefaultSessionTimeout
	}
	c := &Connection{group: group, timeout: timeout, log: log, expired: make(chan struct{})}
	c.mu.Lock() // events come from now on
	defer c.mu.Unlock()
	conn, _, err := zk.Connect(group.Servers, timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false), zk.WithEventCallback(c.event))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper %s: %w", group, err)
	}
	c.conn = conn
	return c, nil
}

// quiet keeps the library's log out of ours: what matters of it are events.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Close ends the session, and with it a candidate's node.
func (c *Connection) Close() {
	c.mu.Lock()
	c.closed = true
	if c.away != nil {
		c.away.Stop()
	}
	c.mu.Unlock()
	c.conn.Close()
	c.calls.Wait()
}

// event keeps account of the session. It is lost when the server says so, and, since nobody
// says anything while the network is cut, when there was no server for the session's time.
func (c *Connection) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		if c.away != nil {
			c.away.Stop()
			c.away = nil
		}
	case zk.StateDisconnected:
		if c.away == nil {
			expired := c.expired
			c.away = time.AfterFunc(c.timeout, func() { c.expire(expired) })
		}
	case zk.StateExpired:
		expired := c.expired
		go c.expire(expired)
	}
}

func (c *Connection) expire(session chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expired == session {
		close(session)
		c.expired = make(chan struct{})
	}
}

func (c *Connection) session() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expired
}

// do runs a call of the library, which knows no contexts; it ends with Close at the latest.
func do[T any](ctx context.Context, c *Connection, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		var none T
		return none, zk.ErrClosing
	}
	c.calls.Go(func() {
		value, err := call()
		done <- result{value, err}
	})
	c.mu.Unlock()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("wait for ZooKeeper %s: %w", c.group, ctx.Err())
	}
}

// Leader returns the leading master's hostname, which is told to others, and address.
func (c *Connection) Leader(ctx context.Context) (hostname string, address netip.AddrPort, err error) {
	data, err := do(ctx, c, func() ([]byte, error) {
		for {
			members, err := c.members()
			if err != nil {
				return nil, err
			}
			if len(members) == 0 {
				return nil, ErrNoLeader
			}
			data, _, err := c.conn.Get(path.Join(c.group.Path, members[0]))
			if !errors.Is(err, zk.ErrNoNode) {
				return data, err
			}
		}
	})
	if err != nil {
		return "", address, fmt.Errorf("look for the leading master in %s: %w", c.group, err)
	}
	var info struct {
		Address struct {
			Hostname, IP string
			Port         uint16
		}
	}
	if err = json.Unmarshal(data, &info); err == nil {
		address, err = netip.ParseAddrPort(net.JoinHostPort(info.Address.IP, strconv.Itoa(int(info.Address.Port))))
	}
	if err != nil {
		return "", address, fmt.Errorf("read what the leading master in %s says of itself: %w", c.group, err)
	}
	return info.Address.Hostname, address, nil
}

// members are the names of all candidates' nodes, the leader's first.
func (c *Connection) members() ([]string, error) {
	children, _, err := c.conn.Children(c.group.Path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	children = slices.DeleteFunc(children, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	slices.Sort(children)
	return children, err
}

package mesos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrNotLeading is a session's Err when ZooKeeper says that its master leads no longer.
var ErrNotLeading = errors.New("the master leads no longer")

var (
	errNoLeader = errors.New("no Mesos master leads")
	errClosed   = errors.New("the driver is closed")
	errSilent   = errors.New("does not answer")
)

// labelJSON begins the names of the nodes of masters, which hold JSON; those with
// "info_" are of masters before Mesos 0.24 and hold protobuf.
const labelJSON = "json.info_"

// retryDelay is the time between two looks for the leader of an open session while
// ZooKeeper doesn't answer.
const retryDelay = time.Second

// leader is a master that leads, as ZooKeeper has it.
type leader struct {
	// node is the master's node; a master that registers again has another.
	node string
	url  *url.URL
	// changed is closed when the answer may no longer hold.
	changed <-chan struct{}
}

func (l leader) same(other leader) bool { return l.node == other.node && *l.url == *other.url }

// detector finds the leading master in ZooKeeper. It remembers no answer: each
// question is a read. All share one connection, made at the first question.
type detector struct {
	at     zkAddress
	scheme string
	limit  time.Duration // of a question
	dial   dialer
	log    *slog.Logger
	ctx    context.Context // ends dials, with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	conn   *zkConn // nil before the first question
	closed bool

	// reading makes questions one at a time, and protects the fields below.
	reading sync.Mutex
	known   bool          // the server knows our credentials
	watch   chan struct{} // closed when the children changed; nil when no watch is out
}

func newDetector(at zkAddress, scheme string, limit time.Duration, dial dialer, log *slog.Logger) *detector {
	d := &detector{at: at, scheme: scheme, limit: limit, dial: dial, log: log}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// leader asks who leads. Its error wraps errNoLeader when ZooKeeper answered that nobody does.
func (d *detector) leader(ctx context.Context) (leader, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	for {
		l, err := d.ask(ctx)
		if !transient(err) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return leader{}, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// transient reports whether asking once more is likely to help: the connection broke
// under the question, or the master went between the two reads.
func transient(err error) bool {
	var broken *net.OpError
	return !errors.Is(err, errSilent) && (errors.As(err, &broken) || errors.Is(err, io.EOF) ||
		errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, errVanished))
}

var errVanished = errors.New("the leading master's node vanished")

// ask reads in a goroutine of its own, since zk's calls know no context.
func (d *detector) ask(ctx context.Context) (leader, error) {
	conn, err := d.open()
	if err != nil {
		return leader{}, err
	}
	type answer struct {
		leader
		err error
	}
	done := make(chan answer, 1)
	go func() {
		defer d.work.Done()
		l, err := d.read(conn.Conn)
		done <- answer{l, err}
	}()
	select {
	case a := <-done:
		if errors.Is(a.err, zk.ErrNoServer) {
			a.err = d.silent(conn, a.err)
		}
		return a.leader, a.err
	case <-ctx.Done():
		return leader{}, d.silent(conn, context.Cause(ctx))
	}
}

func (d *detector) silent(conn *zkConn, err error) error {
	if last := conn.lastError(); last != nil {
		return fmt.Errorf("ZooKeeper at %s %w: %w: %w", &d.at, errSilent, err, last)
	}
	return fmt.Errorf("ZooKeeper at %s %w: %w", &d.at, errSilent, err)
}

// open connects, once, and counts a question in, for which work.Done is called.
func (d *detector) open() (*zkConn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if d.conn == nil {
		conn, events, err := connectZK(d.ctx, d.at.servers, d.dial, d.log)
		if err != nil {
			return nil, fmt.Errorf("ZooKeeper at %s: %w", &d.at, err)
		}
		d.conn = conn
		d.work.Go(func() { // until the connection's own goroutines are gone
			for range events {
				continue
			}
		})
	}
	d.work.Add(1)
	return d.conn, nil
}

func (d *detector) read(conn *zk.Conn) (leader, error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	if !d.known && d.at.credentials != "" {
		if err := conn.AddAuth("digest", []byte(d.at.credentials)); err != nil {
			return leader{}, d.explain(err)
		}
		d.known = true
	}
	children, changed, err := d.children(conn)
	if err != nil {
		return leader{}, d.explain(err)
	}
	node, err := leading(children)
	if err != nil {
		return leader{}, fmt.Errorf("%w: %s in ZooKeeper %w", errNoLeader, &d.at, err)
	}
	data, _, err := conn.Get(d.at.path + "/" + node)
	if errors.Is(err, zk.ErrNoNode) {
		return leader{}, fmt.Errorf("%w: %s of %s", errVanished, node, &d.at)
	}
	if err != nil {
		return leader{}, d.explain(err)
	}
	to, err := masterURL(data, d.scheme)
	if err != nil {
		return leader{}, fmt.Errorf("the leading master's node %s of %s does not hold what Mesos writes: %w", node, &d.at, err)
	}
	return leader{node: node, url: to, changed: changed}, nil
}

// children reads them, and sees to a watch that was set before: what changes
// after the read closes changed. One watch serves all sessions until it fires.
func (d *detector) children(conn *zk.Conn) ([]string, <-chan struct{}, error) {
	if d.watch != nil {
		select {
		case <-d.watch:
		default:
			children, _, err := conn.Children(d.at.path)
			return children, d.watch, err
		}
	}
	children, _, fired, err := conn.ChildrenW(d.at.path)
	if err != nil {
		return nil, nil, err
	}
	changed := make(chan struct{})
	d.watch = changed
	d.work.Go(func() { // Add is in order with Close's Wait: the question that runs this is counted
		defer close(changed)
		select {
		case <-fired:
		case <-d.ctx.Done():
		}
	})
	return children, changed, nil
}

// explain says what ZooKeeper's no means here.
func (d *detector) explain(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoServer):
		return err // whose reason the connection knows
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w: ZooKeeper has no node %s: no master has registered there yet, or the path of %s is wrong", errNoLeader, d.at.path, &d.at)
	case errors.Is(err, zk.ErrNoAuth) && d.at.credentials == "":
		return fmt.Errorf("ZooKeeper does not let us read %s: give the user that the masters have, as zk://user:password@…: %w", &d.at, err)
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		return fmt.Errorf("ZooKeeper does not let the given user read %s: check user and password: %w", &d.at, err)
	default:
		return fmt.Errorf("ZooKeeper at %s: %w", &d.at, err)
	}
}

// close ends the connection and waits for all goroutines: a second, when ZooKeeper doesn't answer.
func (d *detector) close() {
	d.mu.Lock()
	d.closed = true
	conn := d.conn
	d.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	d.cancel()
	if conn != nil {
		conn.cut()
	}
	d.work.Wait()
}

// leading is the child of the master that leads: of those with JSON, the one with the
// lowest number. Masters keep other nodes there as well: their log's replicas.
func leading(children []string) (string, error) {
	best, lowest, old := "", int64(0), 0
	for _, child := range children {
		number, isJSON := strings.CutPrefix(child, labelJSON)
		if !isJSON {
			if strings.HasPrefix(child, "info_") {
				old++
			}
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil && (best == "" || n < lowest) {
			best, lowest = child, n
		}
	}
	switch {
	case best != "":
		return best, nil
	case len(children) == 0:
		return "", errors.New("has no children")
	case old > 0:
		return "", errors.New("has only masters from before Mesos 0.24 (info_…), too old for the v1 API")
	default:
		few := slices.Sorted(slices.Values(children))
		if len(few) > 3 {
			few = append(few[:3], "…")
		}
		return "", fmt.Errorf("has no child %s…, only %s: the path may be wrong", labelJSON, strings.Join(few, ", "))
	}
}

// masterURL reads a master's node. It prefers the IP address over the name as agentURL does.
func masterURL(data []byte, scheme string) (*url.URL, error) {
	var info struct {
		Address struct {
			Hostname, IP string
			Port         int
		}
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return nil, err
	}
	a := info.Address
	host := preferred(scheme, a.IP, a.Hostname)
	if host == "" || a.Port <= 0 || a.Port > 65535 {
		return nil, errors.New("no address with ip and port")
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(a.Port)), Path: schedulerPath}, nil
}

// preferred is the IP address rather than a name that may be known on its own machine
// only, except with https, whose certificates have names.
func preferred(scheme, ip, hostname string) string {
	if ip == "" || (scheme == "https" && hostname != "") {
		return hostname
	}
	return ip
}

package mesos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
)

// ErrNotLeading is a session's Err when ZooKeeper says that the session's master no longer leads.
var ErrNotLeading = errors.New("the master is no longer the leader")

var (
	errNoLeader = errors.New("no leading Mesos master")
	errClosed   = errors.New("the driver is closed")
	errNoAnswer = errors.New("does not answer")
)

// jsonPrefix is the prefix of the names of masters' nodes whose data is JSON. Nodes with the prefix "info_" belong to
// masters older than Mesos 0.24 and hold protobuf.
const jsonPrefix = "json.info_"

// zkSession is the timeout of the ZooKeeper session. Masters use the same timeout to find their leader. The driver
// stores nothing in ZooKeeper, so the timeout only decides how soon a dead server is noticed.
const zkSession = 10 * time.Second

// leader is the leading master according to ZooKeeper.
type leader struct {
	// node is the name of the master's node. It changes when the master registers again.
	node string
	url  *url.URL
}

// detector finds the leading master in ZooKeeper. It caches nothing: each query reads from ZooKeeper. All queries share
// one ZooKeeper session, which a query opens if there is none or if the last one has ended.
type detector struct {
	*zkAddress
	opts *Options

	mu      sync.Mutex
	client  *zookeeper.Client // nil before the first query
	closed  bool
	closing sync.WaitGroup // goroutines that close sessions that have ended
}

// leader reads which master leads. The error wraps errNoLeader if ZooKeeper answered that no master leads.
func (d *detector) leader(ctx context.Context) (leader, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opts.Timeouts.Answer)
	defer cancel()
	c, err := d.session()
	if err != nil {
		return leader{}, err
	}
	if err := c.Join(ctx); err != nil {
		return leader{}, d.explain(c, err)
	}
	var found leader
	err = c.Do(ctx, func() (err error) {
		found, err = d.read(ctx, c)
		return err
	})
	if err != nil {
		return leader{}, d.explain(c, err)
	}
	return found, nil
}

// session returns the open ZooKeeper session, or opens a new one.
func (d *detector) session() (_ *zookeeper.Client, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if d.client != nil && d.client.Context().Err() != nil {
		d.closing.Go(d.client.Close)
		d.client = nil
	}
	if d.client == nil {
		d.client, err = zookeeper.Connect(zookeeper.Options{
			Servers: d.servers, SessionTimeout: zkSession, Digest: d.credentials, GiveUp: true, Logger: d.opts.Logger,
			Dial: d.opts.Dial,
		})
	}
	return d.client, err
}

// read reads the leader's node. If the node disappears meanwhile, it tries again until ctx ends.
func (d *detector) read(ctx context.Context, c *zookeeper.Client) (leader, error) {
	for {
		var children []string
		err := c.Ask(ctx, func() (err error) {
			children, _, err = c.Children(d.path)
			return err
		})
		if err != nil {
			return leader{}, err
		}
		node, err := leaderNode(children)
		if err != nil {
			return leader{}, fmt.Errorf("%w: %s in ZooKeeper %w", errNoLeader, d, err)
		}
		var data []byte
		err = c.Ask(ctx, func() (err error) {
			data, _, err = c.Get(d.path + "/" + node)
			return err
		})
		if errors.Is(err, zk.ErrNoNode) { // the node disappeared between the two reads
			if err := c.Pause(ctx); err != nil {
				return leader{}, err
			}
			continue
		}
		if err != nil {
			return leader{}, err
		}
		to, err := masterURL(data, d.opts.TLS != nil)
		if err != nil {
			return leader{}, fmt.Errorf("the leading master's node %s of %s is not in Mesos' format: %w", node,
				d, err)
		}
		return leader{node: node, url: to}, nil
	}
}

// explain turns an error of the ZooKeeper session into a message for operators.
func (d *detector) explain(c *zookeeper.Client, err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("%w: ZooKeeper has no node %s: no master has registered there yet, or the path in %s is wrong", errNoLeader, d.path, d)
	case errors.Is(err, zk.ErrNoAuth) && d.credentials == "":
		return fmt.Errorf("read %s in ZooKeeper: permission denied: add the user that the masters have, as zk://user:password@…: %w", d, err)
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		return fmt.Errorf("read %s in ZooKeeper: permission denied for the given user: check user and password: %w", d,
			err)
	case zookeeper.Answered(err):
		return fmt.Errorf("ZooKeeper at %s: %w", d, err)
	case c.Context().Err() != nil:
		return fmt.Errorf("ZooKeeper at %s %w: %w", d, errNoAnswer, context.Cause(c.Context()))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		if why := c.Trouble(); why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
		return fmt.Errorf("ZooKeeper at %s %w: %w", d, errNoAnswer, err)
	default:
		return err
	}
}

// close ends the session and waits for all goroutines, which takes a second or two if ZooKeeper does not answer.
func (d *detector) close() {
	d.mu.Lock()
	d.closed = true
	client := d.client
	d.mu.Unlock()
	if client != nil {
		client.Close()
	}
	d.closing.Wait()
}

// leaderNode returns the node of the leading master: the JSON node with the lowest number. The path also contains
// other nodes of the masters, such as their replicated log.
func leaderNode(children []string) (string, error) {
	first, lowest, oldMasters := "", int64(0), 0
	for _, child := range children {
		number, isJSON := strings.CutPrefix(child, jsonPrefix)
		if !isJSON {
			if strings.HasPrefix(child, "info_") {
				oldMasters++
			}
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil && (first == "" || n < lowest) {
			first, lowest = child, n
		}
	}
	switch {
	case first != "":
		return first, nil
	case len(children) == 0:
		return "", errors.New("has no children")
	case oldMasters > 0:
		return "", errors.New("has only masters from before Mesos 0.24 (info_…), too old for the v1 API")
	default:
		shown := slices.Sorted(slices.Values(children))
		if len(shown) > 3 {
			shown = append(shown[:3], "…")
		}
		return "", fmt.Errorf("has no child %s…, only %s: the path may be wrong", jsonPrefix, strings.Join(shown, ", "))
	}
}

// masterURL returns the address of the scheduler API of the master that has written this data into its node.
func masterURL(data []byte, tls bool) (*url.URL, error) {
	var info struct {
		Address struct {
			Hostname, IP string
			Port         int
		}
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return nil, err
	}
	a, scheme := info.Address, "http"
	if tls {
		scheme = "https"
	}
	host := preferredHost(scheme, a.IP, a.Hostname)
	if host == "" || a.Port <= 0 || a.Port > 65535 {
		return nil, errors.New("no address with ip and port")
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(a.Port)), Path: schedulerPath}, nil
}

// preferredHost chooses the host of a URL. It prefers the IP address, because perhaps only the machine itself can
// resolve its hostname. With https it prefers the hostname, because certificates contain names.
func preferredHost(scheme, ip, hostname string) string {
	if ip == "" || (scheme == "https" && hostname != "") {
		return hostname
	}
	return ip
}

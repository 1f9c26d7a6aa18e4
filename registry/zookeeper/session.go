package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/registry"
)

const (
	// firstPause and maxPause bound the pause between tries, which grows with each consecutive failure.
	firstPause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
	// warnInterval is the interval at which the log repeats a lasting failure.
	warnInterval = 10 * time.Second
)

// client is a session of the registry.
type client struct {
	*zookeeper.Client
	namespace *namespace
}

// connect begins to open a session. watch receives the events of watches; it may be nil.
func (ns *namespace) connect(watch func(zk.Event)) (*client, error) {
	c, err := zookeeper.Connect(zookeeper.Options{
		Servers: ns.servers, SessionTimeout: ns.SessionTimeout, Digest: ns.Digest, Watch: watch, Logger: ns.Logger,
		Dial: ns.Dial,
	})
	return &client{c, ns}, err
}

// join waits until the session is open.
func (c *client) join(ctx context.Context) error {
	err := c.Join(ctx)
	if zookeeper.Answered(err) {
		return c.namespace.explain("open a session at", "/", err)
	}
	return err
}

// keepSession runs work on one session after the other until ctx ends. work calls succeeded when its session was
// usable, which resets the pause between two sessions. failed is called with the reason why a session ended.
func (ns *namespace) keepSession(ctx context.Context, watch func(zk.Event),
	work func(ctx context.Context, c *client, succeeded func()) error, failed func(error)) {
	var failures backoff
	for ctx.Err() == nil {
		c, err := ns.connect(watch)
		if err == nil {
			stop := context.AfterFunc(ctx, c.End) // also ends requests that wait for a connection
			err = work(ctx, c, failures.reset)
			stop()
			c.Close()
		}
		if ctx.Err() != nil {
			return
		}
		failed(err)
		select {
		case <-time.After(failures.next(rand.Float64())):
		case <-ctx.Done():
		}
	}
}

// backoff determines the pauses between tries. Its value is the upper bound of the last pause, which begins with
// firstPause and doubles with each consecutive failure, up to maxPause. A pause is a random time between half the
// bound and the bound, so that many servers do not retry at the same moment.
type backoff time.Duration

// next returns the pause after another failure. random is between 0 and 1.
func (b *backoff) next(random float64) time.Duration {
	*b = min(max(2**b, backoff(firstPause)), backoff(maxPause))
	half := time.Duration(*b / 2)
	return half + time.Duration(random*float64(half))
}

// reset records a success.
func (b *backoff) reset() { *b = 0 }

// prepare creates the permanent nodes.
func (c *client) prepare() error {
	ns := c.namespace
	if ns.chroot != "" {
		exists, _, err := c.Exists(ns.chroot)
		if err != nil {
			return ns.explain("look for", ns.chroot, err)
		}
		if !exists {
			return fmt.Errorf("%w: there is no node %s in ZooKeeper, which the address %s names as chroot: create it (zkCli.sh create %s), or correct the address",
				registry.ErrUnusable, ns.chroot, ns.Servers, ns.chroot)
		}
	}
	for _, path := range append([]string{electionPath, entriesPath, stagedPath, sharedPath}, editedFolders...) {
		if err := c.ensureNode(ns.full(path), nil); err != nil {
			return err
		}
	}
	if err := c.ensureNode(ns.full(fencePath), fence{}.bytes()); err != nil {
		return err
	}
	// This detects a wrong digest before the server stands for election.
	if _, _, err := c.Get(ns.full(entriesPath)); err != nil {
		return ns.explain("read", ns.full(entriesPath), err)
	}
	return c.protectShared()
}

// ensureNode creates the node at a ZooKeeper path, unless it exists. It first creates missing parents below the
// chroot.
func (c *client) ensureNode(path string, value []byte) error {
	exists, _, err := c.Exists(path)
	if err != nil {
		return c.namespace.explain("look for", path, err)
	}
	if exists {
		return nil
	}
	if parent := folderOf(path); parent != c.namespace.chroot {
		if err := c.ensureNode(parent, nil); err != nil {
			return err
		}
	}
	_, err = c.Create(path, value, 0, c.namespace.acl)
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return c.namespace.explain("create the node", path, err)
	}
	return nil
}

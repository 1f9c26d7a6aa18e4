package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-zookeeper/zk"
)

// namespace is the default namespace of the servers.
const namespace = "/elasticjob-cloud"

// ZKClient returns a client of the ZooKeeper servers.
func (c *Cluster) ZKClient() *zk.Conn {
	c.Helper()
	if c.zk == nil {
		c.zk = c.ZooKeepers[0].Client(c)
	}
	return c.zk
}

// node returns the absolute path of a node in the servers' namespace.
func (c *Cluster) node(path string) string { return c.chroot + namespace + path }

// Node returns the text of a node in the servers' namespace; "" if it does not exist.
func (c *Cluster) Node(path string) string {
	c.Helper()
	value, _, err := c.ZKClient().Get(c.node(path))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		c.Fatalf("read %s: %v", path, err)
	}
	return string(value)
}

// Create creates a node in the servers' namespace, with its parents.
func (c *Cluster) Create(path, value string) {
	c.Helper()
	parts := strings.Split(c.node(path), "/")
	for i := 2; i < len(parts); i++ {
		if _, err := c.ZKClient().Create(strings.Join(parts[:i], "/"), nil, 0, zk.WorldACL(zk.PermAll)); err != nil &&
			!errors.Is(err, zk.ErrNodeExists) {
			c.Fatalf("create the parents of %s: %v", path, err)
		}
	}
	if _, err := c.ZKClient().Create(c.node(path), []byte(value), 0, zk.WorldACL(zk.PermAll)); err != nil {
		c.Fatalf("create %s: %v", path, err)
	}
}

// SetNode sets the text of a node.
func (c *Cluster) SetNode(path, value string) {
	c.Helper()
	if _, err := c.ZKClient().Set(c.node(path), []byte(value), -1); err != nil {
		c.Fatalf("set %s: %v", path, err)
	}
}

// RemoveNode deletes a node and all nodes below it.
func (c *Cluster) RemoveNode(path string) {
	c.Helper()
	children, _, err := c.ZKClient().Children(c.node(path))
	if err != nil {
		c.Fatalf("list %s: %v", path, err)
	}
	for _, child := range children {
		c.RemoveNode(path + "/" + child)
	}
	if err := c.ZKClient().Delete(c.node(path), -1); err != nil {
		c.Fatalf("delete %s: %v", path, err)
	}
}

// Secret writes a file that only its owner can read, and returns its path.
func (c *Cluster) Secret(name, text string) string {
	c.Helper()
	path := filepath.Join(c.TempDir(), name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// AwaitCandidates waits until n servers are candidates of the election, including the leader.
func (c *Cluster) AwaitCandidates(n int) {
	c.Helper()
	c.Until(fmt.Sprint(n, " servers stand for election"), func() string {
		children, _, err := c.ZKClient().Children(c.node("/ha/election"))
		if err != nil {
			c.Fatal(err)
		}
		if len(children) != n {
			return fmt.Sprint(children)
		}
		return ""
	})
}

package zookeeper

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// prepare makes the folders that are always there.
func (c *client) prepare() error {
	p := c.place
	if p.chroot != "" {
		there, _, err := c.Exists(p.chroot)
		if err != nil {
			return p.explain("look for", p.chroot, err)
		}
		if !there {
			return fmt.Errorf("%w: there is no node %s in ZooKeeper, which the address %s names as chroot: make it (zkCli.sh create %s), or correct the address",
				registry.ErrUnusable, p.chroot, p.Servers, p.chroot)
		}
	}
	for _, path := range append([]string{electionPath, entriesPath, stagedPath}, edited...) {
		if err := c.make(p.full(path)); err != nil {
			return err
		}
	}
	// A wrong digest is found here, and not in the middle of the term's beginning.
	if _, _, err := c.Get(p.full(entriesPath)); err != nil {
		return p.explain("read", p.full(entriesPath), err)
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
	if above := folderOf(full); above != c.place.chroot {
		if err := c.make(above); err != nil {
			return err
		}
	}
	_, err = c.Create(full, []byte{}, 0, c.place.acl)
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return c.place.explain("make the node", full, err)
	}
	return nil
}

package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/campaign"
)

// Shared values use the follower's session, which every server has, whether it leads or not.

var _ registry.Shared = (*Registry)(nil)

func sharedNode(name string) string { return sharedPath + "/" + name }

// protectShared sets the digest's ACL on shared values that were created before a digest was configured. Otherwise
// everyone could read the keys in them. Their folder also gets the ACL, because it decides who can delete them.
func (c *client) protectShared() error {
	ns := c.namespace
	if ns.Digest == "" {
		return nil
	}
	folder := ns.full(sharedPath)
	names, _, err := c.Children(folder)
	if err != nil {
		return ns.explain("list", folder, err)
	}
	nodes := []string{folder}
	for _, name := range names {
		nodes = append(nodes, folder+"/"+name)
	}
	for _, node := range nodes {
		acl, stat, err := c.GetACL(node)
		if err == nil && slices.ContainsFunc(acl, func(a zk.ACL) bool { return a.Scheme == "world" }) {
			if _, err = c.SetACL(node, ns.acl, stat.Aversion); err == nil {
				ns.Logger.Warn("node restricted to the digest's user: it was open to everyone who reaches ZooKeeper, and anyone who has read keys in it still has them", "node", node)
			}
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return ns.explain("protect", node, err)
		}
	}
	return nil
}

// ReadShared reads a shared value. While ZooKeeper can't be reached, it retries until ctx ends.
func (r *Registry) ReadShared(ctx context.Context, name string) (registry.Entry, error) {
	if err := registry.CheckShared(name, false, nil, registry.Condition{}); err != nil {
		return registry.Entry{}, err
	}
	for {
		c, err := r.session(ctx)
		if err != nil {
			return registry.Entry{}, fmt.Errorf("read the shared value %s: %w", name, err)
		}
		value, stat, err := c.getShared(ctx, name)
		switch {
		case err == nil:
			return registry.Entry{Path: name, Value: value, Version: int64(stat.Version)}, nil
		case errors.Is(err, zk.ErrNoNode):
			return registry.Entry{}, fmt.Errorf("the shared value %s: %w", name, registry.ErrNotFound)
		case zookeeper.Answered(err):
			return registry.Entry{}, c.namespace.explain("read", c.namespace.full(sharedNode(name)), err)
		}
		if err := r.pauseBeforeRetry(ctx); err != nil {
			return registry.Entry{}, fmt.Errorf("read the shared value %s: %w", name, err)
		}
	}
}

// getShared reads a shared value with one request.
func (c *client) getShared(ctx context.Context, name string) ([]byte, *zk.Stat, error) {
	type answer struct {
		value []byte
		stat  *zk.Stat
	}
	answers := make(chan answer, 1)
	err := c.Do(ctx, func() error {
		value, stat, err := c.Get(c.namespace.full(sharedNode(name)))
		answers <- answer{value, stat}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	a := <-answers
	return a.value, a.stat, nil
}

// WriteShared writes a shared value. While ZooKeeper can't be reached, it retries until ctx ends. If an answer is
// lost, it writes again. The condition keeps the value from being written twice, and the stored value then shows
// whether the first write succeeded.
func (r *Registry) WriteShared(ctx context.Context, name string, value []byte,
	condition registry.Condition) (version int64, err error) {
	if err := registry.CheckShared(name, true, value, condition); err != nil {
		return 0, err
	}
	mayBeWritten, prepared := false, false // an earlier try may have written the value; missing nodes were created
	fail := func(err error) (int64, error) {
		err = fmt.Errorf("write the shared value %s: %w", name, err)
		if mayBeWritten {
			err = fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, err)
		}
		return 0, err
	}
	for {
		c, err := r.session(ctx)
		if err != nil {
			return fail(err)
		}
		err = c.putShared(ctx, name, value, condition)
		switch {
		case err == nil:
			return versionAfter(condition), nil
		case isUnmet(err, condition) && mayBeWritten:
			return c.wasWritten(ctx, name, value, condition)
		case isUnmet(err, condition):
			return 0, &registry.Conflict{Path: name}
		case errors.Is(err, zk.ErrNoNode) && !prepared:
			prepared = true
			if err := c.Do(ctx, c.prepare); err != nil {
				return fail(err)
			}
			continue
		case zookeeper.Answered(err):
			return fail(c.namespace.explain("write", c.namespace.full(sharedNode(name)), err))
		}
		mayBeWritten = true
		if err := r.pauseBeforeRetry(ctx); err != nil {
			return fail(err)
		}
	}
}

// putShared writes a shared value with one request.
func (c *client) putShared(ctx context.Context, name string, value []byte, condition registry.Condition) error {
	full := c.namespace.full(sharedNode(name))
	return c.Do(ctx, func() (err error) {
		if condition.WantsAbsent() {
			_, err = c.Create(full, value, 0, c.namespace.acl)
			return err
		}
		version, _ := condition.Version()
		_, err = c.Set(full, value, int32(version))
		return err
	})
}

// versionAfter returns the version that a value has after a write with this condition.
func versionAfter(condition registry.Condition) int64 {
	version, ok := condition.Version()
	if !ok {
		return 0
	}
	return version + 1
}

// isUnmet reports whether ZooKeeper refused a write because its condition does not hold.
func isUnmet(err error, condition registry.Condition) bool {
	if condition.WantsAbsent() {
		return errors.Is(err, zk.ErrNodeExists)
	}
	return errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode)
}

// wasWritten determines why a repeated write was refused. If an earlier try, whose answer was lost, has written the
// value, it returns the version. Otherwise it returns a *registry.Conflict, or registry.ErrOutcomeUnknown if the value
// has changed again. The session of the refusal reads at least the state that caused the refusal.
func (c *client) wasWritten(
	ctx context.Context, name string, value []byte, condition registry.Condition,
) (int64, error) {
	stored, stat, err := c.getShared(ctx, name)
	switch version := versionAfter(condition); {
	case err != nil:
		return 0, fmt.Errorf("%w: write the shared value %s: %w", registry.ErrOutcomeUnknown, name, err)
	case int64(stat.Version) == version && bytes.Equal(stored, value):
		return version, nil
	case int64(stat.Version) == version:
		return 0, &registry.Conflict{Path: name}
	}
	return 0, fmt.Errorf("%w: write the shared value %s: it has changed again since", registry.ErrOutcomeUnknown, name)
}

// session waits until the follower's session is open. If ctx ends first, the error says why the session is not open.
func (r *Registry) session(ctx context.Context) (*client, error) {
	for {
		if c := r.follower.session(); c != nil && c.Context().Err() == nil {
			if err := c.join(ctx); err == nil || zookeeper.Answered(err) {
				return c, err
			}
		}
		if err := r.pauseBeforeRetry(ctx); err != nil {
			return nil, err
		}
	}
}

func (r *Registry) pauseBeforeRetry(ctx context.Context) error {
	select {
	case <-time.After(firstPause / 10):
		return nil
	case <-r.leadership.Context().Done():
		return campaign.ErrClosed
	case <-ctx.Done():
		if trouble := r.follower.trouble(); trouble != nil {
			return fmt.Errorf("%w: %w", trouble, ctx.Err())
		}
		return ctx.Err()
	}
}

package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Node is a node of a namespace as a backup has it, by its path below the namespace.
type Node struct {
	Path  string `json:"node"`
	Value []byte `json:"value"`
}

// ErrBusy is wrapped by Backup's error when the leader has committed something during each try to read all of it.
var ErrBusy = errors.New("the leader commits something all the time")

// Backup reads a namespace as it is between two commits, whoever leads: if the fence has changed meanwhile it reads again, until ctx ends,
// which is ErrBusy then. What people edit may have changed while it is read. Sessions' own nodes and parts of commits are left out.
func Backup(ctx context.Context, o Options) (nodes []Node, err error) {
	err = o.within(ctx, func(c *client) error {
		for tries := 0; ; tries++ {
			done := false
			switch nodes, done, err = c.readBetweenCommits(ctx); {
			case tries > 0 && ctx.Err() != nil:
				return ErrBusy
			case done || err != nil:
				return err
			case c.Pause(ctx) != nil:
				return ErrBusy
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the namespace %s of ZooKeeper %s: %w", o.Namespace, o.Servers, err)
	}
	return nodes, nil
}

// joinPatience is for how long a ZooKeeper is tried that does not answer: somebody waits at a terminal.
const joinPatience = 20 * time.Second

// within does something on a session of its own. A request that waits for a connection ends with ctx.
func (o Options) within(ctx context.Context, do func(*client) error) error {
	p, err := newPlace(o)
	if err != nil {
		return err
	}
	c, err := p.connect(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.End)()
	joining, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	if err := c.join(joining); err != nil {
		if trouble := c.Trouble(); joining.Err() != nil && trouble != nil {
			err = trouble
		}
		return fmt.Errorf("open a session: %w", err)
	}
	return do(c)
}

// readBetweenCommits reads all nodes, and reports whether they are of one moment for what only the leader writes.
func (c *client) readBetweenCommits(ctx context.Context) (nodes []Node, sure bool, err error) {
	before, err := c.fenceZxid(ctx)
	if err != nil {
		return nil, false, err
	}
	for level := []string{""}; len(level) > 0; {
		read, below, err := c.readLevel(ctx, level)
		if err != nil {
			return nil, false, err
		}
		nodes, level = append(nodes, read...), below
	}
	after, err := c.fenceZxid(ctx)
	if err != nil {
		return nil, false, err
	}
	applying := slices.ContainsFunc(nodes, func(n Node) bool { return n.Path == namedPath })
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return nodes, before == after && !applying, nil
}

// fenceZxid is another one after each commit.
func (c *client) fenceZxid(ctx context.Context) (zxid int64, err error) {
	full := c.place.full(fencePath)
	err = c.Ask(ctx, func() error {
		_, stat, err := c.Get(full)
		if err == nil {
			zxid = stat.Mzxid
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return 0, fmt.Errorf("there is no node %s: no server has led there; check --zk and --zk-namespace", full)
	}
	if err != nil {
		return 0, c.place.explain("read", full, err)
	}
	return zxid, nil
}

// readLevel reads nodes, and says which are below them. One that is gone since is left out: what the leader has removed shows in the fence.
func (c *client) readLevel(ctx context.Context, paths []string) (nodes []Node, below []string, err error) {
	var mu sync.Mutex
	err = parallel(ctx, reads, len(paths), func(ctx context.Context, i int) error {
		full := c.place.full(paths[i])
		var value []byte
		var names []string
		err := c.Ask(ctx, func() error {
			v, stat, err := c.Get(full)
			if value = v; err == nil && stat.NumChildren > 0 {
				names, _, err = c.Children(full)
			}
			return err
		})
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return c.place.explain("read", full, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if paths[i] != "" {
			nodes = append(nodes, Node{paths[i], value})
		}
		if paths[i] == electionPath || paths[i] == stagedPath {
			return nil
		}
		for _, name := range names {
			below = append(below, paths[i]+"/"+name)
		}
		return nil
	})
	return nodes, below, err
}

// makeAll makes nodes, those nearest to the root first, but for the fence: what is there without it is half a copy.
func (c *client) makeAll(ctx context.Context, nodes []Node) error {
	byDepth := map[int][]Node{}
	for _, n := range nodes {
		if n.Path != fencePath {
			depth := strings.Count(n.Path, "/")
			byDepth[depth] = append(byDepth[depth], n)
		}
	}
	for _, depth := range slices.Sorted(maps.Keys(byDepth)) {
		level := byDepth[depth]
		if err := parallel(ctx, reads, len(level), func(_ context.Context, i int) error {
			return c.make(c.place.full(level[i].Path), level[i].Value)
		}); err != nil {
			return err
		}
	}
	return nil
}

// termsApart is how many terms there may have been since a backup: the first one after it was restored has a number that none of
// them had, so that nothing takes the one for the other, the history above all.
const termsApart = 1000

// Restore makes the nodes of a backup in a namespace that is not there, or has nothing in it; any other is refused, and left as it is. No
// server may run with it meanwhile. Cut off, it leaves what it has made, which is to be removed before the next try.
func Restore(ctx context.Context, o Options, nodes []Node) error {
	for _, n := range nodes {
		if err := checkPath(n.Path); err != nil && !isEdited(n.Path) {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
	}
	err := o.within(ctx, func(c *client) error {
		root := c.place.root
		names, _, err := c.Children(root)
		switch {
		case err == nil && len(names) > 0:
			return fmt.Errorf("there is something already: %s has %s; choose another --zk-namespace, or stop all servers and remove it (zkCli.sh deleteall %s)",
				root, strings.Join(names, ", "), root)
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return c.place.explain("list", root, err)
		}
		fence := slices.IndexFunc(nodes, func(n Node) bool { return n.Path == fencePath })
		if fence < 0 {
			return errors.New("the backup is damaged: it has no " + fencePath)
		}
		if err := c.makeAll(ctx, nodes); err != nil {
			return err
		}
		value, err := laterFence(nodes[fence].Value)
		if err != nil {
			return fmt.Errorf("the backup is damaged: its fence: %w", err)
		}
		return c.make(c.place.full(fencePath), value)
	})
	if err != nil {
		return fmt.Errorf("restore into the namespace %s of ZooKeeper %s: %w", o.Namespace, o.Servers, err)
	}
	return nil
}

// laterFence is a fence whose terms can't be those of after a backup.
func laterFence(value []byte) ([]byte, error) {
	f, err := readFence(value)
	return fence{term: f.term + termsApart}.bytes(), err
}

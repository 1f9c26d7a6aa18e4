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

// Node is a node of a namespace in a backup. Path is relative to the namespace.
type Node struct {
	Path  string `json:"node"`
	Value []byte `json:"value"`
}

// These errors mean that Backup could not read a state between two commits before ctx ended.
var (
	// ErrBusy means that commits were made during the last read.
	ErrBusy = errors.New("no pause between two commits of the leader was long enough to read all of it")
	// ErrUnfinished means that the last read found a large commit of which only a part was applied. A leader must
	// finish it.
	ErrUnfinished = errors.New("a leader must finish a large commit first")
)

// Backup reads a namespace as it is between two commits, with or without a leader. If a commit is made during a read,
// or a large commit is not finished, Backup reads again. When ctx ends, the error is ErrBusy or ErrUnfinished. Entries
// that users may edit may change during the read. Ephemeral nodes and parts of commits are left out.
func Backup(ctx context.Context, o Options) (nodes []Node, err error) {
	err = o.withSession(ctx, func(c *client) error {
		lastErr := ErrBusy
		for {
			read, err := c.readBetweenCommits(ctx)
			switch {
			case ctx.Err() != nil:
				return lastErr
			case err == nil:
				nodes = read
				return nil
			case !errors.Is(err, ErrBusy) && !errors.Is(err, ErrUnfinished):
				return err
			}
			if lastErr = err; c.Pause(ctx) != nil {
				return lastErr
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the namespace %s of ZooKeeper %s: %w", o.Namespace, o.Servers, err)
	}
	return nodes, nil
}

// ReadAll reads a namespace and changes nothing. The namespace may be one in which no server of this scheduler has
// led. Its nodes may change during the read. candidates are the values of the election nodes of running servers, in no
// order; those of the original are host:port. If the namespace does not exist, ReadAll returns no nodes and no
// candidates.
func ReadAll(ctx context.Context, o Options) (nodes []Node, candidates []string, err error) {
	err = o.withSession(ctx, func(c *client) error {
		for level := []string{""}; len(level) > 0; {
			read, children, err := c.readLevel(ctx, level)
			if err != nil {
				return err
			}
			nodes, level = append(nodes, read...), children
		}
		return c.Ask(ctx, func() error {
			election := c.namespace.full(electionPath)
			names, _, err := c.Children(election)
			for i := 0; i < len(names) && err == nil; i++ {
				var address []byte
				if address, _, err = c.Get(election + "/" + names[i]); err == nil {
					candidates = append(candidates, string(address))
				}
			}
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the namespace %s of ZooKeeper %s: %w", o.Namespace, o.Servers, err)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return nodes, candidates, nil
}

// joinTimeout is how long a command waits for a session. Its user waits at a terminal meanwhile.
const joinTimeout = 20 * time.Second

// withSession calls do with a new session, which it then closes. The end of ctx also ends requests that wait for a
// connection.
func (o Options) withSession(ctx context.Context, do func(*client) error) error {
	ns, err := newNamespace(o)
	if err != nil {
		return err
	}
	c, err := ns.connect(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.End)()
	joinCtx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	if err := c.join(joinCtx); err != nil {
		if trouble := c.Trouble(); joinCtx.Err() != nil && trouble != nil {
			err = trouble
		}
		return fmt.Errorf("open a session: %w", err)
	}
	return do(c)
}

// readBetweenCommits reads all nodes. It returns ErrBusy if a commit was made during the read, and ErrUnfinished if a
// large commit is not finished.
func (c *client) readBetweenCommits(ctx context.Context) (nodes []Node, err error) {
	before, err := c.fenceZxid(ctx)
	if err != nil {
		return nil, err
	}
	for level := []string{""}; len(level) > 0; {
		read, children, err := c.readLevel(ctx, level)
		if err != nil {
			return nil, err
		}
		nodes, level = append(nodes, read...), children
	}
	after, err := c.fenceZxid(ctx)
	switch {
	case err != nil:
		return nil, err
	case before != after:
		return nil, ErrBusy
	case slices.ContainsFunc(nodes, func(n Node) bool { return n.Path == namedPath }):
		return nil, ErrUnfinished
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return nodes, nil
}

// fenceZxid returns the number of the transaction that last set the fence. Every commit changes it.
func (c *client) fenceZxid(ctx context.Context) (zxid int64, err error) {
	full := c.namespace.full(fencePath)
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
		return 0, c.namespace.explain("read", full, err)
	}
	return zxid, nil
}

// readLevel reads nodes, and returns them together with the paths of their children. It leaves out a node that was
// removed meanwhile: if the leader has removed the node, the fence has changed too.
func (c *client) readLevel(ctx context.Context, paths []string) (nodes []Node, children []string, err error) {
	var mu sync.Mutex
	err = parallel(ctx, maxReads, len(paths), func(ctx context.Context, i int) error {
		full := c.namespace.full(paths[i])
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
			return c.namespace.explain("read", full, err)
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
			children = append(children, paths[i]+"/"+name)
		}
		return nil
	})
	return nodes, children, err
}

// restoring is the value of the fence while a namespace is restored. With this value no server can begin a term.
const restoring = "restoring"

// Restore creates the nodes of a backup, without the entries at the paths in without. The namespace must be empty or
// not exist; otherwise Restore returns an error and changes nothing. No server may use the namespace meanwhile: it
// could not lead, and Restore fails when it finds the server's nodes. After a restore that failed or was interrupted,
// no server can lead with the namespace. Remove the namespace before the next try.
func Restore(ctx context.Context, o Options, nodes []Node, without ...string) error {
	for _, n := range nodes {
		if err := checkPath(n.Path); err != nil && !isEdited(n.Path) {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Path == fencePath })
	if i < 0 {
		return errors.New("the backup is damaged: it has no " + fencePath)
	}
	f, err := readFence(nodes[i].Value)
	if err != nil {
		return fmt.Errorf("the backup is damaged: its fence: %w", err)
	}
	err = o.withSession(ctx, func(c *client) error {
		if err := c.checkEmpty(); err != nil {
			return err
		}
		if err := c.ensureNode(c.namespace.full(ownPath), nil); err != nil {
			return err
		}
		if err := c.createNew(Node{fencePath, []byte(restoring)}); err != nil {
			return err
		}
		if err := c.createNodes(ctx, nodes, without); err != nil {
			return err
		}
		return c.openFence(fence{term: f.term})
	})
	if err != nil {
		return fmt.Errorf("restore into the namespace %s of ZooKeeper %s: %w", o.Namespace, o.Servers, err)
	}
	return nil
}

// checkEmpty returns an error that lists the children of the namespace, or nil if it has none.
func (c *client) checkEmpty() error {
	root := c.namespace.root
	names, _, err := c.Children(root)
	switch {
	case err == nil && len(names) > 0:
		return fmt.Errorf("the namespace is not empty: %s has %s; choose another --zk-namespace, or stop all servers and remove it (zkCli.sh deleteall %s)",
			root, strings.Join(names, ", "), root)
	case err != nil && !errors.Is(err, zk.ErrNoNode):
		return c.namespace.explain("list", root, err)
	}
	return nil
}

// createNodes creates nodes, parents before children. It skips the entries at the paths in without, and the registry's
// folder and fence, which already exist.
func (c *client) createNodes(ctx context.Context, nodes []Node, without []string) error {
	skipped := []string{ownPath, fencePath}
	for _, path := range without {
		skipped = append(skipped, nodeOf(path))
	}
	byDepth := map[int][]Node{}
	for _, n := range nodes {
		if !slices.Contains(skipped, n.Path) {
			depth := strings.Count(n.Path, "/")
			byDepth[depth] = append(byDepth[depth], n)
		}
	}
	for _, depth := range slices.Sorted(maps.Keys(byDepth)) {
		level := byDepth[depth]
		if err := parallel(ctx, maxReads, len(level),
			func(_ context.Context, i int) error { return c.createNew(level[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// createNew creates a node. It returns an error if the node exists, because then a server has created it during the
// restore, perhaps with other keys than those of the backup.
func (c *client) createNew(n Node) error {
	full := c.namespace.full(n.Path)
	_, err := c.Create(full, n.Value, 0, c.namespace.acl)
	if errors.Is(err, zk.ErrNodeExists) {
		return c.inUseError(full + " was created by another program meanwhile")
	}
	if err != nil {
		return c.namespace.explain("create the node", full, err)
	}
	return nil
}

// openFence sets the fence, so that servers can lead. It returns an error if a server already stands for election,
// because that server may have read values during the restore.
func (c *client) openFence(f fence) error {
	candidates, err := c.readCandidates()
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if len(candidates) > 0 {
		return c.inUseError("a server stands for election")
	}
	full := c.namespace.full(fencePath)
	if _, err := c.Set(full, f.bytes(), 0); err != nil {
		return c.namespace.explain("write", full, err)
	}
	return nil
}

func (c *client) inUseError(evidence string) error {
	return fmt.Errorf("a server uses this namespace: %s; stop all servers, remove what is there (zkCli.sh deleteall %s), and restore again",
		evidence, c.namespace.root)
}

package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Reads travel together: bulkNodes in a request, and bulksInFlight requests at a
// time. What is in flight is at most some 100 MiB, when all values are of the largest kind
// that the scheduler writes.
const (
	bulkNodes     = 64
	bulksInFlight = 6
)

// parallel runs n pieces of work, some at a time, until the first error.
func parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(bulksInFlight, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := work(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// bulk reads values or children of many nodes, however often the connection
// breaks while the session lives. A node that is not there has zk.ErrNoNode in its
// place, one that may not be read zk.ErrNoAuth, with its stat.
func (t *term) bulk(ctx context.Context, code int32, paths []string) ([]got, error) {
	found := make([]got, len(paths))
	parts := (len(paths) + bulkNodes - 1) / bulkNodes
	err := parallel(ctx, parts, func(ctx context.Context, part int) error {
		from := part * bulkNodes
		to := min(from+bulkNodes, len(paths))
		full := make([]string, 0, to-from)
		for _, path := range paths[from:to] {
			full = append(full, t.place.full(path))
		}
		for {
			some, err := t.client.wires.readBulk(ctx, code, full)
			if err == nil {
				copy(found[from:to], some)
				return t.checkBulk(ctx, found[from:to], paths[from:to])
			}
			if err := t.wait(ctx); err != nil {
				return err
			}
		}
	})
	return found, err
}

// checkBulk looks up the stat of nodes that may not be read, for which nobody needs a permission.
func (t *term) checkBulk(ctx context.Context, found []got, paths []string) error {
	for i := range found {
		switch g := &found[i]; {
		case errors.Is(g.err, zk.ErrNoAuth):
			stat, err := t.stat(ctx, paths[i])
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			if g.stat = stat; err != nil {
				g.err = err
			}
		case g.err != nil && !errors.Is(g.err, zk.ErrNoNode):
			return t.permitted("read", paths[i], g.err)
		}
	}
	return nil
}

// stat looks at a node without its value, or returns zk.ErrNoNode.
func (t *term) stat(ctx context.Context, path string) (zk.Stat, error) {
	for {
		there, stat, err := t.client.Exists(t.place.full(path))
		switch {
		case err == nil && there:
			return *stat, nil
		case err == nil:
			return zk.Stat{}, zk.ErrNoNode
		case answered(err):
			return zk.Stat{}, t.permitted("look for", path, err)
		}
		if err := t.wait(ctx); err != nil {
			return zk.Stat{}, err
		}
	}
}

// unreadable is the entry of a node that may not be read, whose kind nobody can see.
func (t *term) unreadable(path string, version int32) registry.Entry {
	return registry.Entry{Path: path, Version: int64(version), Unreadable: t.refusal(path)}
}

// List is of one moment for what only the leader writes: no commit happens
// meanwhile. What others edit may change while it is read; each entry is as it was at
// some moment. A folder whose children may not be listed is an entry that is Unreadable.
func (t *term) List(ctx context.Context, path string) ([]registry.Entry, error) {
	if path != "/" {
		if err := checkPath(path); err != nil {
			return nil, err
		}
	}
	var found []registry.Entry
	err := t.reading(ctx, func(ctx context.Context) (err error) {
		t.writing.RLock()
		defer t.writing.RUnlock()
		found, err = t.walk(ctx, path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	slices.SortFunc(found, func(a, b registry.Entry) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// walk reads all below a path, level by level.
func (t *term) walk(ctx context.Context, path string) (found []registry.Entry, err error) {
	for level := []string{path}; len(level) > 0; {
		below, closed, err := t.childrenOf(ctx, level)
		if err != nil {
			return nil, err
		}
		for _, folder := range closed {
			if folder == path {
				return nil, t.permitted("list", path, zk.ErrNoAuth)
			}
			found = append(found, t.unreadable(folder, 0))
		}
		level = nil
		values, err := t.bulk(ctx, opGetData, below)
		if err != nil {
			return nil, err
		}
		for i, g := range values {
			if errors.Is(g.err, zk.ErrNoNode) {
				continue // gone since
			}
			n := nodeOf(below[i], g.value, &g.stat)
			if g.err != nil {
				n.zxid = 0
				t.known.set(below[i], n)
				t.changes.probe(below[i])
				found = append(found, t.unreadable(below[i], n.version))
				continue
			}
			if n.kind == entry {
				found = append(found, registry.Entry{Path: below[i], Value: g.value, Version: int64(n.version)})
			}
			t.known.set(below[i], n)
			if n.children > 0 {
				level = append(level, below[i])
			} else if n.kind == parent && removable(below[i]) {
				t.dropLater(below[i])
			}
		}
	}
	return found, nil
}

// childrenOf lists the children of several nodes, and keeps that they are all. Closed
// are those of the nodes whose children may not be listed.
func (t *term) childrenOf(ctx context.Context, paths []string) (below, closed []string, err error) {
	// Candidates come and go, and are no entries.
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == electionPath })
	found, err := t.bulk(ctx, opGetChildren, paths)
	if err != nil {
		return nil, nil, err
	}
	for i, path := range paths {
		if errors.Is(found[i].err, zk.ErrNoAuth) {
			closed = append(closed, path)
		}
		if found[i].err != nil {
			continue
		}
		if n, ok := t.known.at(path); ok && n.kind != absent {
			n.whole, n.children = true, int32(len(found[i].names))
			t.known.set(path, n)
		}
		for _, name := range found[i].names {
			if child := join(path, name); !hidden(child) {
				below = append(below, child)
			}
		}
	}
	return below, closed, nil
}

// dropLater has the next commits remove a parent that nothing is below.
func (t *term) dropLater(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.litter[path] = true
}

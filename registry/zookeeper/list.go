package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

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
	return registry.Entry{Path: path, Version: int64(version), Unreadable: t.place.noPermission(t.place.full(path))}
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
		return t.aside(ctx, fence{t.leader.Term, t.commits}, func(r *reader) (err error) {
			found, err = r.walk(ctx, path)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	slices.SortFunc(found, func(a, b registry.Entry) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// walk reads all below a path, level by level.
func (r *reader) walk(ctx context.Context, path string) (found []registry.Entry, err error) {
	t := r.term
	for level := []string{path}; len(level) > 0; {
		below, closed, err := r.childrenOf(ctx, level)
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
		values, err := r.bulk(ctx, opGetData, below)
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
			if bad := checkPath(below[i]); bad != nil && isEdited(below[i]) {
				found = append(found, misnamed(below[i], n.version, bad))
			} else if n.kind == entry {
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
func (r *reader) childrenOf(ctx context.Context, paths []string) (below, closed []string, err error) {
	t := r.term
	// Candidates come and go, and are no entries.
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == electionPath })
	found, err := r.bulk(ctx, opGetChildren, paths)
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

// dropLater has the next commits remove a parent that nothing is below, unless that was refused before.
func (t *term) dropLater(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if folder, _ := split(path); !t.spared[folder] {
		t.litter[path] = true
	}
}

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
// breaks while the session lives. A node that is not there has zk.ErrNoNode in its place.
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
				return t.take(found[from:to], some, paths[from:to])
			}
			if err := t.wait(ctx); err != nil {
				return err
			}
		}
	})
	return found, err
}

func (t *term) take(into, some []got, paths []string) error {
	for i, g := range some {
		if g.err != nil && !errors.Is(g.err, zk.ErrNoNode) {
			return t.permitted("read", paths[i], g.err)
		}
	}
	copy(into, some)
	return nil
}

// List is of one moment for what only the leader writes: no commit happens
// meanwhile. What others edit may change while it is read; each entry is as it was at some moment.
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
		below, err := t.childrenOf(ctx, level)
		if err != nil {
			return nil, err
		}
		level = nil
		values, err := t.bulk(ctx, opGetData, below)
		if err != nil {
			return nil, err
		}
		for i, g := range values {
			if g.err != nil {
				continue // gone since
			}
			n := nodeOf(below[i], g.value, &g.stat)
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

// childrenOf lists the children of several nodes, and keeps that they are all.
func (t *term) childrenOf(ctx context.Context, paths []string) (below []string, err error) {
	// Candidates come and go, and are no entries.
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == electionPath })
	found, err := t.bulk(ctx, opGetChildren, paths)
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
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
	return below, nil
}

// dropLater has the next commits remove a parent that nothing is below.
func (t *term) dropLater(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.litter[path] = true
}

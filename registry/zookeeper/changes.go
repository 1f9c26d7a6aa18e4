package zookeeper

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// changes tells what changes below the edited folders. One recursive watch per
// folder tells every change (ZooKeeper 3.6 or later); what changed
// while there was no connection is found by reading what is there again. ZooKeeper tells
// nothing of changed ACLs, and, since 3.8.4, of no node that may not be read: such nodes are
// tried again every probeEvery, and all are looked at every lookEvery, or more seldom where they are many.
type changes struct {
	term *term
	out  chan string
	// wake has a token when pending has paths, or a new connection wants a look.
	wake chan struct{}

	mu      sync.Mutex
	pending []string
	queued  map[string]bool
	closed  map[string]bool // what may not be read, as far as is known

	troubles map[string]string // what hindered the last look, by folder; run's
}

const (
	probeEvery = time.Second
	probeMost  = 500
	lookEvery  = 10 * time.Second
	// lookPerNode is how much longer, of each node, it is to the next look.
	lookPerNode = 5 * time.Millisecond
)

func newChanges(t *term) *changes {
	return &changes{term: t, out: make(chan string), wake: make(chan struct{}, 1), queued: map[string]bool{}, closed: map[string]bool{}}
}

// Changed is not closed when the term ends.
func (t *term) Changed() <-chan string { return t.changes.out }

// event takes what the session's watches tell.
func (c *changes) event(e zk.Event) {
	path, ours := strings.CutPrefix(e.Path, c.term.place.root)
	if !ours || e.Type == zk.EventNodeChildrenChanged {
		return
	}
	for _, folder := range edited {
		if strings.HasPrefix(path, folder+"/") {
			c.tell(path)
		}
	}
}

// tell queues a path. What was known of it may be wrong.
func (c *changes) tell(path string) {
	c.term.known.forget(path)
	c.mu.Lock()
	if !c.queued[path] {
		c.queued[path] = true
		c.pending = append(c.pending, path)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *changes) next() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return "", false
	}
	path := c.pending[0]
	c.pending = c.pending[1:]
	delete(c.queued, path)
	return path, true
}

// run hands paths out while the term lasts.
func (c *changes) run() {
	t := c.term
	probes := time.NewTicker(probeEvery)
	defer probes.Stop()
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	for {
		if path, ok := c.next(); ok {
			select {
			case c.out <- path:
			case <-t.client.joined:
				c.tell(path)
				c.look(look)
			case <-t.done:
				return
			}
			continue
		}
		select {
		case <-c.wake:
		case <-t.client.joined:
			c.look(look)
		case <-probes.C:
			c.probeClosed()
		case <-look.C:
			c.look(look)
		case <-t.done:
			return
		}
	}
}

// probe has a path that may not be read tried again until it may, or is gone.
func (c *changes) probe(path string) {
	if isEdited(path) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.closed[path] = true
	}
}

// probeClosed tells what may be read now, or is gone.
func (c *changes) probeClosed() {
	c.mu.Lock()
	paths := make([]string, 0, min(len(c.closed), probeMost))
	for path := range c.closed {
		if paths = append(paths, path); len(paths) == probeMost {
			break // the others another time: the order is another each time
		}
	}
	c.mu.Unlock()
	now, err := c.term.nearby.bulk(context.Background(), opGetData, paths)
	if err != nil {
		return
	}
	for i, path := range paths {
		if !errors.Is(now[i].err, zk.ErrNoAuth) {
			c.mu.Lock()
			delete(c.closed, path)
			c.mu.Unlock()
			c.tell(path)
		}
	}
}

// look looks again, says what hinders it, and sets the time of the next look.
func (c *changes) look(next *time.Timer) {
	nodes, troubles := 0, map[string]string{}
	err := c.term.aside(c.term.lasts, fence{term: c.term.leader.Term}, func(r *reader) (err error) {
		clear(troubles)
		nodes, err = c.lookAgain(r, troubles)
		return err
	})
	if err != nil {
		troubles["/"] = err.Error()
	}
	if c.term.Err() != nil {
		return
	}
	for folder, why := range troubles {
		if c.troubles[folder] != why {
			c.term.place.Logger.Warn("what others change there is not found out for now, but by watches: trying on", "folder", folder, "error", why)
		}
	}
	c.troubles = troubles
	wait := lookEvery + time.Duration(nodes)*lookPerNode
	if len(troubles) > 0 {
		wait = min(wait, lookEvery)
	}
	next.Reset(wait)
}

// lookAgain compares what is there with what is known, after a reconnection and now and
// then, and returns how many nodes there are. A new connection's watches were set before these reads. A folder that
// can't be compared, in trouble with its reason, hinders no other.
func (c *changes) lookAgain(r *reader, trouble map[string]string) (nodes int, err error) {
	t := c.term
	for _, folder := range edited {
		before := t.known.below(folder)
		names, closed, err := r.childrenOf(t.lasts, []string{folder})
		if err == nil && len(closed) > 0 {
			err = t.permitted("list", folder, zk.ErrNoAuth)
		}
		var now []got
		if err == nil {
			now, err = r.bulk(t.lasts, opGetData, names)
		}
		if errors.Is(err, errReader) {
			return nodes, err
		}
		if err != nil {
			trouble[folder] = err.Error()
			continue
		}
		nodes += len(names)
		for i, path := range names {
			zxid := now[i].stat.Mzxid
			if errors.Is(now[i].err, zk.ErrNoAuth) {
				zxid = 0
				c.probe(path)
			}
			if was, there := before[path]; !there || was != zxid {
				c.tell(path)
			}
			delete(before, path)
		}
		for path := range before {
			c.tell(path)
		}
	}
	return nodes, nil
}

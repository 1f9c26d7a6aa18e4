package zookeeper

import (
	"context"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// changes tells what changes below the edited folders. One recursive watch per
// folder tells every change (ZooKeeper 3.6 or later); what changed
// while there was no connection is found by reading what is there again.
type changes struct {
	term *term
	out  chan string
	// wake has a token when pending has paths, or a new connection wants a look.
	wake chan struct{}

	mu      sync.Mutex
	pending []string
	queued  map[string]bool
}

func newChanges(t *term) *changes {
	return &changes{term: t, out: make(chan string), wake: make(chan struct{}, 1), queued: map[string]bool{}}
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
	for {
		if path, ok := c.next(); ok {
			select {
			case c.out <- path:
			case <-t.client.joined:
				c.tell(path)
				c.lookAgain()
			case <-t.done:
				return
			}
			continue
		}
		select {
		case <-c.wake:
		case <-t.client.joined:
			c.lookAgain()
		case <-t.done:
			return
		}
	}
}

// lookAgain compares what is there with what is known, after a reconnection. The
// new connection's watches were set before these reads.
func (c *changes) lookAgain() {
	t := c.term
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, folder := range edited {
		before := t.known.below(folder)
		names, err := t.childrenOf(ctx, []string{folder})
		if err != nil {
			return
		}
		now, err := t.bulk(ctx, opGetData, names)
		if err != nil {
			return
		}
		for i, path := range names {
			if was, there := before[path]; !there || was != now[i].stat.Mzxid {
				c.tell(path)
			}
			delete(before, path)
		}
		for path := range before {
			c.tell(path)
		}
	}
}

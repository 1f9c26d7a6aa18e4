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

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
)

// documents reports what others change in the edited folders. It watches the folders and each node in them on a
// session of its own, which ends with its connection: another then begins by a look at everything. What it sees of a
// node is compared with what the term has read or written of it (known.watched); where that differs, the path is
// reported, and read again by whoever hears of it. ZooKeeper reports no changed ACLs and, from 3.8.4 on, nothing of
// nodes that may not be read. So all nodes are looked at again every lookEvery, or more seldom where they are many,
// and unreadable ones each second; the version of an ACL is seen without a permission.
type documents struct {
	term     *term
	changed  chan string
	troubles map[string]string // what hindered the last look, by folder, or all of it

	mu     sync.Mutex
	events []zk.Event    // what was reported, and is to be looked at
	wake   chan struct{} // holds a token when there are some
}

const (
	lookEvery = 10 * time.Second
	// lookPerNode is how much longer, for each node, it is to the next look.
	lookPerNode = 5 * time.Millisecond
	// lookAtOnce is how many nodes are looked at between two looks at what has just changed.
	lookAtOnce = 500
	// probeEvery is how often unreadable nodes are looked at, and how old a session is when it sets its first watch.
	//
	// When a connection begins, the library goes through the watches that it has, beside the goroutine that takes
	// answers. Where it finds one, it reads the number of the last transaction, which that goroutine changes without a
	// lock, and sets them all again. A session that ends with its connection has none then, unless its first one is
	// set before the library has come so far. Watches that are set twice do no harm, but the read is a data race, and
	// nothing tells when the library is through: a moment after the session has begun. So the first watch comes with
	// the first probe. Nothing is lost by that: what changes meanwhile is found by the look that sets the watches.
	probeEvery = time.Second
	probeMost  = 500
)

func newDocuments(t *term) *documents {
	return &documents{term: t, changed: make(chan string), troubles: map[string]string{}, wake: make(chan struct{}, 1)}
}

// run has sessions that watch, one after the other, while the term lasts.
func (d *documents) run() {
	d.term.place.sessions(d.term.ctx, d.take, d.watch, func(err error) {
		if zookeeper.Answered(err) {
			d.complain("", err)
		}
	})
}

// complain warns of what hinders the looks at a folder, once for each reason. Nil is the end of it.
func (d *documents) complain(folder string, why error) {
	said := fmt.Sprint(why)
	if why != nil && said != d.troubles[folder] {
		d.term.place.Logger.Warn("what others change there is not found out for now: trying on", "folder", folder,
			"error", why)
	}
	d.troubles[folder] = said
}

// take takes what ZooKeeper reports.
func (d *documents) take(e zk.Event) {
	d.mu.Lock()
	d.events = append(d.events, e)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// noEvent is the type of what is to be looked at though its watch has reported nothing.
const noEvent = zk.EventType(0)

// recheck has a node looked at again of which a read has shown an earlier state than the watch.
func (d *documents) recheck(path string) {
	d.take(zk.Event{Type: noEvent, Path: d.term.place.full(path)})
}

// watcher is one session of documents.
type watcher struct {
	*documents
	ctx    context.Context
	client *client
	armed  map[string]bool // nodes whose next change ZooKeeper reports; folders too
}

// watch watches until the session ends, or the term.
func (d *documents) watch(ctx context.Context, c *client, succeeded func()) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	w := &watcher{documents: d, ctx: c.Context(), client: c, armed: map[string]bool{}}
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	var wake chan struct{} // from the first look on
	for next := time.Now(); ; {
		var err error
		select {
		case <-probe.C:
			if err = w.stats(d.term.known.unreadable(probeMost)); err == nil && time.Now().After(next) {
				var nodes int
				nodes, err = w.look()
				next = time.Now().Add(lookEvery + time.Duration(nodes)*lookPerNode)
				wake = d.wake
				succeeded()
			}
		case <-wake:
			err = w.follow()
		case <-w.ctx.Done():
			err = context.Cause(w.ctx)
		}
		if err != nil {
			return err
		}
	}
}

// look looks at all nodes, and returns how many there are. A folder that may not be listed hinders no other.
func (w *watcher) look() (nodes int, err error) {
	refused := false
	for _, folder := range edited {
		names, err := w.list(folder)
		if err == nil {
			err = w.lookAt(folder, names)
			nodes += len(names)
		}
		if err != nil && !zookeeper.Answered(err) {
			return nodes, err
		}
		refused = refused || err != nil
		w.complain(folder, err)
	}
	if refused {
		nodes = 0 // which is soon
	}
	return nodes, nil
}

// lookAt looks at all nodes of a folder, and at those that were known to be there.
func (w *watcher) lookAt(folder string, names []string) error {
	paths := w.term.known.below(folder)
	for _, name := range names {
		paths = append(paths, folder+"/"+name)
	}
	slices.Sort(paths)
	for some := range slices.Chunk(slices.Compact(paths), lookAtOnce) {
		if err := w.stats(some); err != nil {
			return err
		}
		if err := w.follow(); err != nil { // what changes meanwhile does not wait for the end of a long look
			return err
		}
	}
	return nil
}

// follow looks at what was reported.
func (w *watcher) follow() error {
	w.mu.Lock()
	events := w.events
	w.events = nil
	w.mu.Unlock()
	paths, folders := map[string]bool{}, map[string]bool{}
	var gone []string
	for _, e := range events {
		path := strings.TrimPrefix(e.Path, w.term.place.root)
		if e.Type != noEvent {
			delete(w.armed, path)
		}
		switch {
		case slices.Contains(edited, path):
			folders[path] = true
		case e.Type == zk.EventNodeDeleted: // its folder shows when it is made again
			gone = append(gone, path)
		default:
			paths[path] = true
		}
	}
	if err := w.compare(gone, make([]*zk.Stat, len(gone))); err != nil {
		return err
	}
	for folder := range folders {
		names, err := w.list(folder)
		if err != nil && !zookeeper.Answered(err) { // the next look logs a refusal
			return err
		}
		for _, name := range names {
			if path := folder + "/" + name; !w.armed[path] {
				paths[path] = true
			}
		}
	}
	return w.stats(slices.Collect(maps.Keys(paths)))
}

// list lists a folder, and watches it if it is not watched yet.
func (w *watcher) list(folder string) (names []string, err error) {
	full := w.term.place.full(folder)
	if w.armed[folder] {
		names, _, err = w.client.Children(full)
	} else {
		names, _, _, err = w.client.ChildrenW(full)
	}
	w.armed[folder] = err == nil
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, w.term.permitted("list", folder, err)
}

// stats looks at nodes, and watches those that are not watched yet.
func (w *watcher) stats(paths []string) error {
	stats := make([]*zk.Stat, len(paths))
	err := parallel(w.ctx, background, len(paths), func(_ context.Context, i int) (err error) {
		there, full := false, w.term.place.full(paths[i])
		if w.armed[paths[i]] {
			there, stats[i], err = w.client.Exists(full)
		} else {
			there, stats[i], _, err = w.client.ExistsW(full)
		}
		if !there {
			stats[i] = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range paths {
		w.armed[path] = true
	}
	return w.compare(paths, stats)
}

// compare reports the paths of nodes of which the term knows another state.
func (w *watcher) compare(paths []string, stats []*zk.Stat) error {
	w.term.awaitCommit() // it may be what has changed them
	for i, path := range paths {
		if !w.term.known.watched(path, stateOf(stats[i])) {
			continue
		}
		select {
		case w.changed <- path: // also after the session's end: it counts as reported
		case <-w.term.ctx.Done():
			return w.term.Err()
		}
	}
	return nil
}

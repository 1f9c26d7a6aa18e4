package zookeeper

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// documents reports what others change in the edited folders. It watches the folders and each node in them on a
// session of its own, which ends with its connection: another then begins by a look at everything. What it sees of a
// node is compared with what the term has read or written of it; where that differs, the path is reported, and read again by
// whoever hears of it. ZooKeeper reports no changed ACLs and, from 3.8.4 on, nothing of nodes that may not be read. So all nodes are
// looked at again every lookEvery, or more seldom where they are many; the version of an ACL is seen without a permission.
type documents struct {
	term *term
	out  chan string
	wake chan struct{} // holds a token when pending has paths

	mu      sync.Mutex
	pending []string
	queued  map[string]bool
	seen    map[string]state // nodes as they were seen last
	whole   map[string]bool  // folders of which all nodes were seen
	closed  map[string]bool  // nodes that may not be read
	last    map[string]seen  // what was reported of nodes that were not read since
}

// seen is a node as it is seen.
type seen struct {
	there bool
	state state
}

const (
	lookEvery = 10 * time.Second
	// firstLook is how old a session is when it sets its first watch. The library goes through its watches when a connection
	// begins, without a lock against answers that come then; before a term has read its documents nothing has to be watched anyway.
	firstLook = time.Second
	// lookAtOnce is how many nodes are looked at between two looks at what has just changed.
	lookAtOnce = 500
	// probeEvery is how often nodes are looked at that may not be read.
	probeEvery = time.Second
	probeMost  = 500
	// lookPerNode is how much longer, for each node, it is to the next look.
	lookPerNode = 5 * time.Millisecond
)

func newDocuments(t *term) *documents {
	return &documents{term: t, out: make(chan string), wake: make(chan struct{}, 1), queued: map[string]bool{},
		seen: map[string]state{}, whole: map[string]bool{}, closed: map[string]bool{}, last: map[string]seen{}}
}

// run hands paths out while the term lasts.
func (d *documents) run() {
	for {
		d.mu.Lock()
		path := ""
		if len(d.pending) > 0 {
			path = d.pending[0]
			d.pending = d.pending[1:]
			delete(d.queued, path)
		}
		d.mu.Unlock()
		if path == "" {
			select {
			case <-d.wake:
			case <-d.term.done:
				return
			}
			continue
		}
		select {
		case d.out <- path:
		case <-d.term.done:
			return
		}
	}
}

// compare reports a path whose node is seen to be another than the one that was read.
func (d *documents) compare(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var now seen
	now.state, now.there = d.seen[path]
	if !now.there && !d.whole[folderOf(path)] {
		return
	}
	before, ok := d.last[path]
	if read, known := d.term.known.at(path); known {
		before, ok = seen{read.there, read.state}, true
		delete(d.last, path)
	}
	if !ok || before == now || !before.there && !now.there {
		return
	}
	d.last[path] = now
	d.term.known.forget(path)
	if !d.queued[path] {
		d.queued[path] = true
		d.pending = append(d.pending, path)
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// compareAll compares all nodes of a folder.
func (d *documents) compareAll(folder string) {
	paths := d.term.known.below(folder)
	d.mu.Lock()
	for path := range d.seen {
		if folderOf(path) == folder {
			paths = append(paths, path)
		}
	}
	d.mu.Unlock()
	for _, path := range paths {
		d.compare(path)
	}
}

// see keeps what a node is seen to be, nil when it is not there, and compares it.
func (d *documents) see(path string, stat *zk.Stat) {
	d.mu.Lock()
	if stat == nil {
		delete(d.seen, path)
	} else {
		d.seen[path] = stateOf(stat)
	}
	d.mu.Unlock()
	d.compare(path)
}

// read takes word that a node was read, or could not be.
func (d *documents) read(path string, unreadable bool) {
	d.mu.Lock()
	if unreadable {
		d.closed[path] = true
	} else {
		delete(d.closed, path)
	}
	d.mu.Unlock()
	d.compare(path)
}

// probes are some nodes that may not be read, others each time.
func (d *documents) probes() (paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path := range d.closed {
		if paths = append(paths, path); len(paths) == probeMost {
			break
		}
	}
	return paths
}

// watch has sessions that watch, one after the other, while the term lasts.
func (d *documents) watch() {
	failures := backoff{first: 5 * pause, most: longestPause}
	said := ""
	for d.term.Err() == nil {
		began := time.Now()
		err := d.session()
		if answered(err) && said != err.Error() {
			said = err.Error()
			d.term.place.Logger.Warn("what others change is not found out for now: trying on", "error", err)
		}
		if time.Since(began) > longestPause {
			failures.reset()
		}
		select {
		case <-time.After(failures.next(rand.Float64())):
		case <-d.term.done:
		}
	}
}

// session watches until it fails, or the term ends.
func (d *documents) session() error {
	w := &watcher{documents: d, armed: map[string]bool{}, changed: make(chan struct{}, 1)}
	c, err := dial(d.term.place, true, w.event)
	if err != nil {
		return err
	}
	defer c.close()
	defer context.AfterFunc(d.term.lasts, c.abandon)()
	if err := c.join(d.term.lasts); err != nil {
		return err
	}
	w.client = c
	return w.run(d.term.lasts)
}

// watcher is one session of documents.
type watcher struct {
	*documents
	client  *client
	armed   map[string]bool // nodes whose next change ZooKeeper reports; folders too
	changed chan struct{}   // holds a token when there are events

	mu       sync.Mutex
	events   []zk.Event
	troubles map[string]string // what hindered the last look, by folder
}

// event takes what ZooKeeper reports.
func (w *watcher) event(e zk.Event) {
	w.mu.Lock()
	w.events = append(w.events, e)
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watcher) run(ctx context.Context) error {
	look, probe := time.NewTimer(firstLook), time.NewTicker(probeEvery)
	defer look.Stop()
	defer probe.Stop()
	for {
		select {
		case <-look.C:
			nodes, err := w.look(ctx)
			if err != nil {
				return err
			}
			look.Reset(lookEvery + time.Duration(nodes)*lookPerNode)
		case <-probe.C:
			if err := w.stats(ctx, w.probes()); err != nil {
				return err
			}
		case <-w.changed:
			if err := w.take(ctx); err != nil {
				return err
			}
		case <-w.client.lost:
			return w.client.whyLost()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take looks at what has changed.
func (w *watcher) take(ctx context.Context) error {
	w.mu.Lock()
	events := w.events
	w.events = nil
	w.mu.Unlock()
	w.term.awaitCommit() // it may be what has changed them, and keeps what it made
	paths, folders := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		path := strings.TrimPrefix(e.Path, w.term.place.root)
		delete(w.armed, path)
		switch {
		case slices.Contains(edited, path):
			folders[path] = true
		case e.Type == zk.EventNodeDeleted: // its folder shows when it is made again
			delete(paths, path)
			w.see(path, nil)
		default:
			paths[path] = true
		}
	}
	if err := w.stats(ctx, slices.Collect(maps.Keys(paths))); err != nil {
		return err
	}
	for folder := range folders {
		if _, err := w.list(ctx, folder, false); err != nil && !answered(err) { // the next look logs a refusal
			return err
		}
	}
	return nil
}

// look looks at all nodes, and returns how many there are. A folder that may not be listed hinders no other.
func (w *watcher) look(ctx context.Context) (nodes int, err error) {
	troubles := map[string]string{}
	for _, folder := range edited {
		n, err := w.list(ctx, folder, true)
		if err != nil && !answered(err) {
			return nodes, err
		}
		if err != nil {
			troubles[folder] = err.Error()
			if w.troubles[folder] != err.Error() {
				w.term.place.Logger.Warn("what others change there is not found out for now: trying on", "folder", folder, "error", err)
			}
		}
		nodes += n
	}
	w.troubles = troubles
	if len(troubles) > 0 {
		nodes = 0
	}
	return nodes, nil
}

// list looks which nodes a folder has, and at those that are not watched yet, or at all.
func (w *watcher) list(ctx context.Context, folder string, all bool) (int, error) {
	var names []string
	var err error
	full := w.term.place.full(folder)
	if w.armed[folder] {
		names, _, err = w.client.Children(full)
	} else {
		names, _, _, err = w.client.ChildrenW(full)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, w.term.permitted("list", folder, err)
	}
	w.armed[folder] = err == nil
	there, paths := map[string]bool{}, []string{}
	for _, name := range names {
		path := folder + "/" + name
		there[path] = true
		if all || !w.armed[path] {
			paths = append(paths, path)
		}
	}
	if !all {
		return len(names), w.stats(ctx, paths)
	}
	gone := w.drop(folder, there)
	for some := range slices.Chunk(paths, lookAtOnce) {
		if err := w.stats(ctx, some); err != nil {
			return 0, err
		}
		if err := w.take(ctx); err != nil { // what changes meanwhile does not wait for the end of a long look
			return 0, err
		}
	}
	w.documents.mu.Lock()
	w.whole[folder] = true
	w.documents.mu.Unlock()
	for _, path := range gone {
		w.compare(path)
	}
	w.compareAll(folder)
	return len(names), nil
}

// drop forgets what was seen in a folder and is not there any more.
func (w *watcher) drop(folder string, there map[string]bool) (gone []string) {
	w.documents.mu.Lock()
	defer w.documents.mu.Unlock()
	for path := range w.seen {
		if folderOf(path) == folder && !there[path] {
			delete(w.seen, path)
			gone = append(gone, path)
		}
	}
	return gone
}

// stats looks at nodes, and watches those that are not watched yet.
func (w *watcher) stats(ctx context.Context, paths []string) error {
	stats := make([]*zk.Stat, len(paths))
	err := parallel(ctx, background, len(paths), func(_ context.Context, i int) (err error) {
		there, full := false, w.term.place.full(paths[i])
		if w.armed[paths[i]] {
			there, stats[i], err = w.client.Exists(full)
		} else {
			there, stats[i], _, err = w.client.ExistsW(full)
		}
		if err == nil && !there {
			stats[i] = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, path := range paths {
		w.armed[path] = true
		w.see(path, stats[i])
	}
	return nil
}

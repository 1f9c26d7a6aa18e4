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
// separate session, which ends with its connection; the next session begins by reading the state of all nodes. The
// observed state of a node is compared with the state that the term has last read or written (known.recordWatch). If they
// differ, the path is reported, and the receiver reads the entry again. ZooKeeper reports no changes of ACLs and,
// since 3.8.4, no events of nodes that may not be read. Therefore all nodes are checked again every checkInterval
// (less often if there are many), and unreadable ones every second; the version of an ACL can be read without a
// permission.
type documents struct {
	term       *term
	changed    chan string
	lastErrors map[string]string // the error of the last check, by folder; "" for all folders

	mu     sync.Mutex
	events []zk.Event    // reported by watches, not yet processed
	wake   chan struct{} // holds a token while there are events
}

const (
	checkInterval = 10 * time.Second
	// checkPerNode is the additional time until the next check for each node.
	checkPerNode = 5 * time.Millisecond
	// checkChunk is the number of nodes that are checked before the recent events are processed again.
	checkChunk = 500
	// probeInterval is the interval at which unreadable nodes are checked, and the age of a session at which it sets
	// its first watch.
	//
	// When a connection begins, the library walks over its watches, concurrently with the goroutine that receives
	// answers. If it finds a watch, it reads the number of the last transaction, which that goroutine changes without
	// a lock, and sets all watches again. A session that ends with its connection has no watches at that time, unless
	// it sets its first one before the library's walk. Setting a watch twice is harmless, but the unlocked read is a
	// data race, and nothing reports the end of the walk, which happens a moment after the session has begun. So the
	// first watch is set with the first probe. No change is lost by that, because the check that sets the watches also
	// finds earlier changes.
	probeInterval    = time.Second
	maxProbeInterval = 500
)

func newDocuments(t *term) *documents {
	return &documents{term: t, changed: make(chan string), lastErrors: map[string]string{},
		wake: make(chan struct{}, 1)}
}

// run keeps a session that watches, one after the other, while the term lasts.
func (d *documents) run() {
	d.term.namespace.sessions(d.term.ctx, d.enqueue, d.watch, func(err error) {
		if zookeeper.Answered(err) {
			d.warnOnce("", err)
		}
	})
}

// warnOnce logs a warning about the failed checks at a folder, once for each reason. A nil error ends the failure.
func (d *documents) warnOnce(folder string, why error) {
	said := fmt.Sprint(why)
	if why != nil && said != d.lastErrors[folder] {
		d.term.namespace.Logger.Warn("external edits not detected, retrying", "folder", folder,
			"error", why)
	}
	d.lastErrors[folder] = said
}

// enqueue queues an event that ZooKeeper reports.
func (d *documents) enqueue(e zk.Event) {
	d.mu.Lock()
	d.events = append(d.events, e)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// noEvent is the type of a check that no watch has requested.
const noEvent = zk.EventType(0)

// recheck requests a check of a node for which a read has returned an earlier state than the watch.
func (d *documents) recheck(path string) {
	d.enqueue(zk.Event{Type: noEvent, Path: d.term.namespace.full(path)})
}

// watcher is one session of documents.
type watcher struct {
	*documents
	ctx    context.Context
	client *client
	armed  map[string]bool // nodes and folders whose next change ZooKeeper will report
}

// watch watches until the session or the term ends.
func (d *documents) watch(ctx context.Context, c *client, succeeded func()) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	w := &watcher{documents: d, ctx: c.Context(), client: c, armed: map[string]bool{}}
	probe := time.NewTicker(probeInterval)
	defer probe.Stop()
	var wake chan struct{} // nil until the first check
	for next := time.Now(); ; {
		var err error
		select {
		case <-probe.C:
			if err = w.checkNodes(d.term.known.unreadable(maxProbeInterval)); err == nil && time.Now().After(next) {
				var nodes int
				nodes, err = w.checkAll()
				next = time.Now().Add(checkInterval + time.Duration(nodes)*checkPerNode)
				wake = d.wake
				succeeded()
			}
		case <-wake:
			err = w.processEvents()
		case <-w.ctx.Done():
			err = context.Cause(w.ctx)
		}
		if err != nil {
			return err
		}
	}
}

// checkAll checks all nodes and returns their number. A folder that may not be listed does not affect the others.
func (w *watcher) checkAll() (nodes int, err error) {
	refused := false
	for _, folder := range edited {
		names, err := w.list(folder)
		if err == nil {
			err = w.checkFolder(folder, names)
			nodes += len(names)
		}
		if err != nil && !zookeeper.Answered(err) {
			return nodes, err
		}
		refused = refused || err != nil
		w.warnOnce(folder, err)
	}
	if refused {
		nodes = 0 // so that the next check is soon
	}
	return nodes, nil
}

// checkFolder checks all nodes of a folder, and the nodes that were known to exist.
func (w *watcher) checkFolder(folder string, names []string) error {
	paths := w.term.known.below(folder)
	for _, name := range names {
		paths = append(paths, folder+"/"+name)
	}
	slices.Sort(paths)
	for some := range slices.Chunk(slices.Compact(paths), checkChunk) {
		if err := w.checkNodes(some); err != nil {
			return err
		}
		if err := w.processEvents(); err != nil { // process changes during a long check, not after it
			return err
		}
	}
	return nil
}

// processEvents checks the nodes and folders of the reported events.
func (w *watcher) processEvents() error {
	w.mu.Lock()
	events := w.events
	w.events = nil
	w.mu.Unlock()
	paths, folders := map[string]bool{}, map[string]bool{}
	var gone []string
	for _, e := range events {
		path := strings.TrimPrefix(e.Path, w.term.namespace.root)
		if e.Type != noEvent {
			delete(w.armed, path)
		}
		switch {
		case slices.Contains(edited, path):
			folders[path] = true
		case e.Type == zk.EventNodeDeleted: // its folder reports when it is created again
			gone = append(gone, path)
		default:
			paths[path] = true
		}
	}
	if err := w.reportChanges(gone, make([]*zk.Stat, len(gone))); err != nil {
		return err
	}
	for folder := range folders {
		names, err := w.list(folder)
		if err != nil && !zookeeper.Answered(err) { // the next check logs a refusal
			return err
		}
		for _, name := range names {
			if path := folder + "/" + name; !w.armed[path] {
				paths[path] = true
			}
		}
	}
	return w.checkNodes(slices.Collect(maps.Keys(paths)))
}

// list lists a folder, and sets a watch if it has none.
func (w *watcher) list(folder string) (names []string, err error) {
	full := w.term.namespace.full(folder)
	if w.armed[folder] {
		names, _, err = w.client.Children(full)
	} else {
		names, _, _, err = w.client.ChildrenW(full)
	}
	w.armed[folder] = err == nil
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, w.term.explain("list", folder, err)
}

// checkNodes reads the state of nodes, and sets a watch on those that have none.
func (w *watcher) checkNodes(paths []string) error {
	stats := make([]*zk.Stat, len(paths))
	err := parallel(w.ctx, background, len(paths), func(_ context.Context, i int) (err error) {
		there, full := false, w.term.namespace.full(paths[i])
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
	return w.reportChanges(paths, stats)
}

// reportChanges reports the paths of nodes whose state differs from the one that the term knows.
func (w *watcher) reportChanges(paths []string, stats []*zk.Stat) error {
	w.term.awaitCommit() // a running commit may be the cause of the change
	for i, path := range paths {
		if !w.term.known.recordWatch(path, stateOf(stats[i])) {
			continue
		}
		select {
		case w.changed <- path: // also after the session's end, because known counts it as reported
		case <-w.term.ctx.Done():
			return w.term.Err()
		}
	}
	return nil
}

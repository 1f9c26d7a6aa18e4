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

// documents reports changes that others make in the edited folders. It watches the folders and each node in them on a
// separate session. This session ends with its connection, and the next one begins by reading the state of all nodes.
// The observed state of a node is compared with the state that the term has last read or written
// (nodeStates.recordWatch). If the states differ, the path is reported, and the receiver reads the entry again.
//
// ZooKeeper reports no changes of ACLs and, since 3.8.4, no events of nodes that may not be read. Therefore all nodes
// are also checked every checkInterval (less often if there are many), and unreadable nodes every probeInterval. The
// version of an ACL can be read without a permission.
type documents struct {
	term       *term
	changed    chan string
	lastErrors map[string]string // the error of the last check, by folder; "" stands for all folders

	mu     sync.Mutex
	events []zk.Event    // events of watches that have not been processed yet
	wake   chan struct{} // has a token while there are events
}

const (
	// checkInterval is the minimum interval of the checks of all nodes. Each node adds checkPerNode.
	checkInterval = 10 * time.Second
	checkPerNode  = 5 * time.Millisecond
	// checkChunk is the number of nodes after which a check processes the recent events.
	checkChunk = 500
	// probeInterval is the interval at which unreadable nodes are checked, at most maxProbedNodes at a time. It is
	// also the age of a session at which the session sets its first watch.
	//
	// The reason for that delay is a data race in the library. When a connection begins, the library walks over its
	// watches. If there is one, it reads the number of the last transaction, which the goroutine that receives answers
	// changes without a lock, and sets all watches again. A session that ends with its connection has no watches at
	// that time, unless it sets its first watch before the library's walk. The walk happens a moment after the session
	// has begun, and nothing reports its end. No change is lost by the delay, because the check that sets the watches
	// also finds earlier changes.
	probeInterval  = time.Second
	maxProbedNodes = 500
)

func newDocuments(t *term) *documents {
	return &documents{term: t, changed: make(chan string), lastErrors: map[string]string{},
		wake: make(chan struct{}, 1)}
}

// run watches while the term lasts, on one session after the other.
func (d *documents) run() {
	d.term.namespace.keepSession(d.term.ctx, d.enqueue, d.watch, func(err error) {
		if zookeeper.Answered(err) {
			d.warnOnce("", err)
		}
	})
}

// warnOnce logs that checks of a folder fail, unless the last check failed with the same error. A nil error means that
// the check succeeded.
func (d *documents) warnOnce(folder string, err error) {
	text := fmt.Sprint(err)
	if err != nil && text != d.lastErrors[folder] {
		d.term.namespace.Logger.Warn("external edits not detected, retrying", "folder", folder, "error", err)
	}
	d.lastErrors[folder] = text
}

// enqueue queues an event of a watch.
func (d *documents) enqueue(e zk.Event) {
	d.mu.Lock()
	d.events = append(d.events, e)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// noEvent is the type of a queued event that comes from recheck and not from a watch.
const noEvent = zk.EventType(0)

// recheck requests a check of a node, after a read has returned an earlier state than the watch.
func (d *documents) recheck(path string) {
	d.enqueue(zk.Event{Type: noEvent, Path: d.term.namespace.full(path)})
}

// watcher is one session of documents.
type watcher struct {
	*documents
	ctx     context.Context
	client  *client
	watched map[string]bool // nodes and folders whose next change ZooKeeper will report
}

// watch watches until the session or the term ends.
func (d *documents) watch(ctx context.Context, c *client, succeeded func()) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	w := &watcher{documents: d, ctx: c.Context(), client: c, watched: map[string]bool{}}
	probe := time.NewTicker(probeInterval)
	defer probe.Stop()
	var wake chan struct{} // nil until the first check
	for next := time.Now(); ; {
		var err error
		select {
		case <-probe.C:
			if err = w.checkNodes(d.term.states.unreadable(maxProbedNodes)); err == nil && time.Now().After(next) {
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

// checkAll checks all nodes and returns their number. If a folder may not be listed, it still checks the others, and
// returns 0, so that the next check is soon.
func (w *watcher) checkAll() (nodes int, err error) {
	refused := false
	for _, folder := range editedFolders {
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
		nodes = 0
	}
	return nodes, nil
}

// checkFolder checks the nodes of a folder: those with the listed names, and those that existed earlier.
func (w *watcher) checkFolder(folder string, names []string) error {
	paths := w.term.states.below(folder)
	for _, name := range names {
		paths = append(paths, folder+"/"+name)
	}
	slices.Sort(paths)
	for chunk := range slices.Chunk(slices.Compact(paths), checkChunk) {
		if err := w.checkNodes(chunk); err != nil {
			return err
		}
		if err := w.processEvents(); err != nil { // changes need not wait for the end of a long check
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
	var removed []string
	for _, e := range events {
		path := strings.TrimPrefix(e.Path, w.term.namespace.root)
		if e.Type != noEvent {
			delete(w.watched, path)
		}
		switch {
		case slices.Contains(editedFolders, path):
			folders[path] = true
		case e.Type == zk.EventNodeDeleted: // if it is created again, the watch of its folder reports that
			removed = append(removed, path)
		default:
			paths[path] = true
		}
	}
	if err := w.reportChanges(removed, make([]*zk.Stat, len(removed))); err != nil {
		return err
	}
	for folder := range folders {
		names, err := w.list(folder)
		if err != nil && !zookeeper.Answered(err) { // a refusal is logged by the next checkAll
			return err
		}
		for _, name := range names {
			if path := folder + "/" + name; !w.watched[path] {
				paths[path] = true
			}
		}
	}
	return w.checkNodes(slices.Collect(maps.Keys(paths)))
}

// list lists a folder, and sets a watch on it if there is none. A folder that does not exist has no names.
func (w *watcher) list(folder string) (names []string, err error) {
	full := w.term.namespace.full(folder)
	if w.watched[folder] {
		names, _, err = w.client.Children(full)
	} else {
		names, _, _, err = w.client.ChildrenW(full)
	}
	w.watched[folder] = err == nil
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, w.term.explain("list", folder, err)
}

// checkNodes reads the states of nodes and reports those that have changed. It sets a watch on nodes without one.
func (w *watcher) checkNodes(paths []string) error {
	stats := make([]*zk.Stat, len(paths))
	err := parallel(w.ctx, maxBackgroundReads, len(paths), func(_ context.Context, i int) (err error) {
		exists, full := false, w.term.namespace.full(paths[i])
		if w.watched[paths[i]] {
			exists, stats[i], err = w.client.Exists(full)
		} else {
			exists, stats[i], _, err = w.client.ExistsW(full)
		}
		if !exists {
			stats[i] = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range paths {
		w.watched[path] = true
	}
	return w.reportChanges(paths, stats)
}

// reportChanges reports the paths of nodes whose state is not the one that the term has last read or written. A nil
// Stat means that the node does not exist.
func (w *watcher) reportChanges(paths []string, stats []*zk.Stat) error {
	w.term.awaitCommit() // a running commit may have made the change
	for i, path := range paths {
		if !w.term.states.recordWatch(path, stateOf(stats[i])) {
			continue
		}
		select {
		case w.changed <- path: // also after the end of the session, because recordWatch has recorded the change
		case <-w.term.ctx.Done():
			return w.term.Err()
		}
	}
	return nil
}

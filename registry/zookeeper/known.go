package zookeeper

import (
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// state is what ZooKeeper shows of a node, of its value and of who may read it. The zero state is that of no node.
type state struct {
	there    bool
	mzxid    int64 // the transaction that has made or set it
	aversion int32 // how often its ACL has changed
}

// stateOf reads a Stat, nil for a node that is not there.
func stateOf(stat *zk.Stat) state {
	if stat == nil {
		return state{}
	}
	return state{true, stat.Mzxid, stat.Aversion}
}

// after reports whether a state is another than an earlier one, as far as that can be told: nothing says
// when a node went.
func (s state) after(earlier state) bool {
	return s.there != earlier.there || s.mzxid > earlier.mzxid || s.aversion > earlier.aversion
}

// known is what a term knows of entries: for commits, which ones are there, so that most need no look before; and for
// Changed, as of which state each was read or written. Others than the term itself change what is in the edited
// folders only, so elsewhere it is right unless somebody meddles. Where it is wrong, ZooKeeper refuses what was
// planned on it, and the refusal shows what is so.
type known struct {
	mu    sync.Mutex
	nodes map[string]node
	// listed are the areas of which all entries were listed: what is not in nodes is not there.
	listed map[string]bool
	closed map[string]bool // entries of the edited folders that may not be read
}

// node is what is known of an entry's node. Its state is of the last read or write of the term, or a later one that
// the watch has seen.
type node struct {
	state
	read bool // the term has read or written it, so whoever reads entries has an earlier state of it
}

func newKnown() *known {
	return &known{nodes: map[string]node{}, listed: map[string]bool{}, closed: map[string]bool{}}
}

// isThere reports whether the entry is there, and whether that is known at all.
func (k *known) isThere(path string) (there, sure bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok := k.nodes[path]
	return n.there, ok || k.listed[area(path)]
}

// read keeps what a read of the term has shown. It reports whether the watch had seen a later state: two sessions may
// be at servers of which one lags behind.
func (k *known) read(path string, s state, unreadable bool) (outdated bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.closed, path); unreadable {
		k.closed[path] = true
	}
	before, ok := k.nodes[path]
	k.set(path, node{s, true})
	return ok && before.after(s)
}

// set keeps what is known of an entry. Where all that are there are known, one that has gone is forgotten; in the
// edited folders only when both the term and the watch have seen that, so that none of them takes it for news.
func (k *known) set(path string, n node) {
	if !n.there && k.listed[area(path)] && !(isEdited(path) && k.nodes[path].there) {
		delete(k.nodes, path)
		return
	}
	k.nodes[path] = n
}

// wrote keeps what a commit has done to an entry in a transaction.
func (k *known) wrote(path string, kind opKind, zxid int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := node{read: true}
	if kind != opDelete {
		n.there, n.mzxid = true, zxid
	}
	if kind == opSet {
		n.aversion = k.nodes[path].aversion
	}
	k.set(path, n)
}

// watched keeps what the watch has seen, and reports whether whoever reads entries does not know of it.
func (k *known) watched(path string, s state) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok := k.nodes[path]
	read := n.read || !ok && k.listed[area(path)]
	if !s.after(n.state) {
		s = n.state
	}
	k.set(path, node{s, read})
	return read && s != n.state
}

// list keeps that these entries of an area are there, and no others.
func (k *known) list(area string, paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, path := range paths {
		if !k.nodes[path].there {
			k.nodes[path] = node{state: state{there: true}}
		}
	}
	k.listed[area] = true
}

// below are the entries of a folder that are known to be there.
func (k *known) below(folder string) (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, n := range k.nodes {
		if n.there && strings.HasPrefix(path, folder) && folderOf(path) == folder {
			paths = append(paths, path)
		}
	}
	return paths
}

// unreadable are some of the entries that may not be read, others each time.
func (k *known) unreadable(most int) (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path := range k.closed {
		if paths = append(paths, path); len(paths) == most {
			break
		}
	}
	return paths
}

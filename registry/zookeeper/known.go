package zookeeper

import (
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// state is the state of a node and of its ACL in ZooKeeper. The zero state means that the node does not exist.
type state struct {
	exists   bool
	mzxid    int64 // the transaction that created or last set it
	aversion int32 // the number of changes of its ACL
}

// stateOf converts a Stat; nil means that the node does not exist.
func stateOf(stat *zk.Stat) state {
	if stat == nil {
		return state{}
	}
	return state{true, stat.Mzxid, stat.Aversion}
}

// isAfter reports whether s differs from an earlier state, as far as that can be told: a removal has no transaction
// number.
func (s state) isAfter(earlier state) bool {
	return s.exists != earlier.exists || s.mzxid > earlier.mzxid || s.aversion > earlier.aversion
}

// known is what a term knows about entries. Commits use it to tell which entries exist, so that most of them need no
// read first. Changed uses it to tell the state in which each entry was last read or written. Other writers than the
// term change only entries in the edited folders, so elsewhere known is right unless someone edits those nodes by
// hand. If it is wrong, ZooKeeper refuses the operation that was planned from it, and the refusal shows the actual
// state.
type known struct {
	mu    sync.Mutex
	nodes map[string]node
	// listed are the areas of which all entries were listed: an entry there that is not in nodes does not exist.
	listed map[string]bool
	closed map[string]bool // entries of the edited folders that may not be read
}

// node is what is known about the node of an entry. The state is that of the term's last read or write, or a later one
// that the watch has observed.
type node struct {
	state
	read bool // the term has read or written the entry, so its readers have an earlier state
}

func newKnown() *known {
	return &known{nodes: map[string]node{}, listed: map[string]bool{}, closed: map[string]bool{}}
}

// exists reports whether the entry exists; sure reports whether that is known.
func (k *known) exists(path string) (there, sure bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok := k.nodes[path]
	return n.exists, ok || k.listed[area(path)]
}

// recordRead records the result of a read of the term. It reports whether the watch had observed a later state, which
// happens when the two sessions are connected to different servers and one lags behind.
func (k *known) recordRead(path string, s state, unreadable bool) (outdated bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.closed, path); unreadable {
		k.closed[path] = true
	}
	before, ok := k.nodes[path]
	k.set(path, node{s, true})
	return ok && before.isAfter(s)
}

// set records the state of an entry. Where all existing entries are known, a removed one is forgotten. In the edited
// folders that waits until both the term and the watch have seen the removal, so that neither takes it for news.
func (k *known) set(path string, n node) {
	if !n.exists && k.listed[area(path)] && !(isEdited(path) && k.nodes[path].exists) {
		delete(k.nodes, path)
		return
	}
	k.nodes[path] = n
}

// recordWrite records what a commit did to an entry in a transaction.
func (k *known) recordWrite(path string, kind opKind, zxid int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := node{read: true}
	if kind != opDelete {
		n.exists, n.mzxid = true, zxid
	}
	if kind == opSet {
		n.aversion = k.nodes[path].aversion
	}
	k.set(path, n)
}

// recordWatch records what the watch has observed, and reports whether the readers of entries have an older state.
func (k *known) recordWatch(path string, s state) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok := k.nodes[path]
	read := n.read || !ok && k.listed[area(path)]
	if !s.isAfter(n.state) {
		s = n.state
	}
	k.set(path, node{s, read})
	return read && s != n.state
}

// recordList records that exactly these entries of an area exist.
func (k *known) recordList(area string, paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, path := range paths {
		if !k.nodes[path].exists {
			k.nodes[path] = node{state: state{exists: true}}
		}
	}
	k.listed[area] = true
}

// below returns the entries of a folder that are known to exist.
func (k *known) below(folder string) (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, n := range k.nodes {
		if n.exists && strings.HasPrefix(path, folder) && folderOf(path) == folder {
			paths = append(paths, path)
		}
	}
	return paths
}

// unreadable returns up to limit of the entries that may not be read, different ones each time.
func (k *known) unreadable(limit int) (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path := range k.closed {
		if paths = append(paths, path); len(paths) == limit {
			break
		}
	}
	return paths
}

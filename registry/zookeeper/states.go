package zookeeper

import (
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// state is the state of a node and of its ACL in ZooKeeper. The zero state means that the node does not exist.
type state struct {
	exists   bool
	mzxid    int64 // the transaction that created the node or last set it
	aversion int32 // the number of changes of the ACL
}

// stateOf converts a Stat; nil means that the node does not exist.
func stateOf(stat *zk.Stat) state {
	if stat == nil {
		return state{}
	}
	return state{true, stat.Mzxid, stat.Aversion}
}

// isAfter reports whether s is later than another state of the same node. If only one of the states exists, it returns
// true: the order is not known then, because a removal has no transaction number.
func (s state) isAfter(earlier state) bool {
	return s.exists != earlier.exists || s.mzxid > earlier.mzxid || s.aversion > earlier.aversion
}

// nodeStates has the last states of the entries' nodes that a term has observed.
//
// Commits look up whether an entry exists, so that most commits require no read. Changed looks up the state in which
// an entry was last read or written. Outside the edited folders only the term writes, so the states there are right
// unless someone edits the nodes manually. If a state is wrong, ZooKeeper refuses the operation that was planned from
// it, and the refusal shows the actual state.
type nodeStates struct {
	mu    sync.Mutex
	nodes map[string]knownNode // by the path of the entry
	// listed are the areas that were listed completely: an entry there that is not in nodes does not exist.
	listed    map[string]bool
	forbidden map[string]bool // the entries of the edited folders that may not be read
}

// knownNode is the last observed state of an entry's node: that of the term's last read or write, or a later one that
// the watch has observed.
type knownNode struct {
	state
	read bool // the term has read or written the entry, so that its readers have a state
}

func newNodeStates() *nodeStates {
	return &nodeStates{nodes: map[string]knownNode{}, listed: map[string]bool{}, forbidden: map[string]bool{}}
}

// exists reports whether the entry exists. If that is not known, sure is false.
func (k *nodeStates) exists(path string) (exists, sure bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok := k.nodes[path]
	return n.exists, ok || k.listed[area(path)]
}

// recordRead records the state that the term has read. It reports whether the watch had observed a later state. This
// happens if the two sessions are connected to different servers, one of which lags behind.
func (k *nodeStates) recordRead(path string, s state, unreadable bool) (outdated bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.forbidden, path); unreadable {
		k.forbidden[path] = true
	}
	before, ok := k.nodes[path]
	k.set(path, knownNode{s, true})
	return ok && before.isAfter(s)
}

// set records the state of an entry. In an area that was listed completely, it forgets a removed entry. In the edited
// folders it does so only when the removal is recorded again: both the term and the watch must have observed it, so
// that neither takes it for a new change.
func (k *nodeStates) set(path string, n knownNode) {
	if !n.exists && k.listed[area(path)] && !(isEdited(path) && k.nodes[path].exists) {
		delete(k.nodes, path)
		return
	}
	k.nodes[path] = n
}

// recordWrite records an operation of a commit on an entry. zxid is the number of the transaction.
func (k *nodeStates) recordWrite(path string, kind opKind, zxid int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := knownNode{read: true}
	if kind != opDelete {
		n.exists, n.mzxid = true, zxid
	}
	if kind == opSet {
		n.aversion = k.nodes[path].aversion
	}
	k.set(path, n)
}

// recordWatch records the state that the watch has observed. It reports whether readers of the entry have an older
// state.
func (k *nodeStates) recordWatch(path string, s state) (isNew bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok := k.nodes[path]
	read := n.read || !ok && k.listed[area(path)]
	if !s.isAfter(n.state) {
		s = n.state
	}
	k.set(path, knownNode{s, read})
	return read && s != n.state
}

// recordList records that these are all entries of an area.
func (k *nodeStates) recordList(area string, paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, path := range paths {
		if !k.nodes[path].exists {
			k.nodes[path] = knownNode{state: state{exists: true}}
		}
	}
	k.listed[area] = true
}

// below returns the entries of a folder that exist according to their last states.
func (k *nodeStates) below(folder string) (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, n := range k.nodes {
		if n.exists && strings.HasPrefix(path, folder) && folderOf(path) == folder {
			paths = append(paths, path)
		}
	}
	return paths
}

// unreadable returns entries that may not be read. If there are more than limit, it chooses some at random.
func (k *nodeStates) unreadable(limit int) (paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for path := range k.forbidden {
		if paths = append(paths, path); len(paths) == limit {
			break
		}
	}
	return paths
}

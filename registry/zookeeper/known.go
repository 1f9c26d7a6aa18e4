package zookeeper

import (
	"strings"
	"sync"
)

type kind uint8

const (
	unknown kind = iota // somebody changed it, or may have
	absent
	parent // a node that is no entry
	entry
)

// node is what is known of one path.
type node struct {
	kind kind
	// whole: every child of it is known, so that a path that is not known is not there.
	whole             bool
	version, children int32
	// zxid is the transaction that made the value what it is; 0: not known.
	zxid int64
}

// known is what a term knows to be there, so that most commits need no look
// before. It may be wrong when people edit nodes: ZooKeeper refuses a commit that was
// planned on what is not so, and the plan is made again from what is.
type known struct {
	mu    sync.RWMutex
	nodes map[string]node
}

func newKnown() *known { return &known{nodes: map[string]node{}} }

// at is what is known of a path; false: nothing.
func (k *known) at(path string) (node, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.locked(path)
}

func (k *known) locked(path string) (node, bool) {
	n, ok := k.nodes[path]
	if ok {
		return n, n.kind != unknown
	}
	if path == "/" {
		return node{}, false
	}
	above, _ := split(path)
	up, ok := k.locked(above)
	if ok && (up.kind == absent || up.whole) {
		return node{kind: absent}, true
	}
	return node{}, false
}

// set keeps what a read or a commit showed. What is not there takes no memory.
func (k *known) set(path string, n node) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n.kind == absent {
		delete(k.nodes, path)
		return
	}
	k.nodes[path] = n
}

// forget makes the next commit that needs the path look.
func (k *known) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes[path] = node{}
}

// below returns which transactions made the entries right below a path, by path; 0
// where somebody's change was told since it was read.
func (k *known) below(path string) map[string]int64 {
	k.mu.RLock()
	defer k.mu.RUnlock()
	found := map[string]int64{}
	for p, n := range k.nodes {
		if name, ok := strings.CutPrefix(p, path+"/"); ok && n.kind != parent && !strings.Contains(name, "/") {
			found[p] = n.zxid
		}
	}
	return found
}

package zookeeper

import (
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// state is what ZooKeeper shows of a node's value and of who may read it: it is another after every change of either.
type state struct {
	mzxid    int64
	aversion int32
}

func stateOf(stat *zk.Stat) state { return state{stat.Mzxid, stat.Aversion} }

// nodeState is what is known of an entry's node.
type nodeState struct {
	there   bool
	version int32
	state   state
}

// known is what a term knows of entries, so that most commits need no look before. It may
// be wrong where people edit nodes: ZooKeeper refuses a commit that was planned on what is not
// so, and the plan is made again from what is.
type known struct {
	mu    sync.RWMutex
	nodes map[string]nodeState
	// whole are the areas of which all entries that are there are known.
	whole map[string]bool
	// doubted are the entries that have changed since they were read.
	doubted map[string]bool
}

func newKnown() *known {
	return &known{nodes: map[string]nodeState{}, whole: map[string]bool{}, doubted: map[string]bool{}}
}

// at is what is known of an entry; false: nothing.
func (k *known) at(path string) (nodeState, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	n, ok := k.nodes[path]
	return n, !k.doubted[path] && (ok || k.whole[area(path)])
}

// set keeps what a read or a commit showed.
func (k *known) set(path string, n nodeState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.doubted, path)
	if !n.there && k.whole[area(path)] {
		delete(k.nodes, path)
		return
	}
	k.nodes[path] = n
}

// forget makes the next commit that needs the entry look.
func (k *known) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.nodes, path)
	k.doubted[path] = true
}

// listed keeps that these entries of an area are there, and no others. Those that were not read are doubted.
func (k *known) listed(area string, paths []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, path := range paths {
		if _, ok := k.nodes[path]; !ok {
			k.doubted[path] = true
		}
	}
	k.whole[area] = true
}

// below are the entries of a folder that are known to be there.
func (k *known) below(folder string) (paths []string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for path, n := range k.nodes {
		if n.there && strings.HasPrefix(path, folder) && folderOf(path) == folder {
			paths = append(paths, path)
		}
	}
	return paths
}

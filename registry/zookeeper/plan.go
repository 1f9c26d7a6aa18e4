package zookeeper

import (
	"bytes"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// op is one operation of a Multi, and the path that it is about.
type op struct {
	request any
	path    string
	// tidying: no write asked for it. A plan without it does as well.
	tidying bool
}

// planner turns writes into operations, from what is known. It is pure: a plan on
// wrong knowledge is refused by ZooKeeper as a whole.
type planner struct {
	place *place
	look  func(path string) node // what is known of a path that the plan has not touched
	tidy  bool                   // parents that lose their last child go
	// spared are the folders in which nothing is tidied.
	spared map[string]bool

	after map[string]node // what the plan makes of the paths that it touches
	ops   []op
	size  int // bytes of ops in a request
	// parents are the parents that the plan makes, from the top down.
	parents []string
	// emptied are the parents that lose their last child and stay, since tidy is off.
	emptied []string
	// conflict is the first path whose condition does not hold.
	conflict string
}

// Bytes of operations in a request, beside path and value: each has a header of
// 9 bytes, 4 for each length and 4 for version or flags.
const (
	checkBytes  = 9 + 4 + 4
	deleteBytes = 9 + 4 + 4
	setBytes    = 9 + 4 + 4 + 4
	createBytes = 9 + 4 + 4 + 4 + aclBytes
	// aclBytes is one rule for world:anyone, the longer one of both that are in use.
	aclBytes = 4 + 4 + 4 + len("world") + 4 + len("anyone")
)

func (p *planner) at(path string) node {
	if n, ok := p.after[path]; ok {
		return n
	}
	return p.look(path)
}

func (p *planner) add(path string, size int, request any) {
	p.ops = append(p.ops, op{request: request, path: path})
	p.size += size + len(p.place.full(path))
}

// writes plans the writes in their order, up to the first whose condition does not hold.
func (p *planner) writes(writes []registry.Write) {
	for _, w := range writes {
		n := p.at(w.Path)
		if !w.If.Met(n.kind == entry, int64(n.version)) {
			p.conflict = w.Path
			return
		}
		// Without a condition any version will do. A node that was nobody's entry is
		// taken only as it was seen.
		version := int32(-1)
		if !w.If.Any() {
			version = n.version
		}
		switch {
		case w.Delete && n.kind != entry:
		case w.Delete && n.children > 0:
			p.put(w.Path, mark, version)
			n.kind, n.version = parent, n.version+1
			p.after[w.Path] = n
		case w.Delete:
			p.remove(w.Path, version)
		case n.kind == absent:
			p.create(w.Path, w.Value)
			p.after[w.Path] = node{kind: entry, whole: true}
		default:
			p.put(w.Path, w.Value, version)
			n.kind, n.version = entry, n.version+1
			p.after[w.Path] = n
		}
	}
}

func (p *planner) put(path string, value []byte, version int32) {
	if value == nil {
		value = []byte{}
	}
	p.add(path, setBytes+len(value), &zk.SetDataRequest{Path: p.place.full(path), Data: value, Version: version})
}

func (p *planner) create(path string, value []byte) {
	above, _ := split(path)
	if above != "/" && p.at(above).kind == absent { // the root itself: the whole namespace was deleted, which the fence tells
		p.create(above, mark)
		p.after[above] = node{kind: parent, whole: true}
		p.parents = append(p.parents, above)
	}
	up := p.at(above)
	up.children++
	p.after[above] = up
	if value == nil {
		value = []byte{}
	}
	p.add(path, createBytes+len(value), &zk.CreateRequest{Path: p.place.full(path), Data: value, Acl: p.place.acl})
}

func (p *planner) remove(path string, version int32) {
	p.add(path, deleteBytes, &zk.DeleteRequest{Path: p.place.full(path), Version: version})
	p.after[path] = node{kind: absent}
	above, _ := split(path)
	up := p.at(above)
	up.children--
	p.after[above] = up
	if p.tidy {
		p.sweep(above)
	} else if p.isLitter(above) {
		p.emptied = append(p.emptied, above)
	}
}

// sweep removes a parent that nothing is below, if ZooKeeper has not refused that before.
func (p *planner) sweep(path string) {
	if !p.isLitter(path) {
		return
	}
	at := len(p.ops)
	p.remove(path, p.at(path).version)
	p.ops[at].tidying = true
}

func (p *planner) isLitter(path string) bool {
	n := p.at(path)
	if n.kind != parent || n.children > 0 || !removable(path) {
		return false
	}
	folder, _ := split(path)
	return !p.spared[folder]
}

// isMark reports whether a value can't be told from a parent's.
func isMark(value []byte) bool { return bytes.Equal(value, mark) }

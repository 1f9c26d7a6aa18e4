package zookeeper

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

type opKind uint8

const (
	opCreate opKind = iota
	opSet
	opDelete
)

// op is one operation of a Multi. Its fields are exported for gob: parts of large commits are stored.
type op struct {
	Kind opKind
	// Path is the entry's; where it is empty, Node is a node of the registry itself.
	Path, Node string
	Value      []byte
	// Version is the version that the node must have, -1: any. Only writes with a condition have one.
	Version int32
	// Conditional says that the write has a condition, so it must not be made where that no longer holds.
	Conditional bool
}

// Bytes of operations in a request, beside path and value: each has a header of
// 9 bytes, 4 for each length and 4 for version or flags.
const (
	deleteBytes = 9 + 4 + 4
	setBytes    = deleteBytes + 4
	createBytes = setBytes + aclBytes
	// aclBytes is one rule for world:anyone, the longer one of both that are in use.
	aclBytes = 4 + 4 + 4 + len("world") + 4 + len("anyone")
)

// node is the node that the operation is about, below the namespace.
func (o *op) node() string {
	if o.Path == "" {
		return o.Node
	}
	return nodeOf(o.Path)
}

// size is how many bytes of a request the operation takes.
func (o *op) size(p *place) int {
	size := len(p.root) + len(o.node()) + len(o.Value)
	switch o.Kind {
	case opCreate:
		return size + createBytes
	case opSet:
		return size + setBytes
	default:
		return size + deleteBytes
	}
}

func (o *op) request(p *place) any {
	value := o.Value
	if value == nil {
		value = []byte{}
	}
	switch full := p.full(o.node()); o.Kind {
	case opCreate:
		return &zk.CreateRequest{Path: full, Data: value, Acl: p.acl}
	case opSet:
		return &zk.SetDataRequest{Path: full, Data: value, Version: o.Version}
	default:
		return &zk.DeleteRequest{Path: full, Version: o.Version}
	}
}

// sizeOf is how many bytes of a request the operations take.
func sizeOf(p *place, ops []op) (size int) {
	for i := range ops {
		size += ops[i].size(p)
	}
	return size
}

// planned is what writes come to.
type planned struct {
	ops   []op
	after map[string]nodeState // what the operations make of the entries
	// conflict is the first path whose condition does not hold.
	conflict string
}

// plan turns writes into operations, in their order, from what is known of the entries. It is pure: ZooKeeper refuses a plan
// on wrong knowledge as a whole.
func plan(writes []registry.Write, look func(path string) nodeState) planned {
	p := planned{after: map[string]nodeState{}}
	for _, w := range writes {
		n, ok := p.after[w.Path]
		if !ok {
			n = look(w.Path)
		}
		if !w.If.Met(n.there, int64(n.version)) {
			p.conflict = w.Path
			return p
		}
		o := op{Path: w.Path, Value: w.Value, Version: -1, Conditional: !w.If.Any()}
		if o.Conditional {
			o.Version = n.version
		}
		switch {
		case w.Delete && !n.there:
			continue
		case w.Delete:
			o.Kind, o.Value = opDelete, nil
			n = nodeState{}
		case n.there:
			o.Kind = opSet
			n.version++
		default:
			o.Kind = opCreate
			n = nodeState{there: true}
		}
		p.ops = append(p.ops, o)
		p.after[w.Path] = n
	}
	return p
}

// badPlace says that no entry can be at a path.
func badPlace(path string) error {
	return fmt.Errorf("%w: %q is a folder of the original's layout, or no place in it", registry.ErrBadPath, path)
}

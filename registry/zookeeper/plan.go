package zookeeper

import (
	"errors"
	"math"
	"slices"

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
	Kind  opKind
	Path  string // of an entry, or of a node of the registry itself
	Value []byte
	// Version is the version that the node must have, -1: any.
	Version int32
	// Conditional says that the write has a condition, which is what ZooKeeper refuses the operation for.
	Conditional bool
}

// opBytes is how many bytes of a request an operation takes at most, beside path and value: a header of 9 bytes, 4 for
// each length, 4 for version or flags, and the longer one of the two ACLs that are in use, world:anyone.
const opBytes = 9 + 4 + 4 + 4 + 4 + 4 + 4 + len("world") + 4 + len("anyone")

// size is how many bytes of a request the operation takes at most.
func (o *op) size(p *place) int {
	return opBytes + len(p.root) + len(nodeOf(o.Path)) + len(o.Value)
}

func (o *op) request(p *place) any {
	value := o.Value
	if value == nil {
		value = []byte{}
	}
	switch full := p.full(nodeOf(o.Path)); o.Kind {
	case opCreate:
		return &zk.CreateRequest{Path: full, Data: value, Acl: p.acl}
	case opSet:
		return &zk.SetDataRequest{Path: full, Data: value, Version: o.Version}
	default:
		return &zk.DeleteRequest{Path: full, Version: o.Version}
	}
}

// sizeOf is how many bytes of a request the operations take at most.
func sizeOf(p *place, ops []op) (size int) {
	for i := range ops {
		size += ops[i].size(p)
	}
	return size
}

// plan turns writes into operations, in their order. A condition becomes the operation that ZooKeeper refuses where it
// does not hold. What has none depends on whether the entry is there, of which isThere may be wrong; see refit.
func plan(writes []registry.Write, isThere func(path string) (there, sure bool)) (ops []op) {
	after := map[string]bool{} // whether the entries that were written are there then
	for _, w := range writes {
		there, sure := after[w.Path]
		if !sure {
			there, sure = isThere(w.Path)
		}
		after[w.Path] = !w.Delete
		o := op{Kind: opSet, Path: w.Path, Value: w.Value, Version: -1, Conditional: !w.If.Any()}
		version, atVersion := w.If.Version()
		if atVersion {
			o.Version = nodeVersion(version)
		}
		switch {
		case w.Delete && w.If.WantsAbsent():
			create := o
			create.Kind, create.Value = opCreate, nil
			o.Kind, o.Value = opDelete, nil
			ops = append(ops, create)
		case w.Delete && !atVersion && sure && !there:
			continue
		case w.Delete:
			o.Kind, o.Value = opDelete, nil
		case w.If.WantsAbsent() || !atVersion && !there:
			o.Kind = opCreate
		}
		ops = append(ops, o)
	}
	return ops
}

// nodeVersion is a version as ZooKeeper has it. One that no node can have is never met.
func nodeVersion(version int64) int32 {
	if version < 0 || version > math.MaxInt32 {
		return math.MaxInt32
	}
	return int32(version)
}

// unmet reports whether an operation was refused because its condition does not hold. A node that can't be made
// because there is no folder for it shows nothing of that.
func (o *op) unmet(why error) bool {
	noNode := errors.Is(why, zk.ErrNoNode) && o.Kind != opCreate
	return o.Conditional && (noNode || errors.Is(why, zk.ErrNodeExists) || errors.Is(why, zk.ErrBadVersion))
}

// refit changes the operation that was refused, or drops it, where it has no condition and the refusal has shown
// whether its node is there. It reports whether it did.
func refit(ops *[]op, refused int, why error) bool {
	o := &(*ops)[refused]
	switch {
	case o.Conditional:
		return false
	case o.Kind == opSet && errors.Is(why, zk.ErrNoNode):
		o.Kind = opCreate
	case o.Kind == opCreate && errors.Is(why, zk.ErrNodeExists):
		o.Kind = opSet
	case o.Kind == opDelete && errors.Is(why, zk.ErrNoNode):
		*ops = slices.Delete(*ops, refused, refused+1)
	default:
		return false
	}
	return true
}

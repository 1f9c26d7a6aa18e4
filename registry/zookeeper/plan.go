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

// op is one operation of a Multi. Its fields are exported for gob, because the parts of large commits are stored.
type op struct {
	Kind  opKind
	Path  string // of an entry, or a node of the registry itself
	Value []byte
	// Version is the required version of the node; -1 means any.
	Version int32
	// Conditional reports that the write has a condition, so that a refusal of the operation may be a conflict.
	Conditional bool
}

// opBytes is the greatest size of an operation in a request, without path and value: a header of 9 bytes, 4 for each
// length, 4 for version or flags, and the longer one of the two ACLs that are used, world:anyone.
const opBytes = 9 + 4 + 4 + 4 + 4 + 4 + 4 + len("world") + 4 + len("anyone")

// size returns the greatest size of the operation in a request, in bytes.
func (o *op) size(ns *namespace) int {
	return opBytes + len(ns.root) + len(nodeOf(o.Path)) + len(o.Value)
}

func (o *op) request(ns *namespace) any {
	value := o.Value
	if value == nil {
		value = []byte{}
	}
	switch full := ns.full(nodeOf(o.Path)); o.Kind {
	case opCreate:
		return &zk.CreateRequest{Path: full, Data: value, Acl: ns.acl}
	case opSet:
		return &zk.SetDataRequest{Path: full, Data: value, Version: o.Version}
	default:
		return &zk.DeleteRequest{Path: full, Version: o.Version}
	}
}

// sizeOf returns the greatest size of the operations in a request, in bytes.
func sizeOf(ns *namespace, ops []op) (size int) {
	for i := range ops {
		size += ops[i].size(ns)
	}
	return size
}

// plan converts writes into operations, in their order. A condition becomes an operation that ZooKeeper refuses unless
// the condition holds. The kind of an operation without a condition depends on whether the entry exists, about which
// isThere may be wrong; refit corrects it then.
func plan(writes []registry.Write, isThere func(path string) (there, sure bool)) (ops []op) {
	after := map[string]bool{} // whether the written entries exist after the writes so far
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

// nodeVersion returns a version as ZooKeeper's type. A version out of its range becomes one that no node has.
func nodeVersion(version int64) int32 {
	if version < 0 || version > math.MaxInt32 {
		return math.MaxInt32
	}
	return int32(version)
}

// unmet reports whether an operation was refused because its condition does not hold. The refusal to create a node for
// lack of its parent folder does not show that.
func (o *op) unmet(why error) bool {
	noNode := errors.Is(why, zk.ErrNoNode) && o.Kind != opCreate
	return o.Conditional && (noNode || errors.Is(why, zk.ErrNodeExists) || errors.Is(why, zk.ErrBadVersion))
}

// refit corrects the refused operation, or drops it, if it has no condition and the refusal shows whether its node
// exists. It reports whether it did so.
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

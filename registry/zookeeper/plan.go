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

// op is one operation of a Multi. Its fields are exported because gob encodes them: the parts of large commits are
// stored.
type op struct {
	Kind  opKind
	Path  string // of an entry or of a node of the registry itself
	Value []byte
	// Version is the required version of the node; -1 means any version.
	Version int32
	// Conditional is set if the operation comes from a write with a condition, so that a refusal may be a conflict.
	Conditional bool
}

// opBytes is the maximum size of an operation in a request, without path and value: a header of 9 bytes, 4 for each
// length, 4 for version or flags, and the ACL world:anyone, which is longer than the other ACL in use.
const opBytes = 9 + 4 + 4 + 4 + 4 + 4 + 4 + len("world") + 4 + len("anyone")

// size returns the maximum size of the operation in a request, in bytes.
func (o *op) size(ns *namespace) int {
	return opBytes + len(ns.root) + len(nodeOf(o.Path)) + len(o.Value)
}

// request returns the operation as a request of the ZooKeeper library.
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

// sizeOf returns the maximum size of the operations in a request, in bytes.
func sizeOf(ns *namespace, ops []op) (size int) {
	for i := range ops {
		size += ops[i].size(ns)
	}
	return size
}

// plan converts writes into operations, in their order. A condition becomes an operation that ZooKeeper refuses unless
// the condition holds. The kind of an operation without a condition depends on whether the entry exists. The answer of
// exists may be wrong; refit then corrects the operation.
func plan(writes []registry.Write, exists func(path string) (exists, sure bool)) (ops []op) {
	after := map[string]bool{} // whether the entries exist after the writes so far, by path
	for _, w := range writes {
		found, sure := after[w.Path]
		if !sure {
			found, sure = exists(w.Path)
		}
		after[w.Path] = !w.Delete
		o := op{Kind: opSet, Path: w.Path, Value: w.Value, Version: -1, Conditional: !w.If.IsZero()}
		version, atVersion := w.If.Version()
		if atVersion {
			o.Version = nodeVersion(version)
		}
		switch {
		case w.Delete && w.If.WantsAbsent(): // the creation checks the condition
			create := o
			create.Kind, create.Value = opCreate, nil
			o.Kind, o.Value = opDelete, nil
			ops = append(ops, create)
		case w.Delete && !atVersion && sure && !found:
			continue
		case w.Delete:
			o.Kind, o.Value = opDelete, nil
		case w.If.WantsAbsent() || !atVersion && !found:
			o.Kind = opCreate
		}
		ops = append(ops, o)
	}
	return ops
}

// nodeVersion converts a version into ZooKeeper's type. A version out of its range becomes the greatest version, which
// no node has.
func nodeVersion(version int64) int32 {
	if version < 0 || version > math.MaxInt32 {
		return math.MaxInt32
	}
	return int32(version)
}

// conditionUnmet reports whether the operation was refused because its condition does not hold. A creation that was
// refused for lack of the parent folder does not count.
func (o *op) conditionUnmet(refusal error) bool {
	noNode := errors.Is(refusal, zk.ErrNoNode) && o.Kind != opCreate
	return o.Conditional && (noNode || errors.Is(refusal, zk.ErrNodeExists) || errors.Is(refusal, zk.ErrBadVersion))
}

// refit corrects or drops the refused operation, whose index is i, if the refusal shows that it was planned wrongly.
// It returns false if the operation has a condition, or if the refusal has another reason.
func refit(ops *[]op, i int, refusal error) bool {
	o := &(*ops)[i]
	switch {
	case o.Conditional:
		return false
	case o.Kind == opSet && errors.Is(refusal, zk.ErrNoNode):
		o.Kind = opCreate
	case o.Kind == opCreate && errors.Is(refusal, zk.ErrNodeExists):
		o.Kind = opSet
	case o.Kind == opDelete && errors.Is(refusal, zk.ErrNoNode):
		*ops = slices.Delete(*ops, i, i+1)
	default:
		return false
	}
	return true
}

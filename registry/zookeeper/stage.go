package zookeeper

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// namedCommit is the value of /registry/commit: a commit of several parts that has happened (rule T5), and the number
// of its parts that have been applied.
type namedCommit struct {
	Name    string `json:"name"`
	Parts   int    `json:"parts"`
	Applied int    `json:"applied"`
}

// part returns the path of the node with the part n.
func (c namedCommit) part(n int) string { return fmt.Sprintf("%s/%s-%d", stagedPath, c.Name, n) }

// stage makes a commit that is too large for one request, all of it or nothing (rule T5). First it writes the
// operations as parts into separate nodes. Then one fenced Multi names the parts in /registry/commit; this is the
// commit point. Then one fenced Multi for each part applies the part, counts it and removes its node. A new term that
// finds a named commit applies the rest of it before the term reads anything. Parts that no commit names were never
// committed, and are removed.
//
// The leader is not the only writer of documents and disabled marks: users edit them too. So the operations of writes
// with a condition are not staged. They belong to the Multi of the commit point, where ZooKeeper checks their versions
// at the moment of the commit. About 5,000 fit into it with the longest names, and 10,000 with usual ones. The
// conditions of further operations are checked just before the commit point. If a document is edited between that
// check and the application of its part, the edit stays, as if it had been made after the commit.
func (t *term) stage(ops *[]op) (refused *op, err error) {
	head, parts := split(t.namespace, *ops)
	c := namedCommit{Name: fmt.Sprintf("%d-%d", t.Number(), t.commits), Parts: len(parts)}
	if err := t.checkStaged(parts); err != nil {
		// A deposed leader must get errFenced here and not a conflict, so an empty write checks the fence.
		if _, ended := t.write(&[]op{}); ended != nil {
			return nil, ended
		}
		return nil, err
	}
	for n, part := range parts {
		var value bytes.Buffer
		if err := gob.NewEncoder(&value).Encode(part); err != nil {
			return nil, err
		}
		refused, err = t.write(&[]op{{Kind: opCreate, Path: c.part(n), Value: value.Bytes(), Version: -1}})
		if err != nil {
			t.discard(c, n)
			return refused, err
		}
	}
	head = append([]op{{Kind: opCreate, Path: namedPath, Value: c.bytes(), Version: -1}}, head...)
	if refused, err = t.write(&head); err != nil {
		t.discard(c, len(parts))
		return refused, err
	}
	if err := t.apply(c, parts); err != nil {
		return nil, fmt.Errorf("%w: the next leader finishes the commit: %w", registry.ErrOutcomeUnknown, err)
	}
	return nil, nil
}

func (c namedCommit) bytes() []byte {
	value, _ := json.Marshal(c) // can't fail: a string and numbers
	return value
}

// split divides operations into a head and parts, each of which fits into one request. The head has the operations of
// writes with a condition, as far as they fit, and all other operations on the same entries.
func split(ns *namespace, ops []op) (head []op, parts [][]op) {
	sizes, conditional := map[string]int{}, map[string]bool{}
	for i := range ops {
		sizes[ops[i].Path] += ops[i].size(ns)
		conditional[ops[i].Path] = conditional[ops[i].Path] || ops[i].Conditional
	}
	inHead, left := map[string]bool{}, ns.maxBytes()
	for i := range ops {
		path := ops[i].Path
		if conditional[path] && sizes[path] <= left {
			left -= sizes[path]
			conditional[path], inHead[path] = false, true
		}
	}
	size := ns.maxBytes()
	for i := range ops {
		if inHead[ops[i].Path] {
			head = append(head, ops[i])
			continue
		}
		if size += ops[i].size(ns); size > ns.maxBytes() {
			parts = append(parts, nil)
			size = ops[i].size(ns)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, ops[i])
	}
	return head, parts
}

// checkStaged checks the conditions of the operations in the parts, which the commit point does not check. It returns
// a *registry.Conflict if one does not hold.
func (t *term) checkStaged(parts [][]op) error {
	var checked []*op
	seen := map[string]bool{}
	for _, part := range parts {
		for i := range part {
			o := &part[i]
			if o.Conditional && !seen[o.Path] {
				checked = append(checked, o)
			}
			seen[o.Path] = true // the conditions of later operations refer to the state after this one
		}
	}
	return parallel(t.ctx, maxReads, len(checked), func(ctx context.Context, i int) error {
		o := checked[i]
		stat, err := t.stat(ctx, nodeOf(o.Path))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		exists, mustExist := stat != nil, o.Kind != opCreate
		if exists != mustExist || exists && stat.Version != o.Version {
			return &registry.Conflict{Path: o.Path}
		}
		return nil
	})
}

// discard removes the first parts of a commit that did not happen. If it can't remove a part, the next term does.
func (t *term) discard(c namedCommit, parts int) {
	for n := range parts {
		if _, err := t.write(&[]op{{Kind: opDelete, Path: c.part(n), Version: -1}}); err != nil {
			t.namespace.Logger.Debug("part of a commit not removed", "node", c.part(n), "error", err)
		}
	}
}

// apply applies the remaining parts of a commit that has happened. If parts is nil, it reads the parts from their
// nodes. It retries until the term ends.
func (t *term) apply(c namedCommit, parts [][]op) error {
	for ; c.Applied < c.Parts; c.Applied++ {
		node := c.part(c.Applied)
		var part []op
		if parts != nil {
			part = parts[c.Applied]
		} else {
			value, _, err := t.get(t.ctx, node)
			if err == nil {
				err = gob.NewDecoder(bytes.NewReader(value)).Decode(&part)
			} else if !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			if err != nil {
				return fmt.Errorf("%w: %s: %w: it was changed by hand; delete it and %s to give up that commit",
					registry.ErrUnusable, t.namespace.full(node), err, t.namespace.full(namedPath))
			}
		}
		next := c
		next.Applied++
		ops := append([]op{{Kind: opDelete, Path: node, Version: -1},
			{Kind: opSet, Path: namedPath, Value: next.bytes(), Version: -1}}, part...)
		if next.Applied == c.Parts {
			ops[1] = op{Kind: opDelete, Path: namedPath, Version: -1}
		}
		if err := t.applyPart(ops); err != nil {
			return err
		}
	}
	return nil
}

// applyPart makes operations of a commit that has happened. It retries until the term ends. If a node was edited
// externally since the operations were planned, it leaves out the operations on this node, so that the edit stays.
func (t *term) applyPart(ops []op) error {
	var warnedAt time.Time
	for {
		refused, err := t.write(&ops)
		switch {
		case err == nil:
			return nil
		case t.Err() != nil:
			return err
		case refused != nil && (refused.conditionUnmet(err) || isEdited(refused.Path)):
			t.namespace.Logger.Warn("node edited during a commit: the edit stays",
				"node", t.namespace.full(nodeOf(refused.Path)), "refused", err)
			edited := refused.Path
			ops = slices.DeleteFunc(ops, func(o op) bool { return o.Path == edited })
			continue
		}
		if time.Since(warnedAt) > warnInterval {
			warnedAt = time.Now()
			if refused != nil {
				err = t.explain("write", nodeOf(refused.Path), err)
			}
			t.namespace.Logger.Warn("commit not applied, retrying: nothing else is committed meanwhile", "error", err)
		}
		if err := t.pause(); err != nil {
			return err
		}
	}
}

// recoverCommit finishes a commit that an earlier term has named, and removes parts that no commit names. A new term
// calls it before any read.
func (t *term) recoverCommit(ctx context.Context) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	value, _, err := t.get(ctx, namedPath)
	var c namedCommit
	switch {
	case err == nil:
		if err := json.Unmarshal(value, &c); err != nil {
			return fmt.Errorf("%w: %s: %w: it was changed by hand; delete it to give up what it names",
				registry.ErrUnusable, t.namespace.full(namedPath), err)
		}
		t.namespace.Logger.Info("commit of an earlier term finished", "commit", c.Name, "parts", c.Parts, "applied",
			c.Applied)
		if err := t.apply(c, nil); err != nil {
			return err
		}
	case !errors.Is(err, zk.ErrNoNode):
		return err
	}
	staged, err := t.children(ctx, stagedPath)
	for _, name := range staged {
		if _, err := t.write(&[]op{{Kind: opDelete, Path: stagedPath + "/" + name, Version: -1}}); err != nil {
			return err
		}
	}
	return err
}

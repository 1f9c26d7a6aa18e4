package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/registry"
)

const (
	// maxRefits bounds how often a commit is changed to match the existing nodes, in addition to once per operation.
	// It is needed because users edit the very nodes that a commit changes.
	maxRefits = 20
	// maxSilentTimeouts is the number of session timeouts after which an unanswered request ends the term: a server
	// whose disk hangs keeps the session alive and answers no write.
	maxSilentTimeouts = 2
	// wireLimit is the default of ZooKeeper's jute.maxbuffer, the greatest size of a request.
	wireLimit = 0xfffff
	// frameBytes is the space for the rest of a request: headers, the fence, the check of the election node, and the
	// registry's own operations of a staged commit.
	frameBytes = 4096
)

// maxBytes returns the greatest total size of the operations in one request.
func (ns *namespace) maxBytes() int { return wireLimit - frameBytes - 6*len(ns.root) }

// Commit makes the writes in one Multi that also checks the election node and sets the fence from its last version
// (rule T2), or in several if they are too large for one; see stage. It returns when the outcome is known or the
// session has ended; the end of ctx does not shorten that (rule T3).
func (t *term) Commit(ctx context.Context, writes []registry.Write) error {
	fail := func(err error) error { return fmt.Errorf("commit (writes: %d): %w", len(writes), err) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := checkWrites(writes); err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	ops := plan(writes, t.known.exists)
	write := t.write
	if sizeOf(t.namespace, ops) > t.namespace.maxBytes() {
		write = t.stage
	}
	refused, err := write(&ops)
	var conflict *registry.Conflict
	switch {
	case err == nil || errors.As(err, &conflict):
		return err
	case refused == nil:
		return fail(err)
	case refused.unmet(err):
		return &registry.Conflict{Path: refused.Path}
	case errors.Is(err, zk.ErrNoNode):
		return fail(fmt.Errorf("the parent of %s is missing; the next leader creates it: %w",
			t.namespace.full(nodeOf(refused.Path)), err))
	}
	return fail(t.explain("write", nodeOf(refused.Path), err))
}

// awaitCommit waits for the end of a running commit.
func (t *term) awaitCommit() {
	t.writing.RLock()
	defer t.writing.RUnlock()
}

// write sends operations. It first corrects operations that assumed the wrong existence of their node. If one is
// refused for another reason, write returns it with the error, and nothing was done.
func (t *term) write(ops *[]op) (refused *op, err error) {
	for tries := len(*ops) + maxRefits; ; tries-- {
		at, err := t.send(*ops)
		if at < 0 {
			return nil, err
		}
		if tries == 0 || !refit(ops, at, err) {
			return &(*ops)[at], err
		}
	}
}

var errFenced = errors.New("ZooKeeper refused the fence: another leader has taken over")

// isFence reports whether a refusal of the first two operations concerns the election node or the fence, and not, for
// example, a quota.
func isFence(err error) bool { return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) }

// send sends the operations in one fenced Multi and repeats it until the outcome is known. If an operation was
// refused, refused is its index and nothing was done; otherwise refused is -1.
func (t *term) send(ops []op) (refused int, err error) {
	next := fence{t.Number(), t.commits + 1, t.candidate.name}
	requests := []any{
		&zk.CheckVersionRequest{Path: t.namespace.full(electionPath + "/" + t.candidate.name), Version: -1},
		&zk.SetDataRequest{Path: t.namespace.full(fencePath), Data: next.bytes(), Version: t.fenceVersion},
	}
	for i := range ops {
		requests = append(requests, ops[i].request(t.namespace))
	}
	unsure := false // an earlier try may have succeeded
	ended := func(why error) (int, error) {
		t.end(why)
		if unsure {
			return -1, fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, t.Err())
		}
		return -1, t.Err()
	}
	for began := time.Now(); ; {
		if err := t.Err(); err != nil {
			return ended(err)
		}
		results, err := t.client.Multi(requests...)
		if err == nil {
			t.committed(results[1].Stat, ops)
			return -1, nil
		}
		if zookeeper.Answered(err) {
			failed := slices.IndexFunc(results, func(r zk.MultiResponse) bool { return r.Error != nil })
			if failed >= 2 {
				return failed - 2, err
			}
			if failed == 0 && isFence(err) {
				return ended(errFenced)
			}
			// The fence shows whether this try, or an earlier one, succeeded.
			shown, stat, readErr := t.shows(next)
			switch {
			case readErr != nil:
				unsure = true
				return ended(readErr)
			case shown:
				t.committed(stat, ops)
				return -1, nil
			case failed >= 0 && isFence(err):
				return ended(errFenced)
			}
			return -1, t.explain("write", fencePath, err)
		}
		unsure = true
		if tried := time.Since(began); tried > maxSilentTimeouts*t.namespace.SessionTimeout {
			if errors.Is(err, zk.ErrConnectionClosed) {
				err = fmt.Errorf("jute.maxbuffer of the servers may be smaller than %d: %w", wireLimit, err)
			}
			return ended(fmt.Errorf("no answer in %s to a request of %d bytes; a disk of ZooKeeper may hang: %w",
				tried.Round(time.Second), sizeOf(t.namespace, ops), err))
		}
		t.namespace.Logger.Debug("commit unanswered, retrying", "term", next.term, "commit",
			next.commit, "error", err)
		if err := t.pause(); err != nil {
			return ended(err)
		}
	}
}

// committed records the effects of a Multi that left the fence in this state.
func (t *term) committed(fence *zk.Stat, ops []op) {
	t.commits++
	t.fenceVersion = fence.Version
	for i := range ops {
		t.known.recordWrite(ops[i].Path, ops[i].Kind, fence.Mzxid)
	}
}

// shows reports whether the stored fence has the term and commit number of f.
func (t *term) shows(f fence) (yes bool, stat *zk.Stat, err error) {
	value, stat, err := t.get(t.ctx, fencePath)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	found, err := readFence(value)
	return err == nil && found == f, stat, nil
}

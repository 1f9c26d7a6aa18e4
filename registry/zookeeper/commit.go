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
	// write corrects the operations of a commit at most once per operation and maxRefits times more. The latter is for
	// users who edit the same nodes at the same time.
	maxRefits = 20
	// maxSilentTimeouts is the number of session timeouts after which an unanswered request ends the term. The session
	// does not end by itself: a server whose disk hangs keeps it alive, but answers no write.
	maxSilentTimeouts = 2
	// wireLimit is the default of ZooKeeper's jute.maxbuffer, the maximum size of a request.
	wireLimit = 0xfffff
	// frameBytes is the space for the rest of a request: headers, the fence, the check of the election node, and the
	// registry's own operations of a staged commit.
	frameBytes = 4096
)

// maxBytes returns the maximum total size of the operations in one request.
func (ns *namespace) maxBytes() int { return wireLimit - frameBytes - 6*len(ns.root) }

// Commit makes the writes in one Multi that also checks the election node and sets the fence from its last version
// (rule T2). If the writes are too large for one Multi, stage makes them in several. Commit returns when the outcome
// is known or the session has ended. It does not return earlier when ctx ends (rule T3).
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
	ops := plan(writes, t.states.exists)
	write := t.write
	if sizeOf(t.namespace, ops) > t.namespace.maxBytes() {
		write = t.stage
	}
	refused, err := write(&ops)
	switch {
	case err == nil || errors.As(err, new(*registry.Conflict)):
		return err
	case refused == nil:
		return fail(err)
	case refused.conditionUnmet(err):
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

// write makes operations. If ZooKeeper refuses them because one was planned wrongly, write corrects that operation in
// ops and tries again. If an operation is refused for another reason, write returns it with the error, and has changed
// nothing.
func (t *term) write(ops *[]op) (refused *op, err error) {
	for refits := len(*ops) + maxRefits; ; refits-- {
		i, err := t.send(*ops)
		if i < 0 {
			return nil, err
		}
		if refits == 0 || !refit(ops, i, err) {
			return &(*ops)[i], err
		}
	}
}

var errFenced = errors.New("ZooKeeper refused the fence: another leader has taken over")

// isFenceRefusal reports whether the refusal of one of the first two operations of a Multi is due to the state of the
// election node or the fence. Other refusals, for example because of a quota, do not end the term.
func isFenceRefusal(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion)
}

// send sends the operations in one fenced Multi and repeats it until the outcome is known. If an operation was
// refused, refused is its index, and nothing has changed. Otherwise refused is -1.
func (t *term) send(ops []op) (refused int, err error) {
	next := fence{t.Number(), t.commits + 1, t.candidate.name}
	requests := []any{
		&zk.CheckVersionRequest{Path: t.namespace.full(electionPath + "/" + t.candidate.name), Version: -1},
		&zk.SetDataRequest{Path: t.namespace.full(fencePath), Data: next.bytes(), Version: t.fenceVersion},
	}
	for i := range ops {
		requests = append(requests, ops[i].request(t.namespace))
	}
	mayBeDone := false // an earlier try may have succeeded
	endTerm := func(why error) (int, error) {
		t.end(why)
		if mayBeDone {
			return -1, fmt.Errorf("%w: %w", registry.ErrOutcomeUnknown, t.Err())
		}
		return -1, t.Err()
	}
	for began := time.Now(); ; {
		if err := t.Err(); err != nil {
			return endTerm(err)
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
			if failed == 0 && isFenceRefusal(err) {
				return endTerm(errFenced)
			}
			// The fence shows whether this try or an earlier one has succeeded.
			done, stat, readErr := t.fenceIs(next)
			switch {
			case readErr != nil:
				mayBeDone = true
				return endTerm(readErr)
			case done:
				t.committed(stat, ops)
				return -1, nil
			case failed >= 0 && isFenceRefusal(err):
				return endTerm(errFenced)
			}
			return -1, t.explain("write", fencePath, err)
		}
		mayBeDone = true
		if elapsed := time.Since(began); elapsed > maxSilentTimeouts*t.namespace.SessionTimeout {
			if errors.Is(err, zk.ErrConnectionClosed) {
				err = fmt.Errorf("jute.maxbuffer of the servers may be smaller than %d: %w", wireLimit, err)
			}
			return endTerm(fmt.Errorf("no answer in %s to a request of %d bytes; a disk of ZooKeeper may hang: %w",
				elapsed.Round(time.Second), sizeOf(t.namespace, ops), err))
		}
		t.namespace.Logger.Debug("commit unanswered, retrying", "term", next.term, "commit", next.commit, "error", err)
		if err := t.pause(); err != nil {
			return endTerm(err)
		}
	}
}

// committed records the effects of a successful Multi. fence is the Stat of the fence after it.
func (t *term) committed(fence *zk.Stat, ops []op) {
	t.commits++
	t.fenceVersion = fence.Version
	for i := range ops {
		t.states.recordWrite(ops[i].Path, ops[i].Kind, fence.Mzxid)
	}
}

// fenceIs reads the fence and reports whether it is f. It returns false if there is no fence.
func (t *term) fenceIs(f fence) (equal bool, stat *zk.Stat, err error) {
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

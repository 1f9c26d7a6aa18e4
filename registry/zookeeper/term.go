package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// term is one leader's term. It uses one session from its candidacy to its end.
type term struct {
	namespace *namespace
	client    *client
	candidate candidate
	leader    registry.Leader
	known     *known
	documents *documents

	// writing is held by a commit and shared by reads, so that reads see a commit of several requests as a whole.
	writing sync.RWMutex
	// commits and fenceVersion are guarded by writing: the number of requests that have committed something, and the
	// version of the fence that the next one needs.
	commits      int64
	fenceVersion int32

	// ctx ends with the session or the term. Its cause is the reason.
	ctx        context.Context
	end        context.CancelCauseFunc // the first reason counts
	goroutines sync.WaitGroup
}

func newTerm(c *client, own candidate, leader registry.Leader, version int32) *term {
	t := &term{namespace: c.namespace, client: c, candidate: own, leader: leader, known: newKnown(),
		fenceVersion: version}
	t.ctx, t.end = context.WithCancelCause(c.Context())
	t.documents = newDocuments(t)
	t.goroutines.Go(t.endSession)
	t.goroutines.Go(t.watchElection)
	t.goroutines.Go(t.documents.run)
	return t
}

func (t *term) Number() int64           { return t.leader.Term }
func (t *term) Leader() registry.Leader { return t.leader }
func (t *term) Done() <-chan struct{}   { return t.ctx.Done() }

// Changed returns a channel that stays open when the term ends.
func (t *term) Changed() <-chan string { return t.documents.changed }

func (t *term) Err() error {
	why := context.Cause(t.ctx)
	if why == nil || errors.Is(why, registry.ErrTermEnded) {
		return why
	}
	return fmt.Errorf("%w: %w", registry.ErrTermEnded, why)
}

// endSession ends the session as soon as the term has ended for any reason.
func (t *term) endSession() {
	<-t.ctx.Done()
	t.client.End()
	t.namespace.Logger.Info("term ended", "term", t.Number(), "why", t.Err())
}

// electionCheckInterval is the interval at which the term checks its election node and the fence.
const electionCheckInterval = time.Second

// watchElection ends the term when its election node, or the fence that names it, is removed. Otherwise followers
// would see no leader until the next commit fails.
func (t *term) watchElection() {
	tick := time.NewTicker(electionCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		there, _, err := t.client.Exists(t.namespace.full(electionPath + "/" + t.candidate.name))
		if err == nil && !there {
			t.end(errors.New("the election node is gone: another server may lead"))
		}
		value, _, err := t.client.Get(t.namespace.full(fencePath))
		if now, bad := readFence(value); errors.Is(err, zk.ErrNoNode) ||
			err == nil && (bad != nil || now.candidate != t.candidate.name) {
			t.end(errors.New("the fence is gone or names another term: another server may lead"))
		}
	}
}

// Finish ends the term, waits for a running commit, closes the session and waits for all goroutines of the term.
func (t *term) Finish(why error) {
	t.end(why)
	t.goroutines.Wait()
	t.client.Close()
}

// Resign closes the session, which removes the election node at once. A running commit fails. If no server can be
// reached, which takes up to 3 s to find out, the next leader has to wait until the session expires.
func (t *term) Resign(context.Context) error {
	t.Finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.Number()))
	return nil
}

// Standby reports whether another candidate waits for the end of this term. It returns false if that can't be found
// out.
func (t *term) Standby(ctx context.Context) bool {
	var standing []candidate
	err := t.reading(ctx, func() (err error) {
		standing, err = t.client.readCandidates()
		return err
	})
	return err == nil && len(standing) > 1
}

// reading runs read between two commits, on a goroutine of its own, so that the caller can leave when ctx ends.
// Nothing that was read after the end of the term is returned, because another term may have written since.
func (t *term) reading(ctx context.Context, read func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := t.client.Do(ctx, func() error {
		t.writing.RLock()
		defer t.writing.RUnlock()
		return read()
	})
	if ended := t.Err(); ended != nil {
		return ended
	}
	return err
}

// explain explains a refusal. It concerns one node, so the error is not registry.ErrUnusable.
func (t *term) explain(doing, node string, err error) error {
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return t.namespace.explainNode(doing, t.namespace.full(node), err)
}

// pause waits between two tries of an unanswered request. An error means that another try is useless.
func (t *term) pause() error {
	err := t.client.Pause(t.ctx)
	if ended := t.Err(); ended != nil {
		return ended
	}
	return err
}

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
	states    *nodeStates
	documents *documents

	// A commit locks writing, and reads share it, so that no read sees a part of a commit of several requests.
	writing sync.RWMutex
	// commits is the number of the term's successful Multis, fenceVersion the version of the fence that the next Multi
	// requires. writing guards both.
	commits      int64
	fenceVersion int32

	// ctx ends with the session or the term. Its cause is the first reason that was given to end.
	ctx        context.Context
	end        context.CancelCauseFunc
	goroutines sync.WaitGroup
}

func newTerm(c *client, own candidate, leader registry.Leader, version int32) *term {
	t := &term{namespace: c.namespace, client: c, candidate: own, leader: leader, states: newNodeStates(),
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

// Changed returns the channel of the paths of entries that others have changed. The channel stays open when the term
// ends.
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

// watchElection ends the term when its election node is removed, or when the fence is removed or names another term.
// Otherwise the term would last until its next commit, while followers see no leader.
func (t *term) watchElection() {
	tick := time.NewTicker(electionCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		exists, _, err := t.client.Exists(t.namespace.full(electionPath + "/" + t.candidate.name))
		if err == nil && !exists {
			t.end(errors.New("the election node is gone: another server may lead"))
		}
		value, _, err := t.client.Get(t.namespace.full(fencePath))
		now, invalid := readFence(value)
		namesThisTerm := invalid == nil && now.candidate == t.candidate.name
		if errors.Is(err, zk.ErrNoNode) || err == nil && !namesThisTerm {
			t.end(errors.New("the fence is gone or names another term: another server may lead"))
		}
	}
}

// Confirm reads the fence after a sync: the server that answers then knows every term that had begun before.
func (t *term) Confirm(ctx context.Context) error {
	path := t.namespace.full(fencePath)
	err := t.client.Do(ctx, func() error {
		if _, err := t.client.Sync(path); err != nil {
			return err
		}
		value, _, err := t.client.Get(path)
		if err != nil {
			return err
		}
		now, err := readFence(value)
		if err != nil {
			return err
		}
		if now.candidate != t.candidate.name {
			return registry.ErrTermEnded
		}
		return nil
	})
	if ended := t.Err(); ended != nil {
		return ended
	}
	if err != nil {
		return fmt.Errorf("confirm the term: %w", err)
	}
	return nil
}

// Finish ends the term, waits for a running commit, closes the session and waits for all goroutines of the term.
func (t *term) Finish(reason error) {
	t.end(reason)
	t.goroutines.Wait()
	t.client.Close()
}

// Resign ends the term and closes the session, which removes the election node at once. A running commit fails. If no
// server can be reached, Resign takes up to 3 s, and the next leader has to wait until the session expires.
func (t *term) Resign(context.Context) error {
	t.Finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.Number()))
	return nil
}

// Standby reports whether another candidate waits for the end of this term. If the candidates can't be read, it
// returns false.
func (t *term) Standby(ctx context.Context) bool {
	var all []candidate
	err := t.reading(ctx, func() (err error) {
		all, err = t.client.readCandidates()
		return err
	})
	return err == nil && len(all) > 1
}

// reading calls read between two commits, on a separate goroutine, so that reading can return when ctx ends. If the
// term has ended, reading returns an error, because another term may have written before the read.
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

// explain is explainNode of the namespace for a path in it. It returns nil and zk.ErrNoNode unchanged.
func (t *term) explain(doing, node string, err error) error {
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return t.namespace.explainNode(doing, t.namespace.full(node), err)
}

// pause waits between two tries of an unanswered request. It returns an error if the term has ended.
func (t *term) pause() error {
	err := t.client.Pause(t.ctx)
	if ended := t.Err(); ended != nil {
		return ended
	}
	return err
}

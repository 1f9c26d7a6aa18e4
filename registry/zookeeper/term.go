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

// term is one leader's time. It has one session from its candidacy to its end.
type term struct {
	place     *place
	client    *client
	own       candidate
	leader    registry.Leader
	known     *known
	documents *documents

	// writing is held by a commit, and shared by reads: a commit of several requests is seen as a whole.
	writing sync.RWMutex
	// With writing held: how many requests have committed something, and the version of the fence that the next one
	// needs.
	commits      int64
	fenceVersion int32

	// ctx ends with the session, and with the term for any other reason. Its cause says why.
	ctx   context.Context
	end   context.CancelCauseFunc // the first reason stays
	owned sync.WaitGroup
}

func newTerm(c *client, own candidate, leader registry.Leader, version int32) *term {
	t := &term{place: c.place, client: c, own: own, leader: leader, known: newKnown(), fenceVersion: version}
	t.ctx, t.end = context.WithCancelCause(c.Context())
	t.documents = newDocuments(t)
	t.owned.Go(t.giveBack)
	t.owned.Go(t.keep)
	t.owned.Go(t.documents.run)
	return t
}

func (t *term) Number() int64           { return t.leader.Term }
func (t *term) Leader() registry.Leader { return t.leader }
func (t *term) Done() <-chan struct{}   { return t.ctx.Done() }

// Changed is not closed when the term ends.
func (t *term) Changed() <-chan string { return t.documents.changed }

func (t *term) Err() error {
	why := context.Cause(t.ctx)
	if why == nil || errors.Is(why, registry.ErrTermEnded) {
		return why
	}
	return fmt.Errorf("%w: %w", registry.ErrTermEnded, why)
}

// giveBack gives the session back as soon as the term has ended for whatever reason.
func (t *term) giveBack() {
	<-t.ctx.Done()
	t.client.End()
	t.place.Logger.Info("term ended", "term", t.Number(), "why", t.Err())
}

// keepEvery is how often the nodes that the term stands on are looked at.
const keepEvery = time.Second

// keep ends the term when its election node goes, or the fence that names it: followers would know no leader while no
// commit finds that out.
func (t *term) keep() {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		there, _, err := t.client.Exists(t.place.full(electionPath + "/" + t.own.name))
		if err == nil && !there {
			t.end(errors.New("the election node is gone: somebody else may lead"))
		}
		value, _, err := t.client.Get(t.place.full(fencePath))
		if now, bad := readFence(value); errors.Is(err, zk.ErrNoNode) ||
			err == nil && (bad != nil || now.candidate != t.own.name) {
			t.end(errors.New("the fence is gone, or another's: somebody else may lead"))
		}
	}
}

// Finish ends the term, lets a commit under way come to its end, gives the session back
// and waits for all that the term started.
func (t *term) Finish(why error) {
	t.end(why)
	t.owned.Wait()
	t.client.Close()
}

// Resign gives the session back, with which the election node goes at once. A
// commit under way fails. When no server can be reached, which takes up to 3 s to find out, the
// next leader has to wait until the session expires.
func (t *term) Resign(context.Context) error {
	t.Finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.Number()))
	return nil
}

// Standby reports whether another candidate waits for the end of this term. It is false when that
// can't be found out.
func (t *term) Standby(ctx context.Context) bool {
	var standing []candidate
	err := t.reading(ctx, func() (err error) {
		standing, err = t.client.standing()
		return err
	})
	return err == nil && len(standing) > 1
}

// reading runs what reads between two commits, beside the caller, who can leave earlier by ctx. What was read after
// the term's end is not returned: another term may have written since.
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

// permitted explains a refusal. It is of one node, so it is not registry.ErrUnusable.
func (t *term) permitted(doing, node string, err error) error {
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return t.place.refused(doing, t.place.full(node), err)
}

// pause is between tries of a request that got no answer; an error says that another one is useless.
func (t *term) pause() error {
	err := t.client.Pause(t.ctx)
	if ended := t.Err(); ended != nil {
		return ended
	}
	return err
}

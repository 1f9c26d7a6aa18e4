package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// term is one leader's time. It has one session from its candidacy to its end.
type term struct {
	registry  *Registry
	place     *place
	client    *client
	own       candidate
	leader    registry.Leader
	record    termRecord
	known     *known
	documents *documents

	// writing is held by a commit, and shared by reads: a commit of several requests is seen as a whole.
	writing sync.RWMutex
	// With writing held: how many requests have committed something, and the version of the fence that the next one needs.
	commits      int64
	fenceVersion int32

	lasts   context.Context // ends with the term
	stopped context.CancelFunc

	mu    sync.Mutex
	err   error
	done  chan struct{}
	owned sync.WaitGroup
	given sync.Once
}

func newTerm(r *Registry, c *client, own candidate, record termRecord, version int32) *term {
	t := &term{
		registry: r, place: r.place, client: c, own: own,
		leader: record.leader(), record: record, known: newKnown(), fenceVersion: version, done: make(chan struct{}),
	}
	t.lasts, t.stopped = context.WithCancel(context.Background())
	t.documents = newDocuments(t)
	t.owned.Go(t.guard)
	t.owned.Go(t.keep)
	t.owned.Go(t.documents.run)
	t.owned.Go(t.documents.watch)
	return t
}

func (t *term) Number() int64         { return t.leader.Term }
func (t *term) Done() <-chan struct{} { return t.done }

// Changed is not closed when the term ends.
func (t *term) Changed() <-chan string { return t.documents.out }

func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// end ends the term; the first reason stays.
func (t *term) end(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	if !errors.Is(why, registry.ErrTermEnded) {
		why = fmt.Errorf("%w: %w", registry.ErrTermEnded, why)
	}
	t.err = why
	close(t.done)
	t.stopped()
	t.registry.ended(t)
	t.place.Logger.Info("term ended", "term", t.leader.Term, "why", why)
}

// guard ends the term with its session, and gives the session back as soon as the
// term has ended for whatever reason.
func (t *term) guard() {
	select {
	case <-t.client.lost:
		t.end(t.client.whyLost())
	case <-t.done:
	}
	t.client.abandon()
}

// keepEvery is how often the nodes that the term stands on are looked at.
const keepEvery = time.Second

// keep ends the term when its election node goes, and writes /registry/term again when somebody has deleted or
// changed it: followers would know no leader to the term's end.
func (t *term) keep() {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	var complained time.Time
	for {
		select {
		case <-tick.C:
		case <-t.done:
			return
		}
		there, _, err := t.client.Exists(t.place.full(electionPath + "/" + t.own.name))
		if err == nil && !there {
			t.end(errors.New("the election node is gone: somebody else may lead"))
			return
		}
		node := t.place.full(recordPath)
		value, stat, err := t.client.Get(node)
		missing := errors.Is(err, zk.ErrNoNode)
		if missing || err == nil && !t.record.is(value) {
			if err = t.writeRecord(missing, stat); err == nil {
				t.place.Logger.Warn("somebody has changed the node that says who leads: it was written again", "node", node)
			}
		}
		if err != nil && answered(err) && !replannable(err) && time.Since(complained) > complain {
			complained = time.Now()
			t.place.Logger.Warn("the node that says who leads can't be kept: followers may know no leader", "error", t.permitted("keep", recordPath, err))
		}
	}
}

// writeRecord is a commit of the record alone.
func (t *term) writeRecord(missing bool, stat *zk.Stat) error {
	value, err := json.Marshal(t.record)
	if err != nil {
		return err
	}
	o := op{Kind: opCreate, Node: recordPath, Value: value}
	if !missing {
		o.Kind, o.Version = opSet, stat.Version
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	_, _, err = t.send([]op{o})
	return err
}

// finish ends the term, lets a commit under way come to its end, gives the session back
// and waits for all that the term started.
func (t *term) finish(why error) {
	t.end(why)
	t.client.abandon()
	t.given.Do(func() {
		t.owned.Wait()
		t.client.close()
	})
}

// Resign gives the session back, with which the election node goes at once. A
// commit under way fails. When no server can be reached, which takes up to 3 s to find out, the
// next leader has to wait until the session expires.
func (t *term) Resign(context.Context) error {
	t.finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.leader.Term))
	return nil
}

// Standby reports whether another candidate waits for the end of this term. It is false when that
// can't be found out.
func (t *term) Standby(ctx context.Context) bool {
	var standing []candidate
	err := t.reading(ctx, func(context.Context) (err error) {
		standing, err = t.client.standing()
		return err
	})
	return err == nil && len(standing) > 1
}

// start runs a piece of work that the term's end waits for, unless the term has ended.
func (t *term) start(work func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.owned.Go(work)
	}
	return t.err
}

// reading runs what reads beside the caller, who can leave earlier by ctx: a
// request that waits for a connection can't be called back.
func (t *term) reading(ctx context.Context, read func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	if err := t.start(func() { result <- read(ctx) }); err != nil {
		return err
	}
	select {
	case err := <-result:
		// The library may have read on a new session, from a server that lags.
		if t.client.isLost() {
			t.end(t.client.whyLost())
		}
		if ended := t.Err(); ended != nil {
			return ended
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// permitted explains a refusal. It is of one node, so it is not registry.ErrUnusable.
func (t *term) permitted(doing, node string, err error) error {
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return t.place.refused(doing, t.place.full(node), err)
}

// ask sends a request that only reads until it has an answer, however often the connection breaks while the session lives.
func (t *term) ask(ctx context.Context, request func() error) error {
	for {
		err := request()
		if err == nil || answered(err) {
			return err
		}
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
}

// wait is between tries of a request that got no answer; an error says that it is useless.
func (t *term) wait(ctx context.Context) error {
	err := t.client.wait(ctx)
	if err != nil && t.client.isLost() {
		t.end(err)
	}
	if ended := t.Err(); ended != nil {
		return ended
	}
	return err
}

package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// term is one reign. It has one session from its candidacy to its end.
type term struct {
	registry *Registry
	place    *place
	client   *client
	own      candidate
	leader   registry.Leader
	record   termRecord
	known    *known
	changes  *changes

	// writing is held by a commit, and shared by lists: since only the leader writes
	// what is its own, a list is of one moment.
	writing sync.RWMutex
	// With writing held: the commits so far, the version of the fence that the
	// next one needs, parents that were seen without children, and folders in which those stay.
	commits      int64
	fenceVersion int32
	litter       map[string]bool
	spared       map[string]bool

	lasts   context.Context // over with the term
	nearby  *reader         // on the term's own session
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
		leader: record.leader(), record: record,
		known: newKnown(), fenceVersion: version, litter: map[string]bool{}, spared: map[string]bool{}, done: make(chan struct{}),
	}
	t.lasts, t.stopped = context.WithCancel(context.Background())
	t.nearby = newReader(t, c)
	t.changes = newChanges(t)
	c.onNode(t.changes.event)
	for _, folder := range edited {
		c.wires.always(opAddWatch, recursiveWatch(r.place.full(folder)))
	}
	t.owned.Go(t.guard)
	t.owned.Go(t.watch)
	t.owned.Go(t.keepRecord)
	t.owned.Go(t.changes.run)
	return t
}

func (t *term) Number() int64         { return t.leader.Term }
func (t *term) Done() <-chan struct{} { return t.done }

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
	t.registry.over(t)
	t.place.Logger.Info("term over", "term", t.leader.Term, "why", why)
}

// guard ends the term with its session, and gives the session back as soon as the
// term is over for whatever reason.
func (t *term) guard() {
	select {
	case <-t.client.lost:
		t.end(t.client.whyLost())
	case <-t.done:
	}
	t.client.abandon()
}

// watch ends the term when its election node goes.
func (t *term) watch() {
	node := t.place.full(join(electionPath, t.own.name))
	for t.Err() == nil {
		there, _, changed, err := t.client.ExistsW(node)
		if err == nil && !there {
			t.end(errors.New("the election node is gone: somebody else may lead"))
			return
		}
		var again <-chan time.Time
		if err != nil { // no connection: a session that lives gets another
			changed, again = nil, time.After(pause)
		}
		select {
		case <-changed:
		case <-again:
		case <-t.done:
		}
	}
}

// keepRecord writes /brain/term again when somebody has deleted or changed it: followers
// would know no leader to the term's end.
func (t *term) keepRecord() {
	node := t.place.full(termPath)
	for t.Err() == nil {
		value, stat, changed, err := t.client.GetW(node)
		missing := errors.Is(err, zk.ErrNoNode)
		if missing || err == nil && !t.record.is(value) {
			if err = t.writeRecord(missing, stat); err == nil {
				t.place.Logger.Warn("somebody has changed the node that tells who leads: it was written again", "node", node)
				continue
			}
		}
		var again <-chan time.Time
		switch {
		case err == nil:
		case answered(err) && !replannable(err):
			t.place.Logger.Warn("the node that tells who leads can't be kept: followers may know no leader", "error", t.permitted("keep", termPath, err))
			changed, again = nil, time.After(complain)
		default: // no connection, or another's edit
			changed, again = nil, time.After(10*pause)
		}
		select {
		case <-changed:
		case <-again:
		case <-t.done:
		}
	}
}

// writeRecord is a commit of the record alone.
func (t *term) writeRecord(missing bool, stat *zk.Stat) error {
	value, err := json.Marshal(t.record)
	if err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	p := t.plan(nil, nil, false)
	if missing {
		p.create(termPath, value)
	} else {
		p.put(termPath, value, stat.Version)
	}
	p.after = map[string]node{} // what terms write of themselves is not kept among what is known
	_, err = t.send(p)
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
// commit under way fails. When no server can be told, which takes up to 3 s to find out, the
// next leader has to wait until the session expires.
func (t *term) Resign(context.Context) error {
	t.finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermEnded, t.leader.Term))
	return nil
}

// Get reads on the term's session, so it sees all commits of the term.
func (t *term) Get(ctx context.Context, path string) (registry.Entry, error) {
	if err := checkPath(path); err != nil {
		return t.misnamed(ctx, path, err)
	}
	var found registry.Entry
	err := t.reading(ctx, func(ctx context.Context) error {
		value, stat, err := t.read(ctx, path)
		if errors.Is(err, zk.ErrNoAuth) && !isFolder(path) && !hidden(path) {
			stat, err := t.stat(ctx, path)
			if err == nil {
				t.changes.probe(path)
				found = t.unreadable(path, stat.Version)
			}
			return err
		}
		if isEdited(path) && errors.Is(err, zk.ErrNoNode) {
			t.known.set(path, node{kind: absent})
		}
		if err != nil {
			return err
		}
		if isEdited(path) { // so that the next look does not tell it again
			t.known.set(path, nodeOf(path, value, stat))
		}
		if kindOf(path, value) != entry {
			return registry.ErrNotFound
		}
		found = registry.Entry{Path: path, Value: value, Version: int64(stat.Version)}
		return nil
	})
	if errors.Is(err, zk.ErrNoNode) {
		err = registry.ErrNotFound
	}
	if err != nil {
		return registry.Entry{}, fmt.Errorf("get %s: %w", path, err)
	}
	return found, nil
}

// misnamed is the entry of a node that somebody has made at a path that is none, if it is there.
func (t *term) misnamed(ctx context.Context, path string, why error) (found registry.Entry, err error) {
	if !strings.HasPrefix(path, "/") || !isEdited(path) {
		return found, why
	}
	var stat zk.Stat
	err = t.reading(ctx, func(ctx context.Context) (err error) {
		stat, err = t.stat(ctx, path)
		return err
	})
	switch {
	case err == nil:
		return misnamed(path, stat.Version, why), nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrInvalidPath):
		return found, why
	}
	return found, fmt.Errorf("get %s: %w", path, err)
}

func misnamed(path string, version int32, why error) registry.Entry {
	return registry.Entry{Path: path, Version: int64(version), Unreadable: why.Error() + ": delete the node with zkCli.sh, and make it anew with a name that fits"}
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

// start runs a piece of work that the term's end waits for, unless the term is over.
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
		select {
		case <-t.client.lost:
			t.end(t.client.whyLost())
		default:
		}
		if over := t.Err(); over != nil {
			return over
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read gets one node, however often the connection breaks while the session lives.
func (t *term) read(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	for {
		value, stat, err := t.client.Get(t.place.full(path))
		if err == nil || answered(err) {
			return value, stat, t.permitted("read", path, err)
		}
		if err := t.wait(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// permitted explains a refusal. It is of one node, so it is not registry.ErrUnusable.
func (t *term) permitted(doing, path string, err error) error {
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return err
	}
	return t.place.refused(doing, t.place.full(path), err)
}

// wait is between tries of a request that got no answer; an error says that it is useless.
func (t *term) wait(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-t.done:
		return t.Err()
	case <-t.client.lost:
		t.end(t.client.whyLost())
		return t.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

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

// term is one reign. It has one session from its candidacy to its end.
type term struct {
	registry *Registry
	place    *place
	client   *client
	own      candidate
	leader   registry.Leader
	known    *known
	changes  *changes

	// writing is held by a commit, and shared by lists: since only the leader writes
	// what is its own, a list is of one moment.
	writing sync.RWMutex
	// With writing held: the commits so far, the version of the fence that the
	// next one needs, and parents that were seen without children.
	commits      int64
	fenceVersion int32
	litter       map[string]bool

	mu    sync.Mutex
	err   error
	done  chan struct{}
	owned sync.WaitGroup
	given sync.Once
}

func newTerm(r *Registry, c *client, own candidate, record termRecord, version int32) *term {
	t := &term{
		registry: r, place: r.place, client: c, own: own,
		leader: registry.Leader{Term: record.Term, Address: record.Address, Since: record.Since},
		known:  newKnown(), fenceVersion: version, litter: map[string]bool{}, done: make(chan struct{}),
	}
	t.changes = newChanges(t)
	c.onNode(t.changes.event)
	for _, folder := range edited {
		c.wires.always(opAddWatch, recursiveWatch(r.place.full(folder)))
	}
	t.owned.Go(t.guard)
	t.owned.Go(t.watch)
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
	if !errors.Is(why, registry.ErrTermOver) {
		why = fmt.Errorf("%w: %w", registry.ErrTermOver, why)
	}
	t.err = why
	close(t.done)
	// Followers may still show this term; it is not to be told by ourselves.
	t.registry.mu.Lock()
	defer t.registry.mu.Unlock()
	t.registry.ended = max(t.registry.ended, t.leader.Term)
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
	t.finish(fmt.Errorf("%w: term %d resigned", registry.ErrTermOver, t.leader.Term))
	return nil
}

// Get reads on the term's session, so it sees all commits of the term.
func (t *term) Get(ctx context.Context, path string) (registry.Entry, error) {
	if err := checkPath(path); err != nil {
		return registry.Entry{}, err
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

// permitted explains a refusal by permission. It is of one node, so it is not
// registry.ErrUnusable.
func (t *term) permitted(doing, path string, err error) error {
	if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrInvalidACL) {
		return fmt.Errorf("%s %s: %s: %w", doing, path, t.refusal(path), err)
	}
	return err
}

// refusal says who has no permission, and where to look.
func (t *term) refusal(path string) string {
	return fmt.Sprintf("ZooKeeper gives no permission to %s: see zkCli.sh getAcl %s, and change it with setAcl", t.place.user(), t.place.full(path))
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

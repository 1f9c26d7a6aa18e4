package zookeeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// follower knows who leads, from watches on the election and on /registry/term.
// It has sessions of its own for as long as the registry is open; each ends with its connection.
type follower struct {
	saw func(registry.Leader)

	mu     sync.Mutex
	client *client
	heard  time.Time // when the latest request left that was answered

	known     registry.Leader
	candidate string // the election node that it stands on
	refusal   error  // why the last look was refused
	silence   error  // why the last session was lost, until another is of use
}

// leader is the latest that was seen, unless nothing was heard for too long.
func (f *follower) leader(lasts time.Duration) (l registry.Leader, candidate string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known, f.candidate, f.candidate != "" && (f.client.left() > 0 || time.Since(f.heard) < lasts)
}

// trouble is why the last look was refused, and why the last try to reach a server failed, nil while one is reached.
func (f *follower) trouble() (refusal, silence error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client != nil {
		silence = f.client.whyTroubled()
	}
	return f.refusal, cmp.Or(silence, f.silence)
}

// refused keeps why a look was, nil when it was not, and reports whether that is news.
func (f *follower) refused(why error) (news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news = fmt.Sprint(why) != fmt.Sprint(f.refusal)
	f.refusal = why
	return news
}

func (f *follower) set(l registry.Leader, candidate string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.candidate = l, candidate
}

// run follows until ctx ends, with a new client whenever the session is lost.
func (f *follower) run(ctx context.Context, p *place) {
	failures := backoff{first: 10 * pause, most: longestPause}
	for ctx.Err() == nil {
		err := f.session(ctx, p, failures.reset)
		switch {
		case ctx.Err() != nil:
		case answered(err):
			f.set(registry.Leader{}, "")
			if f.refused(err) {
				p.Logger.Warn("ZooKeeper refuses to show who leads: trying on", "servers", p.servers, "error", err)
			}
		default:
			f.mu.Lock()
			f.refusal = nil // nobody has answered: that is another trouble
			f.mu.Unlock()
			p.Logger.Debug("looking again who leads", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(failures.next(rand.Float64())):
		}
	}
}

// session follows on a session of its own until that fails or ctx ends, and reports each look that succeeded.
func (f *follower) session(ctx context.Context, p *place, succeeded func()) error {
	c, err := dial(p, true, nil)
	if err != nil {
		return err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.abandon)()
	f.mu.Lock()
	f.client = c
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if why := c.whyTroubled(); why != nil {
			f.silence = why
		}
		if heard := time.Now().Add(c.left() - p.SessionTimeout); heard.After(f.heard) {
			f.heard = heard
		}
	}()
	if err := c.join(ctx); err != nil {
		return err
	}
	v := view{follower: f, client: c}
	for {
		if err := v.look(); err != nil {
			return err
		}
		succeeded()
		f.mu.Lock()
		f.silence = nil
		f.mu.Unlock()
		if f.refused(nil) {
			p.Logger.Info("ZooKeeper shows again who leads")
		}
		select {
		case <-v.election:
			v.election = nil
		case <-v.record:
			v.record = nil
		case <-c.lost:
			return c.whyLost()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// view is what one session of a follower sees. Each watch tells one change; only
// one that did is nil, and set again.
type view struct {
	*follower
	client           *client
	election, record <-chan zk.Event
	candidates       []candidate
	latest           termRecord
}

func (v *view) look() error {
	c := v.client
	if v.election == nil {
		path := c.place.full(electionPath)
		children, _, changed, err := c.ChildrenW(path)
		if changed, err = c.orMade(path, changed, err); err != nil {
			return c.lookRefused(path, err)
		}
		v.candidates, v.election = candidates(children), changed
	}
	if v.record == nil {
		path := c.place.full(recordPath)
		value, _, changed, err := c.GetW(path)
		if changed, err = c.orMade(path, changed, err); err != nil {
			return c.lookRefused(path, err)
		}
		v.latest, v.record = termRecord{}, changed
		_ = json.Unmarshal(value, &v.latest)
	}
	return v.judge(c, v.candidates, v.latest)
}

// lookRefused explains a refusal; silence stays what it is.
func (c *client) lookRefused(path string, err error) error {
	if !answered(err) {
		return err
	}
	return c.place.explain("look who leads at", path, err)
}

// orMade watches for a node's making if it was not there. One that was made just
// now is a change at once: the watch would not tell of it.
func (c *client) orMade(path string, changed <-chan zk.Event, err error) (<-chan zk.Event, error) {
	if !errors.Is(err, zk.ErrNoNode) {
		return changed, err
	}
	there, _, changed, err := c.ExistsW(path)
	if err != nil || !there {
		return changed, err
	}
	now := make(chan zk.Event, 1)
	now <- zk.Event{Type: zk.EventNodeCreated, Path: path}
	return now, nil
}

// judge says who leads: the first candidate, once it has begun a term. An original begins none.
func (f *follower) judge(c *client, all []candidate, now termRecord) error {
	switch {
	case len(all) == 0:
		f.set(registry.Leader{}, "")
	case now.Candidate == all[0].name:
		f.saw(now.leader())
		f.set(now.leader(), now.Candidate)
	case isOurs(all[0].guid):
		f.set(registry.Leader{}, "") // it is about to
	default:
		path := c.place.full(electionPath + "/" + all[0].name)
		address, stat, err := c.Get(path)
		if errors.Is(err, zk.ErrNoNode) {
			f.set(registry.Leader{}, "") // the watch tells the next
			return nil
		}
		if err != nil {
			return c.lookRefused(path, err)
		}
		f.set(registry.Leader{Address: string(address), Since: time.UnixMilli(stat.Ctime).UTC()}, all[0].name)
	}
	return nil
}

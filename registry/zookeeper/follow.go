package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// follower knows who leads, from watches on the election and on /brain/term.
// It has a session of its own for as long as the registry is open.
type follower struct {
	mu    sync.Mutex
	wires *wires
	known registry.Leader
	some  bool
}

// leader is the latest that was seen, unless nothing was heard for too long.
func (f *follower) leader() (registry.Leader, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known, f.some && f.wires.left() > 0
}

func (f *follower) set(l registry.Leader, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.some = l, some
}

// run follows until ctx ends, with a new client whenever the session is lost.
func (f *follower) run(ctx context.Context, p *place) {
	for ctx.Err() == nil {
		c, err := dial(p)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.wires = c.wires
		f.mu.Unlock()
		stop := context.AfterFunc(ctx, c.abandon)
		if err := f.follow(ctx, c); err != nil && ctx.Err() == nil {
			p.Logger.Debug("looking again who leads", "error", err)
		}
		stop()
		c.close()
		f.set(registry.Leader{}, false)
		select {
		case <-ctx.Done():
		case <-time.After(10 * pause):
		}
	}
}

// follow looks at every change, until an error.
func (f *follower) follow(ctx context.Context, c *client) error {
	select {
	case <-c.joined:
	case <-ctx.Done():
		return ctx.Err()
	}
	// Each watch tells one change; only one that did is set again.
	var election, record <-chan zk.Event
	var all []candidate
	var now termRecord
	for {
		if election == nil {
			children, _, changed, err := c.ChildrenW(c.place.full(electionPath))
			if errors.Is(err, zk.ErrNoNode) {
				_, _, changed, err = c.ExistsW(c.place.full(electionPath))
			}
			if err != nil {
				return err
			}
			all, election = candidates(children), changed
		}
		if record == nil {
			value, _, changed, err := c.GetW(c.place.full(termPath))
			if errors.Is(err, zk.ErrNoNode) {
				_, _, changed, err = c.ExistsW(c.place.full(termPath))
			}
			if err != nil {
				return err
			}
			now, record = termRecord{}, changed
			_ = json.Unmarshal(value, &now)
		}
		if err := f.judge(c, all, now); err != nil {
			return err
		}
		select {
		case <-election:
			election = nil
		case <-record:
			record = nil
		case <-c.lost:
			return c.whyLost()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judge says who leads: the first candidate, once it has begun a term. An original begins none.
func (f *follower) judge(c *client, all []candidate, now termRecord) error {
	switch {
	case len(all) == 0:
		f.set(registry.Leader{}, false)
	case now.Candidate == all[0].name:
		f.set(registry.Leader{Term: now.Term, Address: now.Address, Since: now.Since}, true)
	case isOurs(all[0].guid):
		f.set(registry.Leader{}, false) // it is about to
	default:
		address, stat, err := c.Get(c.place.full(join(electionPath, all[0].name)))
		if errors.Is(err, zk.ErrNoNode) {
			f.set(registry.Leader{}, false) // the watch tells the next
			return nil
		}
		if err != nil {
			return err
		}
		f.set(registry.Leader{Address: string(address), Since: time.UnixMilli(stat.Ctime).UTC()}, true)
	}
	return nil
}

package zookeeper

import (
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

// lookLeader is how often a follower looks who leads.
const lookLeader = 250 * time.Millisecond

// follower knows who leads, from looks at the election and at /registry/term.
// It has a session of its own for as long as the registry is open.
type follower struct {
	saw func(registry.Leader)

	mu     sync.Mutex
	client *client

	known     registry.Leader
	candidate string // the election node that it stands on; empty: nobody leads
	refusal   error  // why the last look was refused
}

// leader is the latest that was seen, unless no server has answered for too long.
func (f *follower) leader() (l registry.Leader, candidate string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known, f.candidate, f.candidate != "" && time.Now().Before(f.client.livesUntil())
}

// trouble is why the last look was refused, and why the last try to reach a server failed, nil while one is reached.
func (f *follower) trouble() (refusal, silence error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client != nil {
		silence = f.client.whyTroubled()
	}
	return f.refusal, silence
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
		case answered(err) && f.refused(err):
			p.Logger.Warn("ZooKeeper refuses to show who leads: trying on", "servers", p.servers, "error", err)
		default:
			p.Logger.Debug("looking again who leads", "error", err)
		}
		f.set(registry.Leader{}, "")
		select {
		case <-ctx.Done():
		case <-time.After(failures.next(rand.Float64())):
		}
	}
}

// session follows on a session of its own until that is lost or refused, or ctx ends, and reports each look that succeeded.
func (f *follower) session(ctx context.Context, p *place, succeeded func()) error {
	c, err := dial(p, false, nil)
	if err != nil {
		return err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.abandon)()
	f.mu.Lock()
	f.client = c
	f.mu.Unlock()
	if err := c.join(ctx); err != nil {
		return err
	}
	for {
		switch err := f.look(c); {
		case err == nil:
			succeeded()
			if f.refused(nil) {
				p.Logger.Info("ZooKeeper shows again who leads")
			}
		case answered(err):
			return err
		}
		select {
		case <-time.After(lookLeader):
		case <-c.lost:
			return c.whyLost()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look looks who stands for election, and who has begun a term.
func (f *follower) look(c *client) error {
	path := c.place.full(electionPath)
	standing, _, err := c.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return c.lookRefused(path, err)
	}
	var latest termRecord
	path = c.place.full(recordPath)
	value, _, err := c.Get(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return c.lookRefused(path, err)
	}
	_ = json.Unmarshal(value, &latest)
	return f.judge(c, candidates(standing), latest)
}

// lookRefused explains a refusal; silence stays what it is.
func (c *client) lookRefused(path string, err error) error {
	if !answered(err) {
		return err
	}
	return c.place.explain("look who leads at", path, err)
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
			f.set(registry.Leader{}, "") // the next look shows who does
			return nil
		}
		if err != nil {
			return c.lookRefused(path, err)
		}
		f.set(registry.Leader{Address: string(address), Since: time.UnixMilli(stat.Ctime).UTC()}, all[0].name)
	}
	return nil
}

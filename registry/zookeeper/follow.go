package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
	"github.com/elasticjob-go/elasticjob/registry"
)

// leaderInterval is the interval at which a follower reads who leads.
const leaderInterval = 250 * time.Millisecond

// follower observes who leads: it reads the election and the fence on its own session, while the registry is open.
type follower struct {
	namespace *namespace
	onLeader  func(registry.Leader)

	mu     sync.Mutex
	client *client

	observed  registry.Leader
	candidate string // the leader's election node; empty if there is no leader
	refusal   error  // why the last read was refused; nil if it was not
}

// leader returns the last observed leader. It returns false if there was none, or if the observation is so old that
// another server may lead.
func (f *follower) leader() (l registry.Leader, candidate string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.observed, f.candidate, f.candidate != "" && time.Now().Before(f.client.LivesUntil())
}

// trouble returns why the last read was refused, or why ZooKeeper could not be reached. It returns nil if there was no
// such problem.
func (f *follower) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refusal != nil {
		return fmt.Errorf("can't read who leads from ZooKeeper at %s: %w", f.namespace.Servers, f.refusal)
	}
	if f.client == nil {
		return nil
	}
	if silence := f.client.Trouble(); silence != nil {
		return fmt.Errorf("can't reach ZooKeeper at %s: %w", f.namespace.Servers, silence)
	}
	return nil
}

// session returns the current session, which may have ended. It returns nil before the first session.
func (f *follower) session() *client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.client
}

// setRefusal records why a read was refused, or nil for a read that succeeded. It reports whether that differs from
// the last read.
func (f *follower) setRefusal(refusal error) (differs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	differs = fmt.Sprint(refusal) != fmt.Sprint(f.refusal)
	f.refusal = refusal
	return differs
}

func (f *follower) set(l registry.Leader, candidate string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observed, f.candidate = l, candidate
}

// run observes who leads until ctx ends, on one session after the other.
func (f *follower) run(ctx context.Context) {
	log := f.namespace.Logger
	f.namespace.keepSession(ctx, nil, f.follow, func(err error) {
		if zookeeper.Answered(err) && f.setRefusal(err) {
			log.Warn("leader not readable in ZooKeeper, retrying", "servers", f.namespace.servers, "error", err)
		} else {
			log.Debug("reading the leader again", "error", err)
		}
		f.set(registry.Leader{}, "")
	})
}

// follow reads who leads until the session ends or a read is refused.
func (f *follower) follow(ctx context.Context, c *client, succeeded func()) error {
	f.mu.Lock()
	f.client = c
	f.mu.Unlock()
	if err := f.join(ctx, c); err != nil {
		return err
	}
	tick := time.NewTicker(leaderInterval)
	defer tick.Stop()
	for {
		leader, candidate, err := f.readLeader(c)
		if zookeeper.Answered(err) {
			return err
		}
		if err == nil {
			f.set(leader, candidate)
			succeeded()
			if f.setRefusal(nil) {
				f.namespace.Logger.Info("leader readable in ZooKeeper again")
			}
		}
		select {
		case <-tick.C:
		case <-c.Context().Done():
			return context.Cause(c.Context())
		}
	}
}

// join waits until the session is open, and periodically logs why it is not. The sessions of candidates and watchers,
// which have the same problems, log nothing.
func (f *follower) join(ctx context.Context, c *client) error {
	for wait := min(warnInterval, f.namespace.SessionTimeout) / 2; ; wait = warnInterval {
		waitCtx, cancel := context.WithTimeout(ctx, wait)
		err := c.join(waitCtx)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		f.namespace.Logger.Warn("ZooKeeper unreachable, retrying", "servers", f.namespace.servers,
			"error", c.Trouble())
	}
}

// readLeader reads who leads: the first candidate, as soon as it has begun a term. If the first candidate is of the
// original, it leads at once, because the original has no terms. candidate is empty if there is no leader.
func (f *follower) readLeader(c *client) (leader registry.Leader, candidate string, err error) {
	refused := func(path string, err error) error { return f.namespace.explain("read who leads at", path, err) }
	all, err := c.readCandidates()
	if errors.Is(err, zk.ErrNoNode) || err == nil && len(all) == 0 {
		return leader, "", nil
	}
	if err != nil {
		return leader, "", err
	}
	path := f.namespace.full(fencePath)
	value, _, err := c.Get(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return leader, "", refused(path, err)
	}
	now, _ := readFence(value) // an invalid value names no candidate
	begun := now.candidate == all[0].name
	if !begun && all[0].isOurs() {
		return leader, "", nil // the candidate is about to begin its term
	}
	path = f.namespace.full(electionPath + "/" + all[0].name)
	address, stat, err := c.Get(path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return leader, "", nil // the next read shows the new leader
	case err != nil:
		return leader, "", refused(path, err)
	case !begun:
		now.term = 0
	}
	leader = leaderOf(now, string(address), stat)
	if begun {
		f.onLeader(leader)
	}
	return leader, all[0].name, nil
}

// Package instantcluster is a cluster in memory, for measurements of its users: its agents run nothing, and every
// task ends as soon as it is launched.
package instantcluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Cluster is a cluster whose agents have 8 CPUs each.
type Cluster struct {
	Agents int
	// Launched, if not nil, is called with the number of launched tasks, before their updates are sent. It may be
	// called concurrently.
	Launched func(tasks int)

	mu     sync.Mutex
	offers int
}

// Subscribe implements cluster.Driver. It offers all agents at once.
func (c *Cluster) Subscribe(_ context.Context, f cluster.Framework) (cluster.Session, error) {
	s := &session{c: c, events: make(chan cluster.Event, 1<<20)}
	s.emit(cluster.Subscribed{FrameworkID: f.ID, MasterID: "instant"})
	s.offerAll()
	return s, nil
}

func (c *Cluster) offer(agent string, executors ...string) cluster.Offer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offers++
	return cluster.Offer{ID: fmt.Sprintf("O%d", c.offers), AgentID: agent, Hostname: agent,
		AgentURL:    "http://127.0.0.1:1",
		ExecutorIDs: executors, Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_000_000}}
}

// session accepts every call, and answers launches and requests for offers.
type session struct {
	c      *Cluster
	events chan cluster.Event // large enough for all events before a reader starts

	mu    sync.Mutex
	ended bool
}

func (s *session) emit(e cluster.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.events <- e
	}
}

func (s *session) offerAll() {
	var all cluster.Offers
	for i := range s.c.Agents {
		all.Offers = append(all.Offers, s.c.offer(fmt.Sprintf("agent-%05d", i)))
	}
	s.emit(all)
}

func (s *session) Launch(_ context.Context, a cluster.Launch) error {
	if s.c.Launched != nil {
		s.c.Launched(len(a.Tasks))
	}
	var executors []string
	for _, state := range []cluster.State{cluster.Running, cluster.Finished} {
		for _, t := range a.Tasks {
			executors = append(executors, t.Executor.ID)
			s.emit(cluster.Update{TaskID: t.TaskID, AgentID: a.AgentID, ExecutorID: t.Executor.ID, State: state,
				Source: cluster.FromExecutor,
				UUID:   []byte(t.TaskID + string(state)), Timestamp: time.Now()})
		}
	}
	s.emit(cluster.Offers{Offers: []cluster.Offer{s.c.offer(a.AgentID, slices.Compact(executors)...)}})
	return nil
}

func (s *session) RequestOffers(context.Context) error {
	s.offerAll()
	return nil
}

func (s *session) Events() <-chan cluster.Event { return s.events }

func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.events)
	}
	return nil
}

func (*session) Err() error                                             { return nil }
func (*session) Decline(context.Context, []string, time.Duration) error { return nil }
func (*session) Kill(context.Context, cluster.Kill) error               { return nil }
func (*session) EndExecutor(context.Context, string, string) error      { return nil }
func (*session) Reconcile(context.Context, []cluster.TaskRef) error     { return nil }
func (*session) Acknowledge(context.Context, cluster.Ack) error         { return nil }
func (*session) StopOffers(context.Context) error                       { return nil }

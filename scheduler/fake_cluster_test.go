package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/resources"
)

// fakeCluster is a driver whose one agent runs every task at once.
type fakeCluster struct {
	mu       sync.Mutex
	sessions []*fakeSession
	// refuse makes the next SUBSCRIBEs fail.
	refuse []error
	// lose makes the next ACCEPT's outcome unknown: it is never answered.
	lose bool
	// onAccept sees each ACCEPT.
	onAccept func(cluster.Accept)
	// onCall, if set, sees each call that leaves and each session's end, by name; it may wait.
	onCall func(ctx context.Context, name string)
	// onSubscribe, if set, sees each SUBSCRIBE that leaves.
	onSubscribe func(ctx context.Context, name string)
	// hold keeps tasks running.
	hold     bool
	launched []cluster.TaskLaunch
	acked    int
}

func (c *fakeCluster) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	if c.onSubscribe != nil {
		c.onSubscribe(ctx, "subscribe")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.ID == "" {
		return nil, errors.New("subscribed without a framework id")
	}
	if len(c.refuse) > 0 {
		err := c.refuse[0]
		c.refuse = c.refuse[1:]
		return nil, err
	}
	s := &fakeSession{c: c, events: make(chan cluster.Event, 10_000)}
	c.sessions = append(c.sessions, s)
	s.events <- cluster.Subscribed{FrameworkID: f.ID, MasterID: "m"}
	s.offer()
	return s, nil
}

type fakeSession struct {
	c      *fakeCluster
	events chan cluster.Event
	offers int
	mu     sync.Mutex
	closed bool
}

// offer puts the whole agent on offer; the caller holds the lock, or nobody else knows s.
func (s *fakeSession) offer() {
	s.offers++
	s.send(cluster.Offers{Offers: []cluster.Offer{{
		ID: fmt.Sprintf("O%d", s.offers), AgentID: "S1", Hostname: "h1", AgentURL: "http://h1:5051",
		Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_192_000},
	}}})
}

func (s *fakeSession) send(e cluster.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.events <- e
	}
}

func (s *fakeSession) Events() <-chan cluster.Event { return s.events }

func (s *fakeSession) Err() error { return errors.New("closed") }

func (s *fakeSession) call(ctx context.Context, name string) {
	if s.c.onCall != nil {
		s.c.onCall(ctx, name)
	}
}

func (s *fakeSession) Accept(ctx context.Context, a cluster.Accept) error {
	s.call(ctx, "accept")
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onAccept != nil {
		c.onAccept(a)
	}
	if c.lose {
		c.lose = false
		return errors.New("the connection broke")
	}
	c.launched = append(c.launched, a.Tasks...)
	for _, t := range a.Tasks {
		states := []cluster.State{cluster.Running, cluster.Finished}
		if c.hold {
			states = states[:1]
		}
		for _, state := range states {
			s.send(cluster.Update{TaskID: t.TaskID, AgentID: a.AgentID, ExecutorID: t.Executor.ID, State: state,
				Source: cluster.FromExecutor, UUID: []byte(string(state) + t.TaskID), Timestamp: time.Now()})
		}
	}
	s.offer()
	return nil
}

func (s *fakeSession) Acknowledge(ctx context.Context, _ cluster.Ack) error {
	s.call(ctx, "acknowledge")
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.acked++
	return nil
}

func (s *fakeSession) Revive(ctx context.Context) error {
	s.call(ctx, "revive")
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.offer()
	return nil
}

func (s *fakeSession) Reconcile(ctx context.Context, tasks []cluster.TaskRef) error {
	s.call(ctx, "reconcile")
	for _, t := range tasks {
		s.send(cluster.Update{TaskID: t.TaskID, AgentID: t.AgentID, State: cluster.Gone, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation})
	}
	return nil
}

func (s *fakeSession) Decline(context.Context, []string, time.Duration) error { return nil }

func (s *fakeSession) Kill(ctx context.Context, _ cluster.Kill) error {
	s.call(ctx, "kill")
	return nil
}

func (s *fakeSession) Shutdown(_ context.Context, executorID, agentID string) error {
	s.send(cluster.Failure{AgentID: agentID, ExecutorID: executorID})
	return nil
}

func (s *fakeSession) Suppress(context.Context) error { return nil }

func (s *fakeSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.call(context.Background(), "close")
		close(s.events)
	}
	return nil
}

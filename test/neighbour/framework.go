package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// neighbour is the other framework, which wants resources for one task at a time.
type neighbour struct {
	options
	session cluster.Session
	name    string
	tasks   int
	wanted  time.Time // when it began to want resources; zero while it does not
	ends    time.Time // when it wants resources again
	waits   []time.Duration
}

// beNeighbour subscribes, and repeatedly wants resources until ctx ends. It returns how long it waited each time. An
// unfulfilled last wait counts with its duration so far, if that is longer than all others.
func beNeighbour(ctx context.Context, o options) ([]time.Duration, error) {
	driver, err := mesos.New(mesos.Options{Masters: []string{o.master}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = driver.Close() }()
	name := fmt.Sprintf("neighbour-%08x", rand.Uint32())
	session, err := driver.Subscribe(ctx, cluster.Framework{ID: name, Name: "neighbour", User: "root"})
	if err != nil {
		return nil, fmt.Errorf("subscribe the neighbour: %w", err)
	}
	n := &neighbour{options: o, session: session, name: name, ends: time.Now().Add(time.Second)}
	err = n.live(ctx)
	_ = session.Close()
	if !n.wanted.IsZero() {
		n.waits = append(n.waits, time.Since(n.wanted))
	}
	return n.waits, err
}

func (n *neighbour) live(ctx context.Context) error {
	if err := n.session.StopOffers(ctx); err != nil {
		return err
	}
	for {
		var again <-chan time.Time
		if n.wanted.IsZero() {
			again = time.After(time.Until(n.ends))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			n.wanted = time.Now()
			if err := n.session.RequestOffers(ctx); err != nil {
				return n.unless(ctx, err)
			}
		case e, open := <-n.session.Events():
			if !open {
				return n.unless(ctx, n.session.Err())
			}
			if err := n.handle(ctx, e); err != nil {
				return n.unless(ctx, err)
			}
		}
	}
}

// unless returns nil if the measurement has ended, which interrupts calls.
func (n *neighbour) unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the neighbour: %w", err)
}

func (n *neighbour) handle(ctx context.Context, e cluster.Event) error {
	switch e := e.(type) {
	case cluster.Offers:
		for _, o := range e.Offers {
			if err := n.offered(ctx, o); err != nil {
				return err
			}
		}
	case cluster.Update:
		if len(e.UUID) > 0 {
			return n.session.Acknowledge(ctx, cluster.Ack{TaskID: e.TaskID, AgentID: e.AgentID, UUID: e.UUID})
		}
	}
	return nil
}

// executorCPUs is the share of the executor; the task gets the rest.
const executorCPUs = 10 // in thousandths

func (n *neighbour) offered(ctx context.Context, o cluster.Offer) error {
	want := int64(n.cpus*1000 + 0.5)
	if n.wanted.IsZero() || o.Resources.CPUMilli < want || o.Resources.MemMilli < 64_000 {
		return n.session.Decline(ctx, []string{o.ID}, time.Second)
	}
	n.waits = append(n.waits, time.Since(n.wanted))
	n.wanted = time.Time{}
	n.ends = time.Now().Add(n.takes + time.Duration(rand.Int64N(int64(2*n.pause)+1)))
	n.tasks++
	id := fmt.Sprintf("%s-%d", n.name, n.tasks)
	// An executor that never registers holds its task's resources until it ends.
	err := n.session.Launch(ctx, cluster.Launch{AgentID: o.AgentID, OfferIDs: []string{o.ID},
		Tasks: []cluster.TaskLaunch{{
			TaskID: id, Name: id, Resources: resources.Amount{CPUMilli: want - executorCPUs, MemMilli: 32_000},
			Executor: cluster.Executor{
				Version: 2, ID: id, Framework: n.name, Name: id, Resources: resources.Amount{CPUMilli: executorCPUs,
					MemMilli: 32_000},
				Command: []string{"./sleep", fmt.Sprint(n.takes.Seconds())}, BinaryURI: "file:///bin/sleep",
			},
		}}})
	if err != nil {
		return err
	}
	return n.session.StopOffers(ctx)
}

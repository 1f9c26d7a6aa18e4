package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// scriptedCluster is a cluster that records its calls, and does what a test says.
type scriptedCluster struct {
	diary *diary

	// onSubscribe and onCall, if set, are called first, the latter with the call's name. If they return an error, it
	// is the answer, and nothing is done. They may wait.
	onSubscribe func() error
	onCall      func(ctx context.Context, name string) error
	// agent offers all of agent S1 at each subscription, ACCEPT and REVIVE, and runs tasks: to their end or, with
	// holds, without end.
	agent, holds bool
	// fails, if not empty, is the prefix of the names of jobs whose tasks all fail.
	fails string

	mu       sync.Mutex
	session  *scriptedSession
	sessions int
	offers   int
	acked    int
	// ids are the ids of the launched tasks, by their names.
	ids map[string]string
	// lease is that of the task that was launched last; nil if it needs none.
	lease *lease.Grant
	// sent is the data of the last message to an executor.
	sent []byte
}

func newCluster(d *diary) *scriptedCluster {
	return &scriptedCluster{diary: d, ids: map[string]string{}}
}

func (c *scriptedCluster) Subscribe(_ context.Context, f cluster.Framework) (cluster.Session, error) {
	if f.ID == "" {
		return nil, errors.New("subscribed without a framework id")
	}
	if c.onSubscribe != nil {
		if err := c.onSubscribe(); err != nil {
			return nil, err
		}
	}
	c.diary.say("CALL SUBSCRIBE as %s", f.ID)
	s := &scriptedSession{c: c, events: make(chan cluster.Event, 10_000)}
	c.mu.Lock()
	c.session = s
	c.sessions++
	c.mu.Unlock()
	s.send(cluster.Subscribed{FrameworkID: f.ID, MasterID: "master-1"})
	if c.agent {
		c.offer("S1")
	}
	return s, nil
}

// offer puts a whole agent on offer.
func (c *scriptedCluster) offer(agent string) {
	c.mu.Lock()
	c.offers++
	n, s := c.offers, c.session
	c.mu.Unlock()
	s.send(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("O", n), AgentID: agent, Hostname: "h",
		AgentURL:  "http://h:5051",
		Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_192_000}}}})
}

// update reports a task, as its executor does.
func (c *scriptedCluster) update(task string, state cluster.State) {
	c.mu.Lock()
	c.offers++
	n, s := c.offers, c.session
	c.mu.Unlock()
	s.send(cluster.Update{TaskID: task, AgentID: "S1", State: state, Source: cluster.FromExecutor,
		UUID: fmt.Append(nil, "u", n), Timestamp: time.Now()})
}

func (c *scriptedCluster) count() (sessions, acked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions, c.acked
}

type scriptedSession struct {
	c      *scriptedCluster
	events chan cluster.Event
	mu     sync.Mutex
	closed bool
}

func (t *scriptedSession) send(e cluster.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.events <- e
	}
}

func (t *scriptedSession) Events() <-chan cluster.Event { return t.events }

func (t *scriptedSession) Err() error { return errors.New("closed") }

func (t *scriptedSession) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		close(t.events)
		t.c.diary.note("close")
	}
	return nil
}

// call records a call, unless onCall answers it. place orders the calls that are made at the same moment.
func (t *scriptedSession) call(ctx context.Context, place time.Duration, format string, args ...any) error {
	name, _, _ := strings.Cut(format, " ")
	if t.c.onCall != nil {
		if err := t.c.onCall(ctx, name); err != nil {
			return err
		}
	}
	time.Sleep(place * time.Microsecond)
	t.c.diary.say("CALL "+format, args...)
	return nil
}

func (t *scriptedSession) Launch(ctx context.Context, a cluster.Launch) error {
	var tasks []string
	for _, l := range a.Tasks {
		parsed, err := jobs.ParseTaskID(l.TaskID)
		if err != nil {
			return err
		}
		name := t.c.diary.called(l.TaskID, fmt.Sprintf("%s/%d#", parsed.Job, parsed.Item))
		t.c.mu.Lock()
		t.c.ids[name] = l.TaskID
		t.c.lease = l.Task.Lease
		t.c.mu.Unlock()
		tasks = append(tasks, name)
	}
	if err := t.call(ctx, 1, "ACCEPT on %s: launch %s", a.AgentID, strings.Join(tasks, ", ")); err != nil ||
		!t.c.agent {
		return err
	}
	for _, l := range a.Tasks {
		t.c.update(l.TaskID, cluster.Running)
		switch {
		case t.c.fails != "" && strings.HasPrefix(l.TaskID, t.c.fails):
			t.c.update(l.TaskID, cluster.Failed)
		case !t.c.holds:
			t.c.update(l.TaskID, cluster.Finished)
		}
	}
	t.c.offer(a.AgentID)
	return nil
}

func (t *scriptedSession) Kill(ctx context.Context, k cluster.Kill) error {
	return t.call(ctx, 2, "KILL %s", k.TaskID)
}

func (t *scriptedSession) SendMessage(_ context.Context, _, _ string, data []byte) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.sent = data
	return nil
}

func (t *scriptedSession) EndExecutor(ctx context.Context, id, agent string) error {
	err := t.call(ctx, 3, "SHUTDOWN %s on %s", id, agent)
	if err == nil && t.c.agent {
		t.send(cluster.Failure{AgentID: agent, ExecutorID: id})
	}
	return err
}

func (t *scriptedSession) Acknowledge(ctx context.Context, a cluster.Ack) error {
	err := t.call(ctx, 4, "ACKNOWLEDGE %s", a.TaskID)
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if err == nil {
		t.c.acked++
	}
	return err
}

// Reconcile answers, with an agent, that no task exists any more.
func (t *scriptedSession) Reconcile(ctx context.Context, tasks []cluster.TaskRef) error {
	var ids []string
	for _, ref := range tasks {
		ids = append(ids, ref.TaskID)
		if t.c.agent {
			t.send(cluster.Update{TaskID: ref.TaskID, AgentID: ref.AgentID, State: cluster.Gone,
				Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation})
		}
	}
	return t.call(ctx, 5, "RECONCILE %s", cmp.Or(strings.Join(ids, ", "), "everything"))
}

func (t *scriptedSession) Decline(ctx context.Context, _ []string, _ time.Duration) error {
	return t.call(ctx, 6, "DECLINE")
}

func (t *scriptedSession) RequestOffers(ctx context.Context) error {
	if t.c.agent {
		t.c.offer("S1")
	}
	return t.call(ctx, 7, "REVIVE")
}

func (t *scriptedSession) StopOffers(ctx context.Context) error { return t.call(ctx, 8, "SUPPRESS") }

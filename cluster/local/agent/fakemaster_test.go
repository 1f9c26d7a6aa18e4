package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

// report is one report of the agent to its master.
type report struct {
	kind   string // "register", "update", "ended", "message"
	update reportedUpdate
	still  link.Registration
	id     string
	status int
	data   []byte
}

type reportedUpdate struct {
	Status mesos.TaskStatus
	Latest mesos.TaskState
}

func (c report) String() string {
	switch c.kind {
	case "update":
		s := c.update.Status
		return fmt.Sprintf("%s %s %s %s", s.TaskID.Value, s.GetState(), s.GetSource(), s.GetMessage())
	case "ended":
		return fmt.Sprintf("%s ended %d", c.id, c.status)
	}
	return c.kind
}

// fakeMaster records the reports in order, and acknowledges updates unless acks returns false. It is also its own only
// session.
type fakeMaster struct {
	mu     sync.Mutex
	calls  []report
	more   chan struct{} // closed and replaced at each call
	acks   func(mesos.TaskStatus) bool
	orders *queue.Queue[link.Order]
	away   bool // agents cannot register
}

func newFakeMaster() *fakeMaster {
	return &fakeMaster{more: make(chan struct{}), orders: queue.New[link.Order](0),
		acks: func(mesos.TaskStatus) bool { return true }}
}

// setAway makes the master unreachable, or reachable with a new session.
func (m *fakeMaster) setAway(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away = away; !away {
		m.orders = queue.New[link.Order](0)
	}
}

func (m *fakeMaster) note(c report) {
	m.calls = append(m.calls, c)
	close(m.more)
	m.more = make(chan struct{})
}

func (m *fakeMaster) Register(_ context.Context, r link.Registration) (link.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return nil, errors.New("the master is away")
	}
	m.note(report{kind: "register", still: r})
	return m, nil
}

func (m *fakeMaster) Orders() ([]link.Order, error) { return m.session().Next(context.Background()) }

func (m *fakeMaster) Close() { m.session().Close() }

func (m *fakeMaster) session() *queue.Queue[link.Order] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.orders
}

func (m *fakeMaster) Report(n link.News) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case n.Update != nil:
		status := n.Update.Status.Of
		m.note(report{kind: "update", update: reportedUpdate{status, n.Update.Latest}})
		if m.acks(status) {
			m.orders.Push(link.Order{Acknowledge: &link.Acknowledgement{Framework: n.Update.Framework,
				Task: status.TaskID.Value, UUID: status.UUID}})
		}
	case n.Ended != nil:
		m.note(report{kind: "ended", id: n.Ended.Executor.Executor, status: n.Ended.WaitStatus})
	case n.Message != nil:
		m.note(report{kind: "message", id: n.Message.Framework + "/" + n.Message.Executor.Executor,
			data: n.Message.Data})
	}
	return nil
}

func (m *fakeMaster) acknowledging(acks func(mesos.TaskStatus) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acks = acks
}

func (m *fakeMaster) all() []report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]report(nil), m.calls...)
}

// wait waits for the nth call (counted from 1) that fits.
func (m *fakeMaster) wait(t *testing.T, what string, n int, fits func(report) bool) report {
	t.Helper()
	deadline := time.After(patience)
	for {
		m.mu.Lock()
		count := 0
		for _, c := range m.calls {
			if fits(c) {
				if count++; count == n {
					m.mu.Unlock()
					return c
				}
			}
		}
		more := m.more
		m.mu.Unlock()
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("waited for %s; the master got %v", what, m.all())
		}
	}
}

func (m *fakeMaster) waitState(t *testing.T, task string, state mesos.TaskState) mesos.TaskStatus {
	t.Helper()
	return m.wait(t, task+" "+state.String(), 1, func(c report) bool {
		return c.kind == "update" && c.update.Status.TaskID.Value == task && c.update.Status.GetState() == state
	}).update.Status
}

func (m *fakeMaster) waitEnded(t *testing.T, id string) int {
	t.Helper()
	return m.wait(t, "the end of "+id, 1, func(c report) bool { return c.kind == "ended" && c.id == id }).status
}

func (m *fakeMaster) registration(t *testing.T) link.Registration {
	t.Helper()
	return m.wait(t, "the registration", 1, func(c report) bool { return c.kind == "register" }).still
}

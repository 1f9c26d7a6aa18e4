package scheduler

import (
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// inbox is what waits for the next step. Everything that comes while a commit
// is under way goes into the next one.
type inbox struct {
	mu      sync.Mutex
	events  []core.Event
	changes []core.ChangeRequested
	closed  bool
	ready   chan struct{}
	later   *time.Timer // rings for events that can wait a moment
}

// linger is how long status updates wait for others to share their commit.
// Nobody waits for them as for a fire, and many tasks that end at once report many.
const linger = 2 * time.Millisecond

// canLinger reports whether an event is a status update.
func canLinger(e core.Event) bool {
	t, ok := e.(core.ClusterEvent)
	if !ok {
		return false
	}
	_, ok = t.Event.(cluster.Update)
	return ok
}

// batch bounds the events of one step.
const batch = 5000

// put reports whether there will be another step, which sees it.
func (b *inbox) put(e core.Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	if ch, ok := e.(core.ChangeRequested); ok {
		b.changes = append(b.changes, ch) // each has a step of its own
		b.ring()
		return true
	}
	b.events = append(b.events, e)
	switch {
	case !canLinger(e):
		b.ring()
	case b.later == nil:
		b.later = time.AfterFunc(linger, b.ring)
	}
	return true
}

func (b *inbox) ring() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *inbox) take() ([]core.Event, []core.ChangeRequested) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.later != nil {
		b.later.Stop()
		b.later = nil
	}
	n := min(len(b.events), batch)
	events, changes := b.events[:n:n], b.changes
	b.events, b.changes = b.events[n:], nil
	if len(b.events) > 0 {
		b.ring()
	} else {
		b.events = nil
	}
	return events, changes
}

// shut takes all that waits, and lets nothing more in.
func (b *inbox) shut() ([]core.Event, []core.ChangeRequested) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.later != nil {
		b.later.Stop()
	}
	events, changes := b.events, b.changes
	b.events, b.changes = nil, nil
	return events, changes
}

package agent

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// deadlines calls functions at their times, from one goroutine, one after another.
// A deadline is never withdrawn: what it calls looks whether it still matters.
// That keeps thousands of update retries as cheap as a heap entry each.
type deadlines struct {
	clock func() time.Time
	wake  chan struct{}

	mu  sync.Mutex
	due deadlineHeap
}

type deadline struct {
	at   time.Time
	call func()
}

func newDeadlines(clock func() time.Time) *deadlines {
	return &deadlines{clock: clock, wake: make(chan struct{}, 1)}
}

// after calls a function once that time has passed.
func (d *deadlines) after(wait time.Duration, call func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.clock().Add(wait)
	first := len(d.due) == 0 || at.Before(d.due[0].at)
	heap.Push(&d.due, deadline{at, call})
	if first {
		d.signal()
	}
}

// signal makes the loop look at the clock again.
func (d *deadlines) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run calls until ctx ends.
func (d *deadlines) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(d.callDue())
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-timer.C:
		}
	}
}

// callDue calls what is due and returns how long to wait for the next.
func (d *deadlines) callDue() time.Duration {
	for {
		d.mu.Lock()
		if len(d.due) == 0 {
			d.mu.Unlock()
			return time.Hour
		}
		if wait := d.due[0].at.Sub(d.clock()); wait > 0 {
			d.mu.Unlock()
			return wait
		}
		next := heap.Pop(&d.due).(deadline)
		d.mu.Unlock()
		next.call()
	}
}

type deadlineHeap []deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(x any)        { *h = append(*h, x.(deadline)) }
func (h *deadlineHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = deadline{}
	*h = (*h)[:len(*h)-1]
	return last
}

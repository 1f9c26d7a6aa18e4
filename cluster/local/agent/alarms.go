package agent

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// alarms calls functions at their times, from one goroutine, one after another.
// An alarm is never taken back: what it calls looks whether it still matters.
// That keeps thousands of update retries as cheap as a heap entry each.
type alarms struct {
	clock func() time.Time
	wake  chan struct{}

	mu  sync.Mutex
	due alarmHeap
}

type alarm struct {
	at   time.Time
	ring func()
}

func newAlarms(clock func() time.Time) *alarms {
	return &alarms{clock: clock, wake: make(chan struct{}, 1)}
}

// after calls ring once d has passed.
func (a *alarms) after(d time.Duration, ring func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.clock().Add(d)
	first := len(a.due) == 0 || at.Before(a.due[0].at)
	heap.Push(&a.due, alarm{at, ring})
	if first {
		a.poke()
	}
}

// poke makes the loop look at the clock again.
func (a *alarms) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run rings until ctx ends.
func (a *alarms) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(a.ringDue())
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-timer.C:
		}
	}
}

// ringDue rings what is due and returns how long to wait for the next.
func (a *alarms) ringDue() time.Duration {
	for {
		a.mu.Lock()
		if len(a.due) == 0 {
			a.mu.Unlock()
			return time.Hour
		}
		if wait := a.due[0].at.Sub(a.clock()); wait > 0 {
			a.mu.Unlock()
			return wait
		}
		next := heap.Pop(&a.due).(alarm)
		a.mu.Unlock()
		next.ring()
	}
}

type alarmHeap []alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarmHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *alarmHeap) Push(x any)        { *h = append(*h, x.(alarm)) }
func (h *alarmHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = alarm{}
	*h = (*h)[:len(*h)-1]
	return last
}

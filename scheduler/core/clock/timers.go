package clock

import (
	"container/heap"
	"time"
)

// Timers are functions that are called at times of the term. Each function checks whether there is still something to
// do, so timers never need to be removed. The zero value is ready for use.
type Timers struct{ heap timerHeap }

type timer struct {
	at    time.Time
	check func(now time.Time)
}

// At schedules a call of check for the first step at or after a time of the term.
func (t *Timers) At(when time.Time, check func(now time.Time)) {
	heap.Push(&t.heap, timer{when, check})
}

// Run calls every function that is due. A function may schedule new ones; those that are due at once wait for the next
// step.
func (t *Timers) Run(now time.Time) {
	var due []timer
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		due = append(due, heap.Pop(&t.heap).(timer))
	}
	for _, t := range due {
		t.check(now)
	}
}

// Next returns when the next function is due, and false if none is scheduled.
func (t *Timers) Next() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return t.heap[0].at, true
}

// Len returns the number of scheduled functions.
func (t *Timers) Len() int { return len(t.heap) }

type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return last
}

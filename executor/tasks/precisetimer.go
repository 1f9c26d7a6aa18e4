package tasks

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// preciseLead is how long before its fire time a shard switches from a Go timer to the precise timer. A Go timer
	// is late by up to a millisecond, and a resident process begins its run in less time than that.
	preciseLead = 2 * time.Millisecond
	// preciseStep is the resolution of wake-up times. It makes shards with the same cron expression share a wake-up
	// time, and so the thread that sleeps until then.
	preciseStep = 50 * time.Microsecond
)

// preciseTimer wakes shards at a given time with a precision of tens of microseconds.
type preciseTimer struct {
	start    time.Time // wake-up times count from here
	sleeping sync.WaitGroup

	mu      sync.Mutex
	wakeups map[time.Duration]chan struct{} // each is closed at its time
}

func newPreciseTimer() *preciseTimer {
	return &preciseTimer{start: time.Now(), wakeups: map[time.Duration]chan struct{}{}}
}

// after returns a channel that is closed once wait has passed, at most preciseStep late. wait is at most preciseLead.
func (t *preciseTimer) after(wait time.Duration) <-chan struct{} {
	wakeup := (time.Since(t.start) + wait + preciseStep - 1).Truncate(preciseStep) // rounded up
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.wakeups[wakeup]; c != nil {
		return c
	}
	c := make(chan struct{})
	t.wakeups[wakeup] = c
	t.sleeping.Go(func() {
		sleepUntil(t.start.Add(wakeup))
		t.mu.Lock()
		delete(t.wakeups, wakeup)
		t.mu.Unlock()
		close(c)
	})
	return c
}

// wait waits until no goroutine sleeps any more. All shards must have ended, so that none calls after again.
func (t *preciseTimer) wait() { t.sleeping.Wait() }

// sleepUntil sleeps in a system call, which blocks its thread: Go's timers are not precise enough (see preciseLead).
func sleepUntil(end time.Time) {
	for left := time.Until(end); left > 0; left = time.Until(end) {
		pause := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&pause, nil) // a signal can end the sleep early
	}
}

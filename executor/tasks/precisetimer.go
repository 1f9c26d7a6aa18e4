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
	// preciseStep is the resolution of wake-up times. Shards with the same cron expression share a wake-up time, and
	// so share the thread that sleeps until it.
	preciseStep = 50 * time.Microsecond
)

// preciseTimer wakes shards at a given time with a precision of tens of microseconds.
type preciseTimer struct {
	start    time.Time // wake-up times count from here
	sleeping sync.WaitGroup

	mu      sync.Mutex
	wakeups map[time.Duration]chan struct{}
}

func newPreciseTimer() *preciseTimer {
	return &preciseTimer{start: time.Now(), wakeups: map[time.Duration]chan struct{}{}}
}

// after returns a channel that is closed once wait has passed, at most preciseStep late. wait is at most preciseLead.
func (t *preciseTimer) after(wait time.Duration) <-chan struct{} {
	at := (time.Since(t.start) + wait + preciseStep - 1).Truncate(preciseStep)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.wakeups[at]; c != nil {
		return c
	}
	c := make(chan struct{})
	t.wakeups[at] = c
	t.sleeping.Go(func() {
		sleepUntil(t.start.Add(at))
		t.mu.Lock()
		delete(t.wakeups, at)
		t.mu.Unlock()
		close(c)
	})
	return c
}

// wait blocks until no sleeper is left. The caller must have ended all shards, because a later call of after starts
// a new sleeper.
func (t *preciseTimer) wait() { t.sleeping.Wait() }

// sleepUntil blocks its thread, because a runtime timer is not precise enough (preciseLead).
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		pause := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&pause, nil) // a signal interrupts it
	}
}

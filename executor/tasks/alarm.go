package tasks

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// alarmLead is how long before its fire time a shard switches from a Go timer to the alarm. A Go timer is late
	// by up to a millisecond, and a resident process begins its run in less time than that.
	alarmLead = 2 * time.Millisecond
	// alarmStep is the resolution of wake-up times. Shards with the same cron expression share a wake-up time, and
	// so share the thread that sleeps until it.
	alarmStep = 50 * time.Microsecond
)

// alarm wakes shards at a given time with a precision of tens of microseconds.
type alarm struct {
	began    time.Time // wake-up times count from here
	sleeping sync.WaitGroup

	mu      sync.Mutex
	moments map[time.Duration]chan struct{}
}

func newAlarm() *alarm { return &alarm{began: time.Now(), moments: map[time.Duration]chan struct{}{}} }

// after returns a channel that is closed once wait has passed, at most alarmStep late. wait is at most alarmLead.
func (a *alarm) after(wait time.Duration) <-chan struct{} {
	at := (time.Since(a.began) + wait + alarmStep - 1).Truncate(alarmStep)
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.moments[at]; c != nil {
		return c
	}
	c := make(chan struct{})
	a.moments[at] = c
	a.sleeping.Go(func() {
		sleepUntil(a.began.Add(at))
		a.mu.Lock()
		delete(a.moments, at)
		a.mu.Unlock()
		close(c)
	})
	return c
}

// wait blocks until no sleeper is left. The caller must have ended all shards, because a later call of after starts
// a new sleeper.
func (a *alarm) wait() { a.sleeping.Wait() }

// sleepUntil blocks its thread, because a runtime timer is not precise enough (alarmLead).
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		pause := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&pause, nil) // a signal interrupts it
	}
}

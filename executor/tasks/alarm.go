package tasks

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// alarmLead is how long before its moment a shard changes from a timer to the alarm. A timer of Go's is late by up
	// to a millisecond, in which a resident process has begun its run.
	alarmLead = 2 * time.Millisecond
	// alarmStep is how far apart two moments are at least. Shards with the same cron share theirs, and with it the
	// thread that sleeps.
	alarmStep = 50 * time.Microsecond
)

// alarm wakes shards at a moment to the tens of microseconds.
type alarm struct {
	began    time.Time // moments are counted from it
	sleeping sync.WaitGroup

	mu      sync.Mutex
	moments map[time.Duration]chan struct{}
}

func newAlarm() *alarm { return &alarm{began: time.Now(), moments: map[time.Duration]chan struct{}{}} }

// after gives a channel that is closed when wait, of at most alarmLead, is over, or at most alarmStep later.
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

// wait returns when no moment is left. It is called when no shard is.
func (a *alarm) wait() { a.sleeping.Wait() }

// sleepUntil holds a thread.
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		pause := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&pause, nil) // a signal ends it early
	}
}

package auth

import (
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)

// fails makes a failing login if it is admitted.
func (l *limiter) fails(now time.Time, name, from string) (wait time.Duration) {
	a, wait := l.begin(now, name, from)
	if wait == 0 {
		l.failed(now, a)
	}
	return wait
}

// succeeds makes a login with the right password if it is admitted.
func (l *limiter) succeeds(now time.Time, name, from string) (wait time.Duration) {
	a, wait := l.begin(now, name, from)
	if wait == 0 {
		l.succeeded(a)
	}
	return wait
}

// TestWaitsDouble checks the waits from the fifth consecutive failure on, up to a minute, and that failures are
// forgotten.
func TestWaitsDouble(t *testing.T) {
	t.Parallel()
	l, now := newLimiter(), start
	for n := range freeFailures {
		if wait := l.fails(now, "ann", "10.0.0.1"); wait != 0 {
			t.Fatalf("failure %d waits %v", n+1, wait)
		}
	}
	for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		want := seconds * time.Second
		if wait := l.fails(now, "ann", "10.0.0.1"); wait != want {
			t.Errorf("it waits %v, want %v", wait, want)
		}
		if wait := l.succeeds(now.Add(want-1), "ann", "10.0.0.1"); wait != 1 {
			t.Errorf("just before the end it waits %v", wait)
		}
		now = now.Add(want)
		if wait := l.fails(now, "ann", "10.0.0.1"); wait != 0 {
			t.Errorf("after %v it waits %v", want, wait)
		}
	}
	if wait := l.waits(now.Add(-time.Hour), "ann", "10.0.0.1"); wait > maxWait {
		t.Errorf("after the clock was set back it waits %v", wait)
	}
	now = now.Add(forgetFailures)
	for range freeFailures {
		if wait := l.fails(now, "ann", "10.0.0.1"); wait != 0 {
			t.Errorf("long after it waits %v", wait)
		}
	}
}

// waits returns how long a login has to wait, without making it.
func (l *limiter) waits(now time.Time, name, from string) time.Duration {
	a, wait := l.begin(now, name, from)
	if wait == 0 {
		l.undo(a)
	}
	return wait
}

// TestWhoIsHeldUp checks which logins are delayed by the failures of other logins.
func TestWhoIsHeldUp(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		before func(l *limiter)
		name   string
		from   string
		held   bool
	}{
		"the user from another address":                       {nil, "ann", "10.0.0.2", true},
		"another user from the same address":                  {nil, "ben", "10.0.0.1", true},
		"another user from another address":                   {nil, "ben", "10.0.0.2", false},
		"the same address written as IPv6":                    {nil, "ben", "::ffff:10.0.0.1", true},
		"the user from the address of an earlier login":       {func(l *limiter) { l.succeeds(start, "ann", "10.0.0.2") }, "ann", "10.0.0.2", false},
		"another user who logged in from the same address":    {func(l *limiter) { l.succeeds(start, "ben", "10.0.0.1") }, "ben", "10.0.0.1", false},
		"the user, not from the address of the earlier login": {func(l *limiter) { l.succeeds(start, "ann", "10.0.0.2") }, "ann", "10.0.0.3", true},
		"a neighbour in the same /64":                         {func(l *limiter) { failMany(l, "cid", "2001:db8::1") }, "dan", "2001:db8::2:1", true},
		"one of another /64":                                  {func(l *limiter) { failMany(l, "cid", "2001:db8::1") }, "dan", "2001:db8:0:1::1", false},
		"this machine by another address":                     {func(l *limiter) { failMany(l, "cid", "127.0.0.1") }, "dan", "127.3.2.1", true},
		"an invalid address":                                  {func(l *limiter) { failMany(l, "cid", "nonsense") }, "dan", "", true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLimiter()
			if test.before != nil {
				test.before(l)
			}
			failMany(l, "ann", "10.0.0.1")
			if wait := l.waits(start, test.name, test.from); (wait > 0) != test.held {
				t.Errorf("waits %v", wait)
			}
		})
	}
}

func failMany(l *limiter, name, from string) {
	for range freeFailures {
		l.fails(start, name, from)
	}
}

// TestSuccessClearsTheUserOnly checks that an attacker with an account can't reset the address's counter by logging
// in.
func TestSuccessClearsTheUserOnly(t *testing.T) {
	t.Parallel()
	l, guesses := newLimiter(), 0
	for n := range 1000 {
		if l.fails(start, fmt.Sprintf("victim%d", n), "10.0.0.1") == 0 {
			guesses++
		}
		l.succeeds(start, "mallory", "10.0.0.1")
	}
	if guesses > freeFailures {
		t.Errorf("%d guesses in a moment", guesses)
	}
	for range 100 {
		for range freeFailures - 1 {
			l.fails(start, "ann", "10.0.0.2")
		}
		if wait := l.succeeds(start, "ann", "10.0.0.2"); wait != 0 {
			t.Fatalf("a user who mistypes now and then waits %v", wait)
		}
	}
}

// TestManyAtOnceAreNoWayAround checks that many concurrent logins do not exceed the limit, because running ones count.
func TestManyAtOnceAreNoWayAround(t *testing.T) {
	t.Parallel()
	l := newLimiter()
	var admitted []attempt
	for range 10_000 {
		if a, wait := l.begin(start, "ann", "10.0.0.1"); wait == 0 {
			admitted = append(admitted, a)
		}
	}
	if len(admitted) != freeFailures {
		t.Errorf("%d attempts were admitted at once, want %d", len(admitted), freeFailures)
	}
	for _, a := range admitted {
		l.failed(start, a)
	}
	a, wait := l.begin(start.Add(time.Second), "ann", "10.0.0.1")
	if wait != 0 {
		t.Errorf("after the wait it waits %v", wait)
	}
	if wait := l.waits(start.Add(time.Second), "ann", "10.0.0.1"); wait == 0 {
		t.Error("after the wait, two at once")
	}
	l.undo(a)
	if wait := l.waits(start.Add(time.Second), "ann", "10.0.0.1"); wait != 0 {
		t.Errorf("one that was not tried counts: %v", wait)
	}
}

// TestLimiterIsBounded checks the bound, and that a dropped counter gives an attacker no free attempt.
func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter()
	failMany(l, "ann", "10.0.0.1")
	for n := range maxCounters + maxTrusted {
		from := fmt.Sprintf("2001:db8:%x:%x::1", n>>16, n&0xffff)
		l.fails(start, fmt.Sprintf("user%d", n), from)
		l.succeeds(start, fmt.Sprintf("good%d", n), from)
		if n%1000 == 0 && l.waits(start, "ann", "10.0.0.9") == 0 {
			t.Fatalf("forgotten after %d others", n)
		}
	}
	if len(l.counters.byKey) > maxCounters || len(l.trusted.byKey) > maxTrusted ||
		l.counters.order.Len() != len(l.counters.byKey) {
		t.Errorf("%d counters, %d trusted", len(l.counters.byKey), len(l.trusted.byKey))
	}
	idle := newLimiter()
	for n := range 100 {
		idle.succeeds(start, fmt.Sprintf("user%d", n), "10.0.0.1")
	}
	if len(idle.counters.byKey) != 0 {
		t.Errorf("%d counters without a failure", len(idle.counters.byKey))
	}
}

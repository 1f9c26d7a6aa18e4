package auth

import (
	"container/list"
	"net/netip"
	"time"
)

const (
	// The first freeFailures-1 consecutive failures cause no wait; each later one does, and the wait doubles.
	freeFailures = 5
	firstWait    = time.Second
	maxWait      = time.Minute
	// forgetFailures is the time without a failure after which earlier failures are forgotten.
	forgetFailures = 15 * time.Minute
	// maxCounters and maxTrusted bound the memory; the least recently used entry is dropped.
	maxCounters = 20_000
	maxTrusted  = 10_000
)

// limiter limits the rate of failed logins per user and per address. It is pure: the time is an argument. It is not
// safe for concurrent use.
//
// A user who has logged in from an address before has a separate counter for that pair, and is not affected by other
// failures: neither by attempts at the same name from elsewhere nor by attempts at other names from the same address.
// A success resets the counter of the user but not that of the address. Otherwise an attacker with an account could
// log in between attempts and guess without limit.
type limiter struct {
	counters lru[*counter]
	trusted  lru[struct{}]
}

// counter counts the failures of one key.
type counter struct {
	failed  int
	pending int // attempts that have begun and not ended
	last    time.Time
}

// attempt is a login that was admitted and has not ended.
type attempt struct {
	user, address string // keys; address is empty if the pair is trusted
	pair          string
}

func newLimiter() *limiter {
	return &limiter{counters: newLRU[*counter](maxCounters), trusted: newLRU[struct{}](maxTrusted)}
}

// begin admits a login, or returns how long to wait. An admitted login counts until it ends, so that concurrent
// attempts do not evade the limit.
func (l *limiter) begin(now time.Time, name, from string) (attempt, time.Duration) {
	from = addressKey(from)
	a := attempt{user: "user " + name, address: "address " + from, pair: "pair " + from + " " + name}
	if _, ok := l.trusted.get(a.pair); ok {
		a.user, a.address = a.pair, ""
	}
	var wait time.Duration
	for _, key := range a.keys() {
		if c, ok := l.counters.get(key); ok {
			wait = max(wait, c.wait(now))
		}
	}
	if wait > 0 {
		return attempt{}, wait
	}
	for _, key := range a.keys() {
		c, ok := l.counters.get(key)
		if !ok {
			c = &counter{}
			l.counters.put(key, c)
		}
		c.pending++
	}
	return a, 0
}

// failed ends an attempt with a wrong name or password.
func (l *limiter) failed(now time.Time, a attempt) {
	l.end(a, func(c *counter) {
		c.failed++
		c.last = now
	})
}

// succeeded ends an attempt whose password was right.
func (l *limiter) succeeded(a attempt) {
	if c, ok := l.counters.get(a.user); ok {
		c.failed = 0
	}
	l.trusted.put(a.pair, struct{}{})
	l.undo(a)
}

// undo ends an attempt without a result.
func (l *limiter) undo(a attempt) { l.end(a, func(*counter) {}) }

func (l *limiter) end(a attempt, count func(*counter)) {
	for _, key := range a.keys() {
		c, ok := l.counters.get(key)
		if !ok {
			continue // dropped, because many other keys were used meanwhile
		}
		c.pending--
		count(c)
		if c.failed == 0 && c.pending <= 0 {
			l.counters.remove(key)
		}
	}
}

// trusted reports whether the user has logged in from the address before.
func (a attempt) trusted() bool { return a.address == "" }

func (a attempt) keys() []string {
	if a.trusted() {
		return []string{a.user}
	}
	return []string{a.user, a.address}
}

// wait returns how long to wait before the next attempt; zero admits it.
func (c *counter) wait(now time.Time) time.Duration {
	if now.Sub(c.last) >= forgetFailures {
		c.failed = 0
	}
	if now.Before(c.last) { // the clock was set back, which must not lengthen a wait
		c.last = now
	}
	if c.failed < freeFailures {
		if c.failed+c.pending < freeFailures {
			return 0
		}
		return firstWait
	}
	wait := maxWait
	if doublings := c.failed - freeFailures; doublings < 6 {
		wait = min(wait, firstWait<<doublings)
	}
	if left := c.last.Add(wait).Sub(now); left > 0 {
		return left
	}
	if c.pending > 0 {
		return firstWait
	}
	return 0
}

// addressKey returns the key of an address. All addresses of an IPv6 /64, and of 127.0.0.0/8, share a key, because one
// host may use any number of them.
func addressKey(from string) string {
	ip, err := netip.ParseAddr(from)
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() {
		return "loopback"
	}
	if ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return ""
	}
	return prefix.String()
}

// lru is a map of bounded size that drops the least recently used entry.
type lru[V any] struct {
	limit int
	byKey map[string]*list.Element
	order *list.List // of *pair, most recently used first
}

type pair[V any] struct {
	key   string
	value V
}

func newLRU[V any](limit int) lru[V] {
	return lru[V]{limit: limit, byKey: map[string]*list.Element{}, order: list.New()}
}

func (l *lru[V]) get(key string) (v V, ok bool) {
	e, ok := l.byKey[key]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*pair[V]).value, true
}

func (l *lru[V]) put(key string, value V) {
	l.remove(key)
	l.byKey[key] = l.order.PushFront(&pair[V]{key, value})
	if len(l.byKey) > l.limit {
		l.remove(l.order.Back().Value.(*pair[V]).key)
	}
}

func (l *lru[V]) remove(key string) {
	if e, ok := l.byKey[key]; ok {
		l.order.Remove(e)
		delete(l.byKey, key)
	}
}

package auth

import (
	"container/list"
	"net/netip"
	"time"
)

const (
	// From the failure with the number freeFailures on, each failure causes a wait. The first is firstWait, and each
	// further one is twice as long, up to maxWait.
	freeFailures = 5
	firstWait    = time.Second
	maxWait      = time.Minute
	// forgetFailures is the time without a failure after which a counter begins at zero again.
	forgetFailures = 15 * time.Minute
	// maxCounters and maxTrusted are the greatest numbers of entries. Beyond them, the least recently used entry is
	// removed.
	maxCounters = 20_000
	maxTrusted  = 10_000
)

// limiter throttles logins per user and per address after failures. It reads no clock: the time is an argument. It is
// not safe for concurrent use.
//
// When a user has logged in from an address, the pair of user and address is trusted, and has its own counter. So the
// user's later logins from that address are throttled neither because of failures with the same name from other
// addresses, nor because of failures with other names from that address.
//
// A success resets the counter of the user but not that of the address. Otherwise an attacker with an account could
// log in between guesses, and guess without limit.
type limiter struct {
	counters lru[*counter]
	trusted  lru[struct{}]
}

// counter counts the failures of a user, of an address, or of a trusted pair.
type counter struct {
	failed      int
	pending     int       // attempts that have begun and not ended
	lastFailure time.Time // zero if none
}

// attempt is a login that was admitted and has not ended.
type attempt struct {
	// user and address are the keys of its counters. If the pair is trusted, user is the key of the pair, and address
	// is empty.
	user, address string
	pair          string
}

func newLimiter() *limiter {
	return &limiter{counters: newLRU[*counter](maxCounters), trusted: newLRU[struct{}](maxTrusted)}
}

// begin admits a login and returns a wait of zero, or throttles it and returns how long to wait. An admitted attempt
// is pending until succeeded, failed or undo ends it, so that concurrent attempts cannot evade the limit.
func (l *limiter) begin(now time.Time, name, from string) (a attempt, wait time.Duration) {
	from = addressKey(from)
	a = attempt{user: "user " + name, address: "address " + from, pair: "pair " + from + " " + name}
	if _, ok := l.trusted.get(a.pair); ok {
		a.user, a.address = a.pair, ""
	}
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
		c.lastFailure = now
	})
}

// succeeded ends an attempt whose password was right.
func (l *limiter) succeeded(a attempt) {
	if c, ok := l.counters.get(a.user); ok {
		c.failed = 0
	}
	l.trusted.put(a.pair, struct{}{})
	l.end(a, func(*counter) {})
}

// undo ends an attempt without counting a failure. It is for attempts whose password was not checked.
func (l *limiter) undo(a attempt) { l.end(a, func(*counter) {}) }

// end ends an attempt, and calls record with each of its counters. It removes counters that have become zero.
func (l *limiter) end(a attempt, record func(*counter)) {
	for _, key := range a.keys() {
		c, ok := l.counters.get(key)
		if !ok {
			continue // removed because many other keys were used meanwhile
		}
		c.pending--
		record(c)
		if c.failed == 0 && c.pending <= 0 {
			l.counters.remove(key)
		}
	}
}

// trusted reports whether the user has logged in from the address before.
func (a attempt) trusted() bool { return a.address == "" }

// keys returns the keys of the attempt's counters.
func (a attempt) keys() []string {
	if a.trusted() {
		return []string{a.user}
	}
	return []string{a.user, a.address}
}

// wait returns how long the next attempt has to wait; zero admits it.
func (c *counter) wait(now time.Time) time.Duration {
	if now.Sub(c.lastFailure) >= forgetFailures {
		c.failed = 0
	}
	if now.Before(c.lastFailure) { // the clock was set back, which must not lengthen a wait
		c.lastFailure = now
	}
	if c.failed < freeFailures {
		// The pending attempts may all fail, so they count too.
		if c.failed+c.pending < freeFailures {
			return 0
		}
		return firstWait
	}
	wait := maxWait
	if doublings := c.failed - freeFailures; doublings < 6 {
		wait = min(wait, firstWait<<doublings)
	}
	if left := c.lastFailure.Add(wait).Sub(now); left > 0 {
		return left
	}
	if c.pending > 0 { // only one attempt is admitted after each wait
		return firstWait
	}
	return 0
}

// addressKey returns the key of an address, or "" if it is not an IP address. All addresses of an IPv6 /64 share a
// key, and so do all loopback addresses, because one host can use any number of them.
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
	order *list.List // of *lruEntry, most recently used first
}

type lruEntry[V any] struct {
	key   string
	value V
}

func newLRU[V any](limit int) lru[V] {
	return lru[V]{limit: limit, byKey: map[string]*list.Element{}, order: list.New()}
}

// get returns the value of the key, and marks the entry as used.
func (l *lru[V]) get(key string) (v V, ok bool) {
	e, ok := l.byKey[key]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*lruEntry[V]).value, true
}

// put sets the value of the key, and removes the least recently used entry if there are too many.
func (l *lru[V]) put(key string, value V) {
	l.remove(key)
	l.byKey[key] = l.order.PushFront(&lruEntry[V]{key, value})
	if len(l.byKey) > l.limit {
		l.remove(l.order.Back().Value.(*lruEntry[V]).key)
	}
}

func (l *lru[V]) remove(key string) {
	if e, ok := l.byKey[key]; ok {
		l.order.Remove(e)
		delete(l.byKey, key)
	}
}

package zookeeper

import "time"

// backoff is how long to wait after failures in a row: first, then twice as long each time, up to most.
// Of that between half and all is waited, so that many servers do not come back at the same moment.
type backoff struct {
	first, most time.Duration
	failures    int
}

// next is the pause after one more failure; random is from 0 to 1.
func (b *backoff) next(random float64) time.Duration {
	wait := b.first
	for n := 0; n < b.failures && wait < b.most; n++ {
		wait *= 2
	}
	b.failures++
	wait = min(wait, b.most)
	return wait/2 + time.Duration(random*float64(wait/2))
}

// reset says that a try succeeded.
func (b *backoff) reset() { b.failures = 0 }

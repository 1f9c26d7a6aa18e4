// Package steadyclock tells the time for deletions by age, so that a wall clock that is wrong for a while deletes
// nothing.
package steadyclock

import "time"

const (
	// leap is how far the wall clock must go forward at once to be doubted.
	leap = 24 * time.Hour
	// doubt is for how long it is then doubted, and also at first: a machine may start with a wrong clock.
	doubt = time.Hour
)

// Clock is a wall clock that is doubted in its first hour, and for an hour after a leap of more than a day forward. The
// zero value is ready for use; only one goroutine at a time may use it.
type Clock struct {
	zero    time.Time     // the wall clock at up 0, by the last call
	trusted time.Duration // the up from which the wall clock is believed
}

// Now returns the time, or 1970 while the wall clock is doubted, when nothing is old. wall is the wall clock, and up a
// time that never jumps.
func (c *Clock) Now(wall time.Time, up time.Duration) time.Time {
	zero := wall.Round(0).Add(-up)
	if c.zero.IsZero() || zero.Sub(c.zero) > leap {
		c.trusted = up + doubt
	}
	c.zero = zero
	if up < c.trusted {
		return time.Unix(0, 0).UTC()
	}
	return wall
}

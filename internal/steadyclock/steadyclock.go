// Package steadyclock tells the time for deletions by age. A wall clock that is wrong for a while then causes no
// deletion.
package steadyclock

import "time"

const (
	// leap is the step forward after which the wall clock is doubted.
	leap = 24 * time.Hour
	// doubt is how long the wall clock is doubted after a leap, and after the first call: a machine may start with a
	// wrong clock.
	doubt = time.Hour
)

// Clock is a wall clock that is doubted in its first hour, and for an hour after a leap of more than a day forward.
// The zero value is ready for use. Only one goroutine at a time may use it.
type Clock struct {
	zero    time.Time     // what the wall clock showed when up was 0, according to the last call
	trusted time.Duration // the value of up from which on the wall clock is believed
}

// Now returns the time. While the wall clock is doubted, it returns 1970, so that nothing is old. wall is the wall
// clock, and up is a time that never jumps.
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

// Package steadyclock reads the age of things that are deleted by age, so that a wall clock that is wrong for a while
// deletes nothing.
package steadyclock

import "time"

const (
	// leap is how far the wall clock must go forward, at once, to be doubted.
	leap = 24 * time.Hour
	// doubt is how long it must then go on from there to be believed.
	doubt = time.Hour
)

// Clock is a wall clock that follows a leap of more than a day forwards only after an hour, which may also be the
// sleep of a machine. It follows any other step at once. The zero value is ready for use; only one goroutine at a time
// may use it.
type Clock struct {
	wall, leapt time.Time
	up, since   time.Duration
}

// Now returns the time. wall is the wall clock, and up a time that never jumps.
func (c *Clock) Now(wall time.Time, up time.Duration) time.Time {
	wall = wall.Round(0)
	expected := c.wall.Add(up - c.up)
	if c.wall.IsZero() || wall.Sub(expected) <= leap {
		c.wall, c.up, c.leapt = wall, up, time.Time{}
		return wall
	}
	if c.leapt.IsZero() || wall.Sub(c.leapt.Add(up-c.since)).Abs() > leap {
		c.leapt, c.since = wall, up
	}
	if up-c.since >= doubt {
		c.wall, c.up, c.leapt = wall, up, time.Time{}
		return wall
	}
	return expected
}

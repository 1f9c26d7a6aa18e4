package clock

import "time"

// Now is the time of a step, read from two clocks.
type Now struct {
	// Wall is the wall clock. It may be set, forwards and back, at any time.
	Wall time.Time
	// Elapsed is the time since the term began, which is when Load was called. It never goes back.
	Elapsed time.Duration
}

// Clock holds the two clocks against each other.
//
// Everything that waits, expires or is retried is reckoned in the time of the term: the wall clock as it stood when the
// term began, and what has elapsed since. No setting of the wall clock can make such a time run backwards, stand still or
// jump, so that no rule needs to ask for it. Only what people mean by a date sees the wall clock itself: fires of crons, and
// the beginning and the end of an agent's maintenance.
//
// Moments that outlive a term are stored as the term reckons them. The next term cannot know how far the
// wall clock was set in between; clampLoaded takes a moment that lies ahead of
// it for its own beginning.
type Clock struct {
	began time.Time
	// ahead is how far the wall clock is ahead of the time of the term, as far as people need to know: it follows
	// the wall clock only when that was set, and not while it is adjusted by milliseconds, so that a moment is
	// always shown as the same one.
	ahead time.Duration
	// now is the time of the term, wall the wall clock, both as of the present step.
	now, wall time.Time
}

const (
	// wallClockStep is the least difference that counts as a setting of the wall clock.
	wallClockStep = time.Second
	// wallClockEvery is the longest sleep of a shell: it measures its sleep with a clock that knows nothing of a wall
	// clock that is set forward to a moment at which fires are due.
	MaxSleep = 10 * time.Second
)

// Begin begins a term: its time goes on from the wall clock as it stands now.
func (c *Clock) Begin(wall time.Time) {
	c.began = wall.UTC()
	c.Set(Now{Wall: wall})
}

// Elapsed is how long after the beginning of the term a moment comes.
func (c *Clock) Elapsed(moment time.Time) time.Duration { return moment.Sub(c.began) }

// setClock takes the time of a step, and reports whether the wall clock was set since the last one.
func (c *Clock) Set(now Now) (set bool) {
	c.wall, c.now = now.Wall.UTC(), c.began.Add(now.Elapsed)
	ahead := c.wall.Sub(c.now)
	if set = (ahead - c.ahead).Abs() >= wallClockStep; set {
		c.ahead = ahead
	}
	return set
}

// InTerm is when, in the time of the term, the wall clock will show a moment, or has shown it, if it is not set meanwhile.
func (c *Clock) InTerm(wall time.Time) time.Time { return c.now.Add(wall.Sub(c.wall)) }

// OnWall is what the wall clock will show at a moment of the term, if it is not set meanwhile.
func (c *Clock) OnWall(moment time.Time) time.Time { return c.wall.Add(moment.Sub(c.now)) }

// Shown is a moment of the term for people, as they would read it from the wall clock.
func (c *Clock) Shown(moment time.Time) time.Time { return moment.Add(c.ahead) }

// SinceReported is when something began, in the time of the term, of which another machine says by its own wall clock that it
// began at reported; zero is for now. What lies ahead began now.
func (c *Clock) SinceReported(reported time.Time) time.Time {
	if reported.IsZero() || reported.After(c.wall) {
		return c.now
	}
	return c.InTerm(reported.UTC())
}

// clampLoaded takes moments of former terms that lie further ahead of this one's beginning than most for that beginning: the
// wall clock was set back since they were stored. most is 0 for what has been, and for what is waited for as long as the wait
// can be.
func (c *Clock) Clamp(most time.Duration, moments ...*time.Time) {
	latest := c.now.Add(most)
	for _, at := range moments {
		if at.After(latest) {
			*at = c.now
		}
	}
}

// Began is the began.
func (c *Clock) Began() time.Time { return c.began }

// Ahead is how far the wall clock is ahead of the time of the term, as far as people need to know: it follows the wall clock only when that was set, and not while it is adjusted by milliseconds, so that a moment is always shown as the same one.
func (c *Clock) Ahead() time.Duration { return c.ahead }

// Now is the time of the term, wall the wall clock, both as of the present step.
func (c *Clock) Now() time.Time { return c.now }

// Wall: now is the time of the term, wall the wall clock, both as of the present step.
func (c *Clock) Wall() time.Time { return c.wall }

// Said is when something was, of which another machine says when, and now where it says nothing that JSON can hold.
func (c *Clock) Said(at time.Time) time.Time {
	if at.IsZero() || at.Year() < 1 || at.Year() > 9998 {
		return c.wall
	}
	return at.UTC()
}

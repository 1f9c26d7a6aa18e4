// Package clock keeps the two clocks of a leader term, and timers that run by one of them.
//
// Clock is set once in each step and does not move within it, so that everything in a step happens at the same
// moment. The package reads no clock of the machine itself: the shell passes both times in.
package clock

import "time"

// Now is the time of a step, as the shell has read it from two clocks.
type Now struct {
	// Wall is the wall clock. It may be set, forwards and back, at any time.
	Wall time.Time
	// Elapsed is the time since the term began, which is when the core was loaded. It never goes back.
	Elapsed time.Duration
}

// Clock relates the two clocks of a term.
//
// Every delay, timeout and backoff is computed in the time of the term: the wall clock at the beginning of the term,
// plus the time that has elapsed since. A change of the wall clock cannot make that time run backwards, stop or jump,
// so no rule needs to check for it. Only dates that people specify use the wall clock itself: the fires of crons, and
// the beginning and the end of an agent's maintenance.
//
// Times that outlive a term are stored in the time of the term. The next term cannot know how far the wall clock was
// set in between, so Clamp replaces a stored time that lies after the beginning of the next term by that beginning.
type Clock struct {
	began time.Time
	// ahead is how far the wall clock is ahead of the time of the term. It changes only when the wall clock was set,
	// not while it is adjusted by milliseconds, so that people always see the same text for the same time (Shown).
	ahead time.Duration
	// now is the time of the term, wall the wall clock, both as of the present step.
	now, wall time.Time
}

const (
	// wallClockStep is the minimum difference that counts as a setting of the wall clock.
	wallClockStep = time.Second
	// MaxSleep is the maximum time that the shell may sleep between two steps. Its sleep is measured by the clock
	// behind Elapsed, so it does not end earlier when the wall clock is set forward to a time at which fires are due.
	MaxSleep = 10 * time.Second
)

// Begin begins a term: its time continues from the wall clock as it stands now.
func (c *Clock) Begin(wall time.Time) {
	c.began = wall.UTC()
	c.Set(Now{Wall: wall})
}

// Elapsed returns the time from the beginning of the term to a time of the term.
func (c *Clock) Elapsed(moment time.Time) time.Duration { return moment.Sub(c.began) }

// Set sets both clocks to the time of a step. It returns whether the wall clock was set since the last step, by
// wallClockStep or more.
func (c *Clock) Set(now Now) (wasSet bool) {
	c.wall, c.now = now.Wall.UTC(), c.began.Add(now.Elapsed)
	ahead := c.wall.Sub(c.now)
	if wasSet = (ahead - c.ahead).Abs() >= wallClockStep; wasSet {
		c.ahead = ahead
	}
	return wasSet
}

// InTerm converts a time of the wall clock into the time of the term. It assumes that the wall clock is not set
// between now and then.
func (c *Clock) InTerm(wall time.Time) time.Time { return c.now.Add(wall.Sub(c.wall)) }

// OnWall converts a time of the term into that of the wall clock. It is the inverse of InTerm.
func (c *Clock) OnWall(moment time.Time) time.Time { return c.wall.Add(moment.Sub(c.now)) }

// Shown converts a time of the term into the time of the wall clock that users see. The result for the same time
// changes only when the wall clock was set.
func (c *Clock) Shown(moment time.Time) time.Time { return moment.Add(c.ahead) }

// SinceReported converts a past time, which another machine has reported by its own wall clock, into the time of the
// term. It returns the present time if the reported one is zero or in the future.
func (c *Clock) SinceReported(reported time.Time) time.Time {
	if reported.IsZero() || reported.After(c.wall) {
		return c.now
	}
	return c.InTerm(reported.UTC())
}

// Clamp replaces each time that lies more than limit in the future by the present time. It is called while a term is
// loaded, because former terms may have stored times before the wall clock was set back. limit is 0 for times that
// should lie in the past, and the longest possible wait for deadlines.
func (c *Clock) Clamp(limit time.Duration, moments ...*time.Time) {
	latest := c.now.Add(limit)
	for _, at := range moments {
		if at.After(latest) {
			*at = c.now
		}
	}
}

// Began returns when the term began.
func (c *Clock) Began() time.Time { return c.began }

// Ahead returns how far the wall clock is ahead of the time of the term. It changes only when the wall clock was set
// by a second or more, not while it is adjusted by milliseconds (see Shown).
func (c *Clock) Ahead() time.Duration { return c.ahead }

// Now returns the time of the term in the present step.
func (c *Clock) Now() time.Time { return c.now }

// Wall returns the time of the wall clock in the present step, in UTC.
func (c *Clock) Wall() time.Time { return c.wall }

// ReportedTime returns a time that another machine has reported, in UTC. It returns the present time of the wall clock
// if the reported one is zero or in a year that JSON cannot encode.
func (c *Clock) ReportedTime(at time.Time) time.Time {
	if at.IsZero() || at.Year() < 1 || at.Year() > 9998 {
		return c.wall
	}
	return at.UTC()
}

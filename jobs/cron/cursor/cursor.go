// Package cursor remembers up to where the fires of schedules were made, by a wall clock that may leap (rules F1, F4).
//
// A cursor moves forward only, until the wall clock is set back to before a leap. TakeBack then returns the cursor to
// its position before the leap, and the fires that were made since stay made:
//
//	before          from           cursor
//	  ├╌╌╌╌ leap ╌╌╌╌┼───────────────┼──────▶ wall clock
//	  ▲              └ a span of Made ┘
//	  └────────── TakeBack ──────────┘
//
// Any advance by more than half a day is remembered as a leap. It comes from a wall clock that is wrong, from a time in
// which nothing made fires, or from schedules that fire rarely: nothing tells these apart, and nothing depends on it.
package cursor

import (
	"slices"
	"time"
)

// MinLeap is the distance beyond which the wall clock counts as having leapt, forward or back. Shorter steps back are
// waited for.
const MinLeap = 24 * time.Hour

const (
	// rememberedLeap is the distance beyond which an advance is remembered. It is shorter than MinLeap, because the
	// clock may have been behind the cursor before it leapt.
	rememberedLeap = MinLeap / 2
	// retention is for how long fires must be made after a leap until the clock counts as right.
	retention = 30 * 24 * time.Hour
	// maxLeaps and maxSpans bound what is remembered. Beyond them, the shortest leap and the shortest distance between
	// two spans are forgotten.
	maxLeaps = 8
	maxSpans = 32
)

// Position is a place in the order of all fires: after those before Time, and those at Time of the jobs up to Job by
// name.
type Position struct {
	Time time.Time `json:"time"`
	Job  string    `json:"job,omitempty"`
}

// Covers reports whether a fire is before the position.
func (p Position) Covers(at time.Time, job string) bool {
	return at.Before(p.Time) || at.Equal(p.Time) && job <= p.Job
}

// Leap is an advance of the cursor by more than half a day.
type Leap struct {
	// Before is the position before the leap.
	Before Position `json:"before"`
	// From is the first time of the wall clock at which fires were made after the leap.
	From time.Time `json:"from"`
	// Reported is set if people are to be told of the leap.
	Reported bool `json:"reported,omitempty"`
}

// Span is a period. Both ends belong to it.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Contains reports whether a time is in the span.
func (s Span) Contains(at time.Time) bool { return !at.Before(s.From) && !at.After(s.To) }

// Memory is what a cursor remembers of leaps. Its size is bounded.
type Memory struct {
	// Leaps are those before which the cursor can be taken back, the oldest first.
	Leaps []Leap `json:"leaps,omitempty"`
	// Made are the periods whose fires were made before the cursor was taken back, sorted. They neither overlap nor
	// touch.
	Made []Span `json:"made,omitempty"`
}

// Cursor is the position up to which fires were made. The zero value has made none.
type Cursor struct {
	Position
	Memory
	// MemoryChanged is set when Memory changes. Whoever stores Memory resets it.
	MemoryChanged bool
}

// Advance moves the cursor forward, never back, and returns whether it moved. If that is a leap, reported says whether
// people are to be told. The first advance of all is always remembered as a leap, because the clock may be wrong when
// the cursor begins.
func (c *Cursor) Advance(to Position, reported bool) (moved bool) {
	if c.Covers(to.Time, to.Job) {
		return false
	}
	before := c.Position
	if before.Time.IsZero() {
		before.Time = time.Unix(0, 0).UTC()
	}
	if to.Time.Sub(before.Time) > rememberedLeap {
		c.addLeap(Leap{Before: before, From: to.Time, Reported: reported})
	}
	c.Position = to
	c.forgetPassed()
	return true
}

func (c *Cursor) addLeap(l Leap) {
	c.MemoryChanged = true
	if c.Leaps = append(c.Leaps, l); len(c.Leaps) <= maxLeaps {
		return
	}
	length := func(l Leap) time.Duration { return l.From.Sub(l.Before.Time) }
	shortest := 0
	for i, l := range c.Leaps {
		if length(l) < length(c.Leaps[shortest]) {
			shortest = i
		}
	}
	c.Leaps = slices.Delete(c.Leaps, shortest, shortest+1)
}

// forgetPassed forgets leaps after which fires were made for the retention, and spans that the cursor has passed and
// cannot be taken back before.
func (c *Cursor) forgetPassed() {
	leaps, spans := len(c.Leaps), len(c.Made)
	until := c.Time
	for i, l := range slices.Backward(c.Leaps) {
		if until.Sub(l.From) > retention {
			c.Leaps = slices.Delete(c.Leaps, 0, i+1)
			break
		}
		until = l.Before.Time
	}
	c.Made = slices.DeleteFunc(c.Made, func(s Span) bool { return s.To.Before(c.Earliest()) })
	if len(c.Leaps) != leaps || len(c.Made) != spans {
		c.MemoryChanged = true
	}
}

// Earliest returns the time before which the cursor cannot be taken back.
func (c *Cursor) Earliest() time.Time {
	if len(c.Leaps) > 0 {
		return c.Leaps[0].Before.Time
	}
	return c.Time
}

// TakeBack takes the cursor back to before a leap, if the wall clock is behind the cursor by more than MinLeap, and
// before the time to which it leapt. It returns whether the cursor moved.
func (c *Cursor) TakeBack(wall time.Time) (moved bool) {
	for n := len(c.Leaps) - 1; n >= 0 && c.Time.Sub(wall) > MinLeap && wall.Before(c.Leaps[n].From); n-- {
		c.addMade(Span{From: c.Leaps[n].From, To: c.Time})
		c.Position, c.Leaps = c.Leaps[n].Before, c.Leaps[:n]
		c.MemoryChanged, moved = true, true
	}
	return moved
}

// addMade adds a span, and merges it with those that it touches.
func (c *Cursor) addMade(s Span) {
	c.Made = append(c.Made, s)
	slices.SortFunc(c.Made, func(a, b Span) int { return a.From.Compare(b.From) })
	for at := 1; at < len(c.Made); {
		if c.Made[at].From.After(c.Made[at-1].To) {
			at++
		} else {
			c.mergeMade(at)
		}
	}
	for len(c.Made) > maxSpans {
		nearest := 1
		for i := range c.Made[1:] {
			if c.distance(i+1) < c.distance(nearest) {
				nearest = i + 1
			}
		}
		c.mergeMade(nearest)
	}
}

// distance returns the distance of a span from the one before it.
func (c *Cursor) distance(at int) time.Duration { return c.Made[at].From.Sub(c.Made[at-1].To) }

// mergeMade merges a span with the one before it.
func (c *Cursor) mergeMade(at int) {
	c.Made[at-1].To = slices.MaxFunc([]time.Time{c.Made[at-1].To, c.Made[at].To}, time.Time.Compare)
	c.Made = slices.Delete(c.Made, at, at+1)
}

// MadeAt returns the span in which a fire was made before the cursor was taken back, and false for one that was not.
func (c *Cursor) MadeAt(at time.Time) (Span, bool) {
	for _, s := range c.Made {
		if s.Contains(at) {
			return s, true
		}
	}
	return Span{}, false
}

// Package cursor records up to which position the fires of schedules were made, although the wall clock may leap
// (rules F1, F4).
//
// A cursor only moves forward, until the wall clock is set back to before a leap. TakeBack then moves the cursor back
// to its position before the leap. It records the fires that were made after the leap, so that they are not made
// twice:
//
//	before          from           cursor
//	  ├╌╌╌╌ leap ╌╌╌╌┼───────────────┼──────▶ wall clock
//	  ▲              └ a span of Made ┘
//	  └────────── TakeBack ──────────┘
//
// Every advance by more than half a day is remembered as a leap. Its cause may be a wrong wall clock, a time in which
// no scheduler made fires, or schedules that fire rarely. The package can't distinguish these causes, and need not.
package cursor

import (
	"slices"
	"time"
)

// MinLeap is the distance beyond which a step of the wall clock, forward or back, counts as a leap. After a shorter
// step back, the cursor stays until the clock has passed it again.
const MinLeap = 24 * time.Hour

const (
	// rememberedLeap is the distance beyond which an advance is remembered as a leap. It is shorter than MinLeap,
	// because the clock may have been behind the cursor before it leapt.
	rememberedLeap = MinLeap / 2
	// retention is the time by which the cursor must advance after a leap until the leap is forgotten, because the
	// clock then counts as right.
	retention = 30 * 24 * time.Hour
	// maxLeaps and maxSpans limit the memory. Beyond maxLeaps, the shortest leap is forgotten; beyond maxSpans, the
	// two nearest spans are merged.
	maxLeaps = 8
	maxSpans = 32
)

// Position is a position in the order of all fires, which is by time, then by job name. It is after all fires before
// Time, and after the fires at Time of the jobs up to and including Job.
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
	// Before is the cursor's position before the leap.
	Before Position `json:"before"`
	// From is the first time of the wall clock at which fires were made after the leap.
	From time.Time `json:"from"`
	// Reported is set if users are to be told of the leap.
	Reported bool `json:"reported,omitempty"`
}

// Span is a period that includes both its ends.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Contains reports whether a time is in the span.
func (s Span) Contains(at time.Time) bool { return !at.Before(s.From) && !at.After(s.To) }

// Memory is what a cursor remembers of leaps. Its size is limited.
type Memory struct {
	// Leaps are the remembered leaps, the oldest first. The cursor can be taken back to its position before each of
	// them.
	Leaps []Leap `json:"leaps,omitempty"`
	// Made are the periods whose fires were made before the cursor was taken back, sorted. They neither overlap nor
	// touch.
	Made []Span `json:"made,omitempty"`
}

// Cursor is the position up to which fires were made. For the zero value, no fire was made.
type Cursor struct {
	Position
	Memory
	// MemoryChanged is set when Memory changes. The caller resets it after it has stored Memory.
	MemoryChanged bool
}

// Advance moves the cursor forward, and returns whether it moved. It does nothing if to is not after the cursor.
// reported becomes Leap.Reported if the advance is a leap. The first advance of a cursor is always remembered as a
// leap, because the clock may be wrong at that time.
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

// addLeap remembers a leap, and forgets the shortest one if there are too many.
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

// forgetPassed forgets a leap, and all older ones, if the cursor advanced by more than retention after it and before
// the next leap. It also forgets the spans before Earliest.
func (c *Cursor) forgetPassed() {
	leaps, spans := len(c.Leaps), len(c.Made)
	until := c.Time // the cursor advanced from l.From to until without a leap
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

// Earliest returns the earliest time to which the cursor can be taken back; its own if there are no leaps.
func (c *Cursor) Earliest() time.Time {
	if len(c.Leaps) > 0 {
		return c.Leaps[0].Before.Time
	}
	return c.Time
}

// TakeBack moves the cursor back to its position before the latest leap, if the wall clock is more than MinLeap behind
// the cursor and before the From of that leap. It repeats this for earlier leaps, and returns whether the cursor moved.
func (c *Cursor) TakeBack(wall time.Time) (moved bool) {
	for n := len(c.Leaps) - 1; n >= 0 && c.Time.Sub(wall) > MinLeap && wall.Before(c.Leaps[n].From); n-- {
		c.addMade(Span{From: c.Leaps[n].From, To: c.Time})
		c.Position, c.Leaps = c.Leaps[n].Before, c.Leaps[:n]
		c.MemoryChanged, moved = true, true
	}
	return moved
}

// addMade adds a span to Made, and merges it with the spans that it overlaps or touches.
func (c *Cursor) addMade(s Span) {
	c.Made = append(c.Made, s)
	slices.SortFunc(c.Made, func(a, b Span) int { return a.From.Compare(b.From) })
	for i := 1; i < len(c.Made); {
		if c.Made[i].From.After(c.Made[i-1].To) {
			i++
		} else {
			c.mergeMade(i)
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

// distance returns the distance of span i from the span before it.
func (c *Cursor) distance(i int) time.Duration { return c.Made[i].From.Sub(c.Made[i-1].To) }

// mergeMade merges span i with the span before it.
func (c *Cursor) mergeMade(i int) {
	c.Made[i-1].To = slices.MaxFunc([]time.Time{c.Made[i-1].To, c.Made[i].To}, time.Time.Compare)
	c.Made = slices.Delete(c.Made, i, i+1)
}

// MadeAt returns the span of Made that contains the time of a fire; false if none does, so that the fire was not made
// before the cursor was taken back.
func (c *Cursor) MadeAt(at time.Time) (Span, bool) {
	for _, s := range c.Made {
		if s.Contains(at) {
			return s, true
		}
	}
	return Span{}, false
}

package cron

import (
	"time"

	"github.com/robfig/cron/v3"
)

var _ cron.Schedule = (*Schedule)(nil)

// Schedule is the set of instants an expression fires at in its zone. It
// doesn't change: everything on it may be called from everywhere at once.
type Schedule struct {
	// canonical is the expression in capital letters with single blanks.
	canonical string
	zone      *time.Location

	seconds, minutes, hours, months set
	days                            dayRule
	years                           yearSet
	// bothPasses is set when a doubled hour counts twice.
	bothPasses bool
}

const (
	secondsOfMinute = 60
	secondsOfHour   = 60 * secondsOfMinute
	secondsOfDay    = 24 * secondsOfHour

	// settled is longer than any two offsets of a zone are apart (a zone that
	// changes sides of the date line moves by a day).
	settled = 2 * secondsOfDay

	// endless is the end of a zone's last period: far away, and safe to reckon with.
	endless = int64(1) << 60
)

// Next is the first instant strictly after the given one at which s fires, a
// whole second, in s's zone; the zero time when it never fires (again).
//
// The work is bounded: it follows the zone's changes only near a candidate.
func (s *Schedule) Next(after time.Time) time.Time {
	switch y := after.Year(); {
	case y < firstYear-1:
		after = time.Date(firstYear-1, time.January, 1, 0, 0, 0, 0, time.UTC)
	case y > lastYear+1:
		return time.Time{}
	}
	if at, ok := s.next(after.Unix() + 1); ok {
		return time.Unix(at, 0).In(s.zone)
	}
	return time.Time{}
}

// next is the first fire at or after an instant, in seconds since 1970.
//
// It goes along the zone's periods of one offset. Within one, wall time is
// instant plus offset, and the search is for the next wall time that matches.
func (s *Schedule) next(from int64) (int64, bool) {
	for {
		p := periodAt(from, s.zone)
		wall, found := s.wallFrom(from + p.offset)
		at := wall - p.offset
		if found && at < p.end && (s.bothPasses || !p.showsAgain(at)) {
			return at, true
		}
		if p.end-from < settled {
			// Behind its end the clock may show times before from again.
			from = p.end
			continue
		}
		// The wall time found, if any, is the first that matches from here on
		// whatever the offset will be: periods that end well before it hold none.
		if !found {
			return 0, false
		}
		from = max(p.end, at-settled)
	}
}

// period is a stretch of time in which a zone has one offset from UTC.
type period struct {
	zone   *time.Location
	offset int64
	// end is the first instant behind the period.
	end int64
}

func periodAt(at int64, zone *time.Location) period {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	_, end := t.ZoneBounds()
	p := period{zone: zone, offset: int64(offset), end: endless}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= at {
		// On the last day of a leap year behind a zone's table ZoneBounds gives an
		// end that is past already. No clock changes near the turn of those years.
		p.end = at + settled
	}
	return p
}

// showsAgain is set for an instant whose wall time comes a second time behind
// the period's end.
func (p period) showsAgain(at int64) bool {
	if p.end-at > settled {
		return false
	}
	_, offset := time.Unix(p.end, 0).In(p.zone).Zone()
	return at-p.end >= int64(offset)-p.offset
}

// wallFrom is the first wall time that matches the fields and is at or after
// the given one; both are written as the instant that shows it in UTC.
func (s *Schedule) wallFrom(from int64) (int64, bool) {
	year, m, d := time.Unix(from, 0).UTC().Date()
	if s.firesOn(year, int(m), d) {
		now := int(from % secondsOfDay) // it is not negative: nothing fires before 1970
		if second, ok := s.secondFrom(now); ok {
			return from + int64(second-now), true
		}
	}
	day, ok := s.dayFrom(year, int(m), d+1)
	if !ok {
		return 0, false
	}
	second, _ := s.secondFrom(0)
	return day*secondsOfDay + int64(second), true
}

// firesOn is set for a date that matches.
func (s *Schedule) firesOn(year, m, d int) bool {
	y, ok := s.years.from(year)
	return ok && y == year && s.months.has(m) && s.days(monthOf(year, m)).has(d)
}

// dayFrom is the first day that matches and is at or after a date, in days
// since 1970. The date's day may be one past the end of its month.
func (s *Schedule) dayFrom(year, m, d int) (int64, bool) {
	for y, ok := s.years.from(year); ok; y, ok = s.years.from(y + 1) {
		if y > year {
			m, d = 1, 1
		}
		for next, ok := s.months.from(m); ok; next, ok = s.months.from(next + 1) {
			if next > m {
				d = 1
			}
			in := monthOf(y, next)
			if day, ok := s.days(in).from(d); ok {
				return in.start + int64(day) - 1, true
			}
			d = 1
		}
		m, d = 1, 1
	}
	return 0, false
}

// secondFrom is the first second of a day that matches and is at or after the
// given one.
func (s *Schedule) secondFrom(second int) (int, bool) {
	h, m, sec := second/secondsOfHour, second/secondsOfMinute%60, second%secondsOfMinute
	if s.hours.has(h) {
		if s.minutes.has(m) {
			if sec, ok := s.seconds.from(sec); ok {
				return (h*60+m)*60 + sec, true
			}
		}
		if m, ok := s.minutes.from(m + 1); ok {
			return (h*60+m)*60 + s.seconds.first(), true
		}
	}
	if h, ok := s.hours.from(h + 1); ok {
		return (h*60+s.minutes.first())*60 + s.seconds.first(), true
	}
	return 0, false
}

// Latest is the newest n fires after one instant and not after another,
// oldest first; fewer when there are fewer.
//
// It costs about as much as a few times n calls of Next, however many fires
// lie between: it looks at windows that grow backwards from until.
func (s *Schedule) Latest(after, until time.Time, n int) []time.Time {
	lowest := max(after.Unix(), civilDay(firstYear-1, 1, 1)*secondsOfDay)
	to := min(until.Unix(), civilDay(lastYear+2, 1, 1)*secondsOfDay)
	var newest []int64 // newest first
	for width := int64(n); len(newest) < n && to > lowest; {
		start := max(to-width, lowest)
		fires, all := s.between(start, to, 4*n)
		if !all {
			width = max((to-start)/2, 1)
			continue
		}
		for i := len(fires) - 1; i >= 0 && len(newest) < n; i-- {
			newest = append(newest, fires[i])
		}
		to, width = start, 2*width
	}
	times := make([]time.Time, len(newest))
	for i, at := range newest {
		times[len(newest)-1-i] = time.Unix(at, 0).In(s.zone)
	}
	return times
}

// between is the fires after one instant and not after another; all is false
// when there are more than most.
func (s *Schedule) between(after, until int64, most int) (fires []int64, all bool) {
	for at, ok := s.next(after + 1); ok && at <= until; at, ok = s.next(at + 1) {
		if len(fires) == most {
			return nil, false
		}
		fires = append(fires, at)
	}
	return fires, true
}

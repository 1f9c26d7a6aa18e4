package cron

import (
	"time"

	"github.com/robfig/cron/v3"
)

var _ cron.Schedule = (*Schedule)(nil)

// Schedule is the set of instants at which an expression fires in its zone. It is immutable and may be used
// concurrently.
type Schedule struct {
	// canonical is the expression in capital letters with single blanks.
	canonical string
	zone      *time.Location

	seconds, minutes, hours, months set
	days                            dayRule
	years                           yearSet
	// bothPasses is set if the schedule fires in both passes of an hour that a clock change repeats.
	bothPasses bool
}

const (
	secondsOfMinute = 60
	secondsOfHour   = 60 * secondsOfMinute
	secondsOfDay    = 24 * secondsOfHour

	// maxShift, in seconds, exceeds the difference of any two offsets of a zone. A zone that changes sides of the date
	// line moves by a day.
	maxShift = 2 * secondsOfDay

	// endless is the end of a zone's last period. It is in the far future, but sums with it do not overflow.
	endless = int64(1) << 60
)

// Next returns the first instant after the given one at which s fires: a whole second, in the zone of s. It returns
// the zero time if there is none.
//
// The work is limited, because Next examines the zone's changes only near a candidate.
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

// next returns the first fire at or after an instant, both in seconds since 1970; false if there is none.
//
// It iterates over the zone's periods of constant offset. Within a period, the wall time is the instant plus the
// offset, and next searches for the next matching wall time.
func (s *Schedule) next(from int64) (int64, bool) {
	for {
		p := periodAt(from, s.zone)
		wall, found := s.wallFrom(from + p.offset)
		at := wall - p.offset
		if found && at < p.end && (s.bothPasses || !p.showsAgain(at)) {
			return at, true
		}
		if p.end-from < maxShift {
			// If the clock is set back at the end of the period, it then shows earlier times, which may match.
			from = p.end
			continue
		}
		// wall is the first matching wall time from here on, whatever the offset will be. So periods that end well
		// before it contain no fire.
		if !found {
			return 0, false
		}
		from = max(p.end, at-maxShift)
	}
}

// period is a time span in which a zone has one offset from UTC.
type period struct {
	zone   *time.Location
	offset int64
	// end is the first instant after the period.
	end int64
}

// periodAt returns the period of a zone that contains an instant.
func periodAt(at int64, zone *time.Location) period {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	_, end := t.ZoneBounds()
	p := period{zone: zone, offset: int64(offset), end: endless}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= at {
		// On the last day of a leap year that is later than the zone's table, ZoneBounds returns an end in the past.
		// No clock changes near the ends of such years.
		p.end = at + maxShift
	}
	return p
}

// showsAgain reports whether the clock shows the time of an instant in the period again after the end of the period.
func (p period) showsAgain(at int64) bool {
	if p.end-at > maxShift {
		return false
	}
	_, offset := time.Unix(p.end, 0).In(p.zone).Zone()
	return at-p.end >= int64(offset)-p.offset
}

// wallFrom returns the first matching wall time at or after the given one; false if there is none. A wall time is
// expressed as the instant at which a clock in UTC shows it.
func (s *Schedule) wallFrom(from int64) (int64, bool) {
	year, m, d := time.Unix(from, 0).UTC().Date()
	if s.firesOn(year, int(m), d) {
		now := int(from % secondsOfDay) // not negative, because nothing fires before 1970
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

// firesOn reports whether a date matches.
func (s *Schedule) firesOn(year, m, d int) bool {
	y, ok := s.years.from(year)
	return ok && y == year && s.months.has(m) && s.days.in(monthOf(year, m)).has(d)
}

// dayFrom returns the first matching day at or after a date, in days since 1970; false if there is none. d may be one
// more than the month has days.
func (s *Schedule) dayFrom(year, m, d int) (int64, bool) {
	for y, ok := s.years.from(year); ok; y, ok = s.years.from(y + 1) {
		if y > year {
			m, d = 1, 1
		}
		for next, ok := s.months.from(m); ok; next, ok = s.months.from(next + 1) {
			if next > m {
				d = 1
			}
			inMonth := monthOf(y, next)
			if day, ok := s.days.in(inMonth).from(d); ok {
				return inMonth.start + int64(day) - 1, true
			}
			d = 1
		}
		m, d = 1, 1
	}
	return 0, false
}

// secondFrom returns the first matching second of a day at or after the given one; false if there is none.
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

// Latest returns the newest n fires that are later than after and not later than until, oldest first. It returns fewer
// if there are fewer.
//
// It costs about as much as a few times n calls of Next, however many fires there are, because it examines windows
// backwards from until. A window is halved if it contains too many fires, and otherwise followed by a longer one.
func (s *Schedule) Latest(after, until time.Time, n int) []time.Time {
	lowest := max(after.Unix(), civilDay(firstYear-1, 1, 1)*secondsOfDay)
	to := min(until.Unix(), civilDay(lastYear+2, 1, 1)*secondsOfDay)
	var newest []int64 // in descending order
	for width := int64(n); len(newest) < n && to > lowest; {
		start := max(to-width, lowest)
		fires, complete := s.between(start, to, 4*n)
		if !complete {
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

// between returns the fires that are later than after and not later than until. If there are more than limit, it
// returns no fires and false.
func (s *Schedule) between(after, until int64, limit int) (fires []int64, complete bool) {
	for at, ok := s.next(after + 1); ok && at <= until; at, ok = s.next(at + 1) {
		if len(fires) == limit {
			return nil, false
		}
		fires = append(fires, at)
	}
	return fires, true
}

package cron

import (
	"math/bits"
	"time"
)

// Zone is that whose wall clock s fires by.
func (s *Schedule) Zone() *time.Location { return s.zone }

// PerMinute calls add for each of the n minutes from the one of a moment on in which s fires, in order, with how often
// it does in that minute.
//
// Seconds are counted as a set and not one by one, and of a zone's changes only those in these minutes are looked at:
// an hour of "* * * * * ?" costs what 60 looks at the clock do, and one of what fires once a day next to nothing.
func (s *Schedule) PerMinute(from time.Time, n int, add func(minute, fires int)) {
	begin := from.Unix() / secondsOfMinute * secondsOfMinute
	for i := 0; i < n; {
		at := begin + int64(i)*secondsOfMinute
		p := periodAt(at, s.zone)
		whole := int(min(int64(n), (p.end-begin)/secondsOfMinute)) // the first minute that does not end within the period
		if whole > i && p.offset%secondsOfMinute == 0 {
			s.wholeMinutes(p, begin, i, whole, add)
			i = whole
			continue
		}
		s.oddMinute(at, i, add) // the clock changes within it, or the zone's minutes are not UTC's
		i++
	}
}

// wholeMinutes counts minutes of a zone's period that are minutes by its clock.
func (s *Schedule) wholeMinutes(p period, begin int64, i, end int, add func(minute, fires int)) {
	fires := bits.OnesCount64(uint64(s.seconds))
	known, matches := int64(-1), false // whether the day that was looked at last is one to fire on
	for ; i < end; i++ {
		at := begin + int64(i)*secondsOfMinute
		wall := at + p.offset
		hour, minute := int(wall%secondsOfDay/secondsOfHour), int(wall%secondsOfHour/secondsOfMinute)
		switch {
		case wall < 0: // nothing fires before 1970
			continue
		case !s.hours.has(hour):
			i += 59 - minute
			continue
		case !s.minutes.has(minute):
			continue
		}
		if day := wall / secondsOfDay; day != known {
			year, m, d := time.Unix(wall, 0).UTC().Date()
			known, matches = day, s.firesOn(year, int(m), d)
		}
		switch once := s.bothPasses || !p.showsAgain(at+secondsOfMinute-1); {
		case !matches:
		case once:
			add(i, fires)
		case !p.showsAgain(at):
			s.oddMinute(at, i, add)
		}
	}
}

// oddMinute counts the fires of a minute one by one.
func (s *Schedule) oddMinute(at int64, i int, add func(minute, fires int)) {
	fires := 0
	for next, ok := s.next(at); ok && next < at+secondsOfMinute; next, ok = s.next(next + 1) {
		fires++
	}
	if fires > 0 {
		add(i, fires)
	}
}

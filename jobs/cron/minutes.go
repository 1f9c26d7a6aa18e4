package cron

import (
	"math/bits"
	"time"
)

// Zone returns the zone whose wall clock the schedule follows.
func (s *Schedule) Zone() *time.Location { return s.zone }

// PerMinute calls add, in order, for each of the n minutes from the one containing from on in which s fires, with the
// number of fires in that minute.
//
// It counts seconds as a set instead of one by one, and looks only at the zone's changes within these minutes. So an
// hour of "* * * * * ?" costs 60 checks of the clock, and one of a daily schedule almost nothing.
func (s *Schedule) PerMinute(from time.Time, n int, add func(minute, fires int)) {
	begin := from.Unix() / secondsOfMinute * secondsOfMinute
	for i := 0; i < n; {
		at := begin + int64(i)*secondsOfMinute
		p := periodAt(at, s.zone)
		whole := int(min(int64(n), (p.end-begin)/secondsOfMinute)) // the first minute not within the period
		if whole > i && p.offset%secondsOfMinute == 0 {
			s.wholeMinutes(p, begin, i, whole, add)
			i = whole
			continue
		}
		s.oddMinute(at, i, add) // the clock changes within it, or the zone's minutes are not UTC's
		i++
	}
}

// wholeMinutes counts minutes in a period of the zone whose offset is a whole number of minutes.
func (s *Schedule) wholeMinutes(p period, begin int64, i, end int, add func(minute, fires int)) {
	fires := bits.OnesCount64(uint64(s.seconds))
	known, matches := int64(-1), false // known is the last checked day, and matches whether it fires
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

package cron

import (
	"math/bits"
	"time"
)

// Zone returns the zone whose wall clock the schedule follows.
func (s *Schedule) Zone() *time.Location { return s.zone }

// PerMinute counts the fires of s in each of n consecutive minutes. Minute 0 is the one that contains from. PerMinute
// calls add, in order, for each minute with fires.
//
// It counts the seconds of a minute as a set instead of one by one, and considers only the zone's changes within these
// minutes. So an hour of "* * * * * ?" costs 60 checks of the clock, and an hour of a daily schedule almost nothing.
func (s *Schedule) PerMinute(from time.Time, n int, add func(minute, fires int)) {
	begin := from.Unix() / secondsOfMinute * secondsOfMinute
	for i := 0; i < n; {
		start := begin + int64(i)*secondsOfMinute
		p := periodAt(start, s.zone)
		end := int(min(int64(n), (p.end-begin)/secondsOfMinute)) // the first minute not wholly within the period
		if end > i && p.offset%secondsOfMinute == 0 {
			s.wholeMinutes(p, begin, i, end, add)
			i = end
			continue
		}
		// The clock changes within the minute, or the zone's minutes begin within those of UTC.
		s.countOneByOne(start, i, add)
		i++
	}
}

// wholeMinutes counts the fires of the minutes from i to before end, which are wholly within the period p. The offset
// of p is a whole number of minutes. begin is the start of minute 0.
func (s *Schedule) wholeMinutes(p period, begin int64, i, end int, add func(minute, fires int)) {
	fires := bits.OnesCount64(uint64(s.seconds))
	checkedDay, dayMatches := int64(-1), false
	for ; i < end; i++ {
		start := begin + int64(i)*secondsOfMinute
		wall := start + p.offset
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
		if day := wall / secondsOfDay; day != checkedDay {
			year, m, d := time.Unix(wall, 0).UTC().Date()
			checkedDay, dayMatches = day, s.firesOn(year, int(m), d)
		}
		// A schedule without bothPasses does not fire at a time that the clock shows again.
		switch allSecondsFire := s.bothPasses || !p.showsAgain(start+secondsOfMinute-1); {
		case !dayMatches:
		case allSecondsFire:
			add(i, fires)
		case !p.showsAgain(start): // only the end of the minute is shown again
			s.countOneByOne(start, i, add)
		}
	}
}

// countOneByOne counts the fires of minute i, which begins at start, one by one.
func (s *Schedule) countOneByOne(start int64, i int, add func(minute, fires int)) {
	fires := 0
	for next, ok := s.next(start); ok && next < start+secondsOfMinute; next, ok = s.next(next + 1) {
		fires++
	}
	if fires > 0 {
		add(i, fires)
	}
}

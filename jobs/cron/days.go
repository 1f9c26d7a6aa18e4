package cron

import (
	"math/bits"
	"time"
)

// set is a set of numbers from 0 to 63. Bit n is set if n is a member.
type set uint64

func (s set) has(n int) bool { return s>>n&1 != 0 }

func (s *set) add(n int) { *s |= 1 << n }

// from returns the smallest member that is at least n.
func (s set) from(n int) (int, bool) {
	rest := uint64(s) >> n << n
	return bits.TrailingZeros64(rest), n < 64 && rest != 0
}

// first returns the smallest member of a set that is not empty.
func (s set) first() int { return bits.TrailingZeros64(uint64(s)) }

// yearSet is a set of years from firstYear to lastYear.
type yearSet [(lastYear-firstYear)/64 + 1]set

// firstYear and lastYear are the first and last year in which an expression can fire. Quartz' last year is a hundred
// years after the current one; here it does not depend on a clock.
const (
	firstYear = 1970
	lastYear  = 2126
)

// add adds y, unless y is out of bounds.
func (s *yearSet) add(y int) {
	if y >= firstYear && y <= lastYear {
		s[(y-firstYear)/64].add((y - firstYear) % 64)
	}
}

// from returns the smallest member that is at least y.
func (s *yearSet) from(y int) (int, bool) {
	y = max(y, firstYear)
	first := (y - firstYear) % 64
	for i := (y - firstYear) / 64; i < len(s); i++ {
		if n, ok := s[i].from(first); ok {
			return firstYear + i*64 + n, true
		}
		first = 0
	}
	return 0, false
}

// month describes a month of one year, as dayRule needs it.
type month struct {
	// start is the month's first day, in days since 1970-01-01.
	start int64
	// length is the number of days.
	length int
	// weekday is the weekday of the first day: 1 is Sunday, 7 is Saturday.
	weekday int
}

// monthOf returns month m of a year; January is 1.
func monthOf(year, m int) month {
	start := civilDay(year, m, 1)
	return month{
		start:   start,
		length:  int(civilDay(year, m+1, 1) - start),
		weekday: int((start%7+11)%7) + 1,
	}
}

// civilDay returns the number of days from 1970-01-01 to a date. m may be 13, which is the next January.
func civilDay(year, m, day int) int64 {
	return time.Date(year, time.Month(m), day, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay
}

// weekdayOf returns the weekday of a day, which may be outside the month.
func (m month) weekdayOf(day int) int { return (m.weekday+day-2+7*7)%7 + 1 }

// first returns the first day of the month with that weekday.
func (m month) first(weekday int) int { return (weekday-m.weekday+7)%7 + 1 }

// all returns the set of all days of the month.
func (m month) all() set { return 1<<(m.length+1) - 1<<1 }

// only returns the set with a single day; an empty set if the month does not have the day.
func (m month) only(day int) set {
	if day < 1 || day > m.length {
		return 0
	}
	return 1 << day
}

// dayForm is the form in which an expression gives its days.
type dayForm int

const (
	everyDay dayForm = iota
	// onDates are days of the month, onDaysOfWeek days of the week.
	onDates
	onDaysOfWeek
	// beforeLast is the day that is a number of days before the last day of the month. nearestBeforeLast is the day
	// from Monday to Friday that is nearest to that day. nearestTo is the day from Monday to Friday that is nearest to
	// a given day of the month.
	beforeLast
	nearestBeforeLast
	nearestTo
	// lastOfWeek is, for example, the last Friday of the month, and nthOfWeek the third one.
	lastOfWeek
	nthOfWeek
)

// dayRule selects the days of a month on which an expression fires.
type dayRule struct {
	form dayForm
	days set // only for onDates and onDaysOfWeek
	// day is the day of the month of nearestTo, or the weekday of lastOfWeek and nthOfWeek. n is the number of days of
	// beforeLast and nearestBeforeLast, or the ordinal of nthOfWeek.
	day, n int
}

// in returns the days of a month on which the expression fires.
func (r dayRule) in(m month) set {
	switch r.form {
	case onDates:
		return r.days & m.all()
	case onDaysOfWeek:
		var days set
		for day := 1; day <= m.length; day++ {
			if r.days.has(m.weekdayOf(day)) {
				days.add(day)
			}
		}
		return days
	case beforeLast:
		return m.only(m.length - r.n)
	case nearestBeforeLast:
		return m.only(m.nearestWeekday(m.length - r.n))
	case nearestTo: // as in Quartz, June 31 is July 1, of which the nearest weekday may be in June
		return m.only(m.nearestWeekday(r.day))
	case lastOfWeek:
		first := m.first(r.day)
		return m.only(first + (m.length-first)/7*7)
	case nthOfWeek:
		return m.only(m.first(r.day) + 7*(r.n-1))
	}
	return m.all()
}

// nearestWeekday returns the day from Monday to Friday that is nearest to a day. For a day of the month, it returns a
// day of the same month. For a day just outside the month, it may return a day inside, as in Quartz.
func (m month) nearestWeekday(day int) int {
	const sunday, saturday = 1, 7
	switch weekday := m.weekdayOf(day); {
	case weekday == saturday && day == 1:
		return day + 2
	case weekday == saturday:
		return day - 1
	case weekday == sunday && day == m.length:
		return day - 2
	case weekday == sunday:
		return day + 1
	}
	return day
}

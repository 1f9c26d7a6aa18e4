package cron

import "strings"

// dayForm is the form in which days are described.
type dayForm int

const (
	everyDay dayForm = iota
	// onDates are days of the month, onDaysOfWeek days of the week.
	onDates
	onDaysOfWeek
	// beforeLast is a number of days before the last day of the month, nearestTo the day from Monday to Friday nearest
	// to a date.
	beforeLast
	nearestBeforeLast
	nearestTo
	// lastOfWeek is, for example, the last Friday of the month, nthOfWeek the third one.
	lastOfWeek
	nthOfWeek
)

// dayPhrase describes the days of a schedule.
type dayPhrase struct {
	form dayForm
	days set
	// day is a day of the month or of the week. n is a number of days, or the ordinal of a weekday.
	day, n int
}

// dayPhraseOf reads the day fields of a valid expression.
func dayPhraseOf(all []token) dayPhrase {
	if all[dayOfMonth].text == "?" {
		return daysOfWeekPhrase(all[dayOfWeek])
	}
	f, t := fields[dayOfMonth], all[dayOfMonth]
	text, nearest := strings.CutSuffix(t.text, "W")
	form := beforeLast
	if nearest {
		form = nearestBeforeLast
	}
	if text == "L" {
		return dayPhrase{form: form}
	}
	if offset, ok := strings.CutPrefix(text, "L-"); ok {
		n, _ := number(offset)
		return dayPhrase{form: form, n: n}
	}
	if nearest {
		n, _, _ := f.value(text)
		return dayPhrase{form: nearestTo, day: n}
	}
	p := dayPhrase{form: onDates}
	_, _ = f.list(t, p.days.add)
	if p.days == allDates {
		p.form = everyDay
	}
	return p
}

func daysOfWeekPhrase(t token) dayPhrase {
	f := fields[dayOfWeek]
	if t.text == "L" {
		return dayPhrase{form: onDaysOfWeek, days: 1 << f.max}
	}
	if day, ok := strings.CutSuffix(t.text, "L"); ok {
		n, _, _ := f.value(day)
		return dayPhrase{form: lastOfWeek, day: n}
	}
	if day, nth, ok := strings.Cut(t.text, "#"); ok {
		weekday, _, _ := f.value(day)
		n, _ := number(nth)
		return dayPhrase{form: nthOfWeek, day: weekday, n: n}
	}
	p := dayPhrase{form: onDaysOfWeek}
	_, _ = f.list(t, p.days.add)
	if p.days == allWeekdays {
		p.form = everyDay
	}
	return p
}

// weekOrder converts a set of days of the week to Monday as 1 and Sunday as 7, the order in which people list them.
func weekOrder(s set) (days set) {
	for _, day := range s.members() {
		days.add((day+5)%7 + 1)
	}
	return days
}

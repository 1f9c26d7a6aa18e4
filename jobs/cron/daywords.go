package cron

import "strings"

// dayForm is how the days are said.
type dayForm int

const (
	everyDay dayForm = iota
	// onDates are some days of the month, onDaysOfWeek some of the week.
	onDates
	onDaysOfWeek
	// beforeLast is a number of days before the last of the month, nearestTo the day from Monday to Friday next to a
	// date.
	beforeLast
	nearestBeforeLast
	nearestTo
	// lastOfWeek is the last Friday of the month, nthOfWeek the third one.
	lastOfWeek
	nthOfWeek
)

// dayPhrase is the days of a schedule.
type dayPhrase struct {
	form dayForm
	days set
	// day is a day of the month or week, n a number of days, or of the week.
	day, n int
}

// dayPhraseOf reads the day fields of an expression that is known to be right.
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

// weekOrder is a set of days of the week with Monday as 1 and Sunday as 7, which is the order that people list them
// in.
func weekOrder(s set) (days set) {
	for _, day := range s.members() {
		days.add((day+5)%7 + 1)
	}
	return days
}

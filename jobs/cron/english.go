package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// english returns the words in the order of an English sentence: times, days, months, years.
func (p phrase) english() string {
	if p.never {
		return "never"
	}
	month := monthsEnglish(p.months, p.anyYear)
	year := p.yearsEnglish()
	if p.days.form == everyDay {
		if p.time.needsNoDay() {
			return joinNonEmpty(", ", p.time.english(), month, year)
		}
		when, separator := joinNonEmpty(", ", month, year), " "
		if strings.HasPrefix(when, "every ") {
			separator = ", "
		}
		return p.time.english() + ", " + joinNonEmpty(separator, "every day", when)
	}
	days := p.days.english()
	if list, ok := strings.CutPrefix(month, "in "); ok && p.days.form != onDaysOfWeek {
		days, month = days+" of "+list, ""
	} else if p.days.form != onDaysOfWeek {
		days += " of the month"
	}
	return joinNonEmpty(", ", p.time.english(), days, month, year)
}

// joinNonEmpty joins the texts that are not empty.
func joinNonEmpty(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), separator)
}

// english returns the words for the times of day.
func (p timePhrase) english() string {
	switch p.form {
	case everyStep:
		return "every " + stepEnglish(p.step)
	case everyStepFrom:
		if p.step < secondsOfMinute {
			return fmt.Sprintf("every %s from second %d of each minute", stepEnglish(p.step), p.first)
		}
		return fmt.Sprintf("every %s from %s of each hour", stepEnglish(p.step), minuteEnglish(p.first))
	case onceAnHour:
		return "every hour at " + minuteEnglish(p.first)
	case onceAMinute:
		return fmt.Sprintf("every minute at second %d", p.first)
	case atTimes:
		return "at " + listed(clocks(p.times))
	case inSpans:
		return "every " + stepEnglish(p.step) + " " + listed(p.spansEnglish())
	}
	return p.fieldsEnglish()
}

// spansEnglish returns the words for each span.
func (p timePhrase) spansEnglish() []string {
	var all []string
	for _, s := range p.spans {
		c := clocksOf(p.spans, s)
		if s.from == s.to {
			all = append(all, "at "+c[0])
			continue
		}
		all = append(all, "from "+c[0]+" to "+c[1])
	}
	return all
}

// fieldsEnglish describes each of the three fields. It omits second 0, and it omits "every hour" after "every minute".
func (p timePhrase) fieldsEnglish() string {
	var parts []string
	allSeconds, allMinutes := p.seconds.whole(59), p.minutes.whole(59)
	switch {
	case allSeconds:
		parts = append(parts, "every second")
	case !p.seconds.single() || p.seconds[0].from != 0:
		parts = append(parts, fieldEnglish("second", p.seconds))
	}
	if allMinutes {
		parts = append(parts, "every minute")
	} else {
		parts = append(parts, fieldEnglish("minute", p.minutes))
	}
	switch {
	case !p.everyHour:
		parts = append(parts, fieldEnglish("hour", p.hours))
	case !allMinutes:
		parts = append(parts, "every hour")
	}
	text := strings.Join(parts, " of ")
	if allSeconds {
		return text
	}
	return "at " + text
}

// fieldEnglish describes the values of one field.
func fieldEnglish(name string, values runs) string {
	if !values.single() {
		name += "s"
	}
	return name + " " + listed(runTexts(values, func(n int) string { return fmt.Sprint(n) }, " to ",
		func(step int) string { return fmt.Sprintf(" in steps of %d", step) }))
}

// stepEnglish describes the time between two fires, in seconds.
func stepEnglish(step int) string {
	n, unit := inUnits(step, "second", "minute", "hour")
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// minuteEnglish describes a time within an hour, in seconds.
func minuteEnglish(offset int) string {
	text := fmt.Sprintf("minute %d", offset/secondsOfMinute)
	if second := offset % secondsOfMinute; second != 0 {
		text += fmt.Sprintf(", second %d,", second)
	}
	return strings.TrimSuffix(text, ",")
}

// english returns the words for the days.
func (r dayRule) english() string {
	switch r.form {
	case onDates:
		return r.datesEnglish()
	case onDaysOfWeek:
		if from, to, ok := inCircle(weekOrder(r.days), 7); ok {
			return "from " + weekdayEnglish(from) + " to " + weekdayEnglish(to)
		}
		var all []string
		for _, day := range weekOrder(r.days).members() {
			all = append(all, weekdayEnglish(day))
		}
		return "on " + listed(all)
	case beforeLast:
		if r.n == 0 {
			return "on the last day"
		}
		return beforeLastEnglish(r.n)
	case nearestBeforeLast:
		if r.n == 0 {
			return "on the last weekday"
		}
		return "on the weekday nearest to " + beforeLastEnglish(r.n)
	case nearestTo:
		return "on the weekday nearest to the " + ordinal(r.day)
	case lastOfWeek:
		return "on the last " + time.Weekday(r.day-1).String()
	case nthOfWeek:
		return "on the " + [...]string{"first", "second", "third", "fourth",
			"fifth"}[r.n-1] + " " + time.Weekday(r.day-1).String()
	}
	return "every day"
}

// datesEnglish describes days of the month.
func (r dayRule) datesEnglish() string {
	dates := runsOf(r.days.members())
	if first := dates[0]; len(dates) == 1 && first.from != first.to {
		text := fmt.Sprintf("from the %s to the %s", ordinal(first.from), ordinal(first.to))
		if first.step > 1 {
			text = fmt.Sprintf("every %d days %s", first.step, text)
		}
		return text
	}
	return "on " + listed(runTexts(dates, func(n int) string { return "the " + ordinal(n) }, " to ", nil))
}

// beforeLastEnglish describes the day that is n days before the last day of a month; n is at least 1.
func beforeLastEnglish(n int) string {
	if n == 1 {
		return "1 day before the last day"
	}
	return fmt.Sprintf("%d days before the last day", n)
}

// weekdayEnglish returns the name of a day of the week; Monday is 1 and Sunday 7.
func weekdayEnglish(day int) string { return time.Weekday(day % 7).String() }

// monthsEnglish returns the words for months; "" for all months. It uses a range over the turn of the year only if
// anyYear is set.
func monthsEnglish(months set, anyYear bool) string {
	if months == allMonths {
		return ""
	}
	if from, to, ok := inCircle(months, 12); ok && (from < to || anyYear) {
		return "from " + time.Month(from).String() + " to " + time.Month(to).String()
	}
	var all []string
	for _, m := range months.members() {
		all = append(all, time.Month(m).String())
	}
	return "in " + listed(all)
}

// yearsEnglish returns the words for the years; "" for all years.
func (p phrase) yearsEnglish() string {
	if p.anyYear {
		return ""
	}
	if y := p.years[0]; len(p.years) == 1 && y.from != y.to {
		switch {
		case y.step > 1:
			return fmt.Sprintf("every %d years from %d to %d", y.step, y.from, y.to)
		case y.to == lastYear:
			return fmt.Sprintf("from %d on", y.from)
		}
		return fmt.Sprintf("from %d to %d", y.from, y.to)
	}
	return "in " + listed(runTexts(p.years, func(n int) string { return fmt.Sprint(n) }, " to ", nil))
}

// ordinal formats a number as 1st, 2nd and so on.
func ordinal(n int) string {
	end := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return fmt.Sprint(n, end)
}

// runTexts returns a text for each run: a value, or two values joined by to, and the step if it is not 1.
func runTexts(values runs, format func(value int) string, to string, formatStep func(step int) string) (all []string) {
	for _, r := range values {
		text := format(r.from)
		if r.to != r.from {
			text += to + format(r.to)
		}
		if r.step > 1 {
			text += formatStep(r.step)
		}
		all = append(all, text)
	}
	return all
}

// listed joins texts with commas, and the last one with the word and.
func listed(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// clocks formats times of day. If one of them has seconds, all are formatted with seconds.
func clocks(times []int) []string {
	withSeconds := false
	for _, t := range times {
		withSeconds = withSeconds || t%secondsOfMinute != 0
	}
	all := make([]string, len(times))
	for i, t := range times {
		all[i] = fmt.Sprintf("%02d:%02d", t/secondsOfHour, t/secondsOfMinute%60)
		if withSeconds {
			all[i] += fmt.Sprintf(":%02d", t%secondsOfMinute)
		}
	}
	return all
}

// clocksOf formats the two times of a span, with seconds if a time of any of the spans has seconds.
func clocksOf(spans []timeSpan, span timeSpan) []string {
	times := []int{span.from, span.to}
	for _, s := range spans {
		times = append(times, s.from, s.to)
	}
	return clocks(times)[:2]
}

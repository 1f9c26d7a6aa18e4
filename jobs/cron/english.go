package cron

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// english orders the parts as an English sentence does: times, days, months, years.
func (p phrase) english() string {
	if p.never {
		return "never"
	}
	month := monthsEnglish(p.months, p.anyYear)
	year := p.yearsEnglish()
	if p.days.form == everyDay {
		if p.time.ofAnyDay() {
			return joined(", ", p.time.english(), month, year)
		}
		when, between := joined(", ", month, year), " "
		if strings.HasPrefix(when, "every ") {
			between = ", "
		}
		return p.time.english() + ", " + joined(between, "every day", when)
	}
	days := p.days.english()
	if list, ok := strings.CutPrefix(month, "in "); ok && p.days.form != onDaysOfWeek {
		days, month = days+" of "+list, ""
	} else if p.days.form != onDaysOfWeek {
		days += " of the month"
	}
	return joined(", ", p.time.english(), days, month, year)
}

// joined joins the texts that are not empty.
func joined(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), between)
}

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
		return "at " + listed(clocks(p.times), " and ")
	case inSpans:
		return "every " + stepEnglish(p.step) + " " + listed(p.spansEnglish(), " and ")
	}
	return p.fieldsEnglish()
}

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

func fieldEnglish(name string, values runs) string {
	if !values.single() {
		name += "s"
	}
	return name + " " + listed(each(values, func(n int) string { return fmt.Sprint(n) }, " to ",
		func(step int) string { return fmt.Sprintf(" in steps of %d", step) }), " and ")
}

// stepEnglish describes the time between two fires.
func stepEnglish(step int) string {
	n, unit := inUnits(step, "second", "minute", "hour")
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// minuteEnglish describes a time within an hour.
func minuteEnglish(at int) string {
	text := fmt.Sprintf("minute %d", at/secondsOfMinute)
	if second := at % secondsOfMinute; second != 0 {
		text += fmt.Sprintf(", second %d,", second)
	}
	return strings.TrimSuffix(text, ",")
}

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
		return "on " + listed(all, " and ")
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

func (r dayRule) datesEnglish() string {
	dates := runsOf(r.days.members())
	if first := dates[0]; len(dates) == 1 && first.from != first.to {
		text := fmt.Sprintf("from the %s to the %s", ordinal(first.from), ordinal(first.to))
		if first.step > 1 {
			text = fmt.Sprintf("every %d days %s", first.step, text)
		}
		return text
	}
	return "on " + listed(each(dates, func(n int) string { return "the " + ordinal(n) }, " to ", nil), " and ")
}

func beforeLastEnglish(n int) string {
	if n == 1 {
		return "1 day before the last day"
	}
	return fmt.Sprintf("%d days before the last day", n)
}

// weekdayEnglish returns the name of a day of the week; Monday is 1 and Sunday 7.
func weekdayEnglish(day int) string { return time.Weekday(day % 7).String() }

// monthsEnglish returns "" for all months. It uses a range over the turn of the year only if anyYear is set.
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
	return "in " + listed(all, " and ")
}

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
	return "in " + listed(each(p.years, func(n int) string { return fmt.Sprint(n) }, " to ", nil), " and ")
}

// ordinal formats 1st, 2nd and so on.
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

// each returns the text of every run: a value, or two values joined by to, and the step if there is one.
func each(values runs, text func(int) string, to string, stepped func(int) string) (all []string) {
	for _, r := range values {
		one := text(r.from)
		if r.to != r.from {
			one += to + text(r.to)
		}
		if r.step > 1 {
			one += stepped(r.step)
		}
		all = append(all, one)
	}
	return all
}

// listed joins texts with commas, and the last one with the word and.
func listed(all []string, and string) string {
	if len(all) == 1 {
		return all[0]
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + and + all[last]
}

// clocks formats times of a day, all with seconds if one of them has seconds.
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

// clocksOf formats the two times of one span in the same way as all spans.
func clocksOf(spans []timeSpan, one timeSpan) []string {
	times := []int{one.from, one.to}
	for _, s := range spans {
		times = append(times, s.from, s.to)
	}
	return clocks(times)[:2]
}

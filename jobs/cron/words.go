package cron

import "slices"

// Language is a language of Words.
type Language int

// The languages of Words.
const (
	English Language = iota
	Chinese
)

// Words describes when s fires, such as "at 03:00, from Monday to Friday". Schedules that fire at different times have
// different words. Times of day are in the schedule's zone, which the words do not name.
func (s *Schedule) Words(in Language) string {
	p := s.phrase()
	if in == Chinese {
		return p.chinese()
	}
	return p.english()
}

// phrase is the structure of a schedule's words. It is built from the sets of values, not from the text of the
// expression. A form leaves out only values that are the same for all schedules of that form, so that different sets
// never have the same words.
type phrase struct {
	time   timePhrase
	days   dayRule
	months set
	years  runs
	// never is set if the schedule fires in no year, anyYear if it fires in all years.
	never, anyYear bool
}

// timeForm is the form in which the times of a day are described.
type timeForm int

const (
	// atTimes lists the times.
	atTimes timeForm = iota
	// everyStep names a step that applies to the whole day, such as "every 5 minutes".
	everyStep
	// everyStepFrom names a step that does not begin at the full hour or minute, such as "every 5 minutes from minute
	// 2 of each hour".
	everyStepFrom
	// onceAnHour names a minute and second of every hour, onceAMinute a second of every minute.
	onceAnHour
	onceAMinute
	// inSpans names a step within some spans of the day.
	inSpans
	// byField describes each field. It is used if no better form is correct.
	byField
)

// timePhrase describes the times of a day. Times and steps are in seconds.
type timePhrase struct {
	form  timeForm
	step  int
	first int // the first time of each hour
	times []int
	spans []timeSpan

	seconds, minutes, hours runs
	everyHour               bool
}

// timeSpan is a span of the day that includes both ends. If to is before from, to is on the next day.
type timeSpan struct{ from, to int }

// Limits of the forms.
const (
	// maxTimes and maxSpans are the maximum lengths of lists. Longer ones use another form.
	maxTimes = 6
	maxSpans = 3
	// minStepTimes is the minimum number of times for which a step is named. runsOf requires one more.
	minStepTimes = 4
)

// phrase returns the structure of the schedule's words.
func (s *Schedule) phrase() phrase {
	p := phrase{days: s.days, months: s.months}
	var years []int
	for y, ok := s.years.from(firstYear); ok; y, ok = s.years.from(y + 1) {
		years = append(years, y)
	}
	p.years, p.never, p.anyYear = runsOf(years), len(years) == 0, len(years) == lastYear-firstYear+1
	p.time = s.timePhrase(p.days.form == everyDay && p.months == allMonths && p.anyYear)
	return p
}

// timePhrase finds the shortest correct form. allDays says that the schedule fires on all days; only then may a span
// cross midnight.
func (s *Schedule) timePhrase(allDays bool) timePhrase {
	p := timePhrase{
		seconds: runsOf(s.seconds.members()), minutes: runsOf(s.minutes.members()), hours: runsOf(s.hours.members()),
		everyHour: s.bothPasses,
	}
	if s.bothPasses {
		p.ofEveryHour(s.inHours([]int{0}), s.minutes == allOfSixty)
		return p
	}
	hours := s.hours.members()
	times := s.inHours(hours)
	switch step := stepOf(times); {
	case step > secondsOfHour && times[0] == 0 && times[len(times)-1]+step == secondsOfDay:
		p.form, p.step = everyStep, step
		return p
	case step > 0 && len(times) >= minStepTimes:
		p.form, p.step, p.spans = inSpans, step, []timeSpan{{times[0], times[len(times)-1]}}
		return p
	}
	spans, step := s.spans(hours, allDays)
	isShorter := len(spans) == 1 && len(times) >= minStepTimes || len(times) > maxTimes
	if step > 0 && isShorter {
		p.form, p.step, p.spans = inSpans, step, spans
		return p
	}
	if len(times) <= maxTimes {
		p.form, p.times = atTimes, times
		return p
	}
	p.form = byField
	return p
}

// ofEveryHour sets the form for a schedule that fires at the same times in all hours. times are those of one hour.
func (p *timePhrase) ofEveryHour(times []int, allMinutes bool) {
	p.step, p.first = stepOf(times), times[0]
	// round says that the step continues from each hour to the next.
	round := p.step > 0 && p.first+secondsOfHour-times[len(times)-1] == p.step
	switch {
	case len(times) == 1 && p.first == 0:
		p.form, p.step = everyStep, secondsOfHour
	case len(times) == 1:
		p.form = onceAnHour
	case round && p.first == 0:
		p.form = everyStep
	case allMinutes && p.seconds.single():
		p.form = onceAMinute
	case round:
		p.form = everyStepFrom
	default:
		p.form = byField
	}
}

// inHours returns all times of the given hours at which s fires, in order.
func (s *Schedule) inHours(hours []int) (times []int) {
	for _, h := range hours {
		for _, m := range s.minutes.members() {
			for _, sec := range s.seconds.members() {
				times = append(times, (h*60+m)*60+sec)
			}
		}
	}
	return times
}

// spans returns a span for each run of consecutive hours, from the first to the last time in them, and the common step
// of all times. The step is 0 if there is none, or if there are too many spans. With mayCrossMidnight, hour 0
// continues a run that ends with hour 23.
func (s *Schedule) spans(hours []int, mayCrossMidnight bool) (spans []timeSpan, step int) {
	all := splitRuns(hours)
	if last := len(all) - 1; mayCrossMidnight && last > 0 && all[0][0] == 0 && all[last][len(all[last])-1] == 23 {
		for _, h := range all[0] {
			all[last] = append(all[last], h+24)
		}
		all = all[1:]
	}
	if len(all) > maxSpans {
		return nil, 0
	}
	for _, run := range all {
		times := s.inHours(run)
		runStep := stepOf(times)
		if len(times) > 1 && (runStep == 0 || step != 0 && runStep != step) {
			return nil, 0
		}
		step = max(step, runStep)
		spans = append(spans, timeSpan{times[0], times[len(times)-1] % secondsOfDay})
	}
	// A single time can't follow "every 5 minutes", so it comes last.
	slices.SortStableFunc(spans, func(a, b timeSpan) int {
		switch aSingle, bSingle := a.from == a.to, b.from == b.to; {
		case aSingle && !bSingle:
			return 1
		case bSingle && !aSingle:
			return -1
		}
		return 0
	})
	return spans, step
}

// needsNoDay reports whether the words for the times need no day, because they name no time of day.
func (p timePhrase) needsNoDay() bool {
	return p.form != atTimes && p.form != inSpans && (p.form != byField || p.everyHour)
}

// inUnits expresses a step in the largest unit that divides it.
func inUnits(step int, second, minute, hour string) (n int, unit string) {
	switch {
	case step%secondsOfHour == 0:
		return step / secondsOfHour, hour
	case step%secondsOfMinute == 0:
		return step / secondsOfMinute, minute
	}
	return step, second
}

package cron

import (
	"strings"
	"time"
)

// Parse parses an expression of Quartz's dialect (see the package comment) for a zone; a nil zone is UTC. The error is
// a sentence that says where the text is wrong, and what would be right. An expression that never fires, or never
// again, is valid: its Next returns the zero time.
func Parse(expr string, zone *time.Location) (*Schedule, error) {
	if zone == nil {
		zone = time.UTC
	}
	s := &Schedule{zone: zone}
	if err := s.read(expr); err != nil {
		return nil, err
	}
	return s, nil
}

// read sets s from the fields of an expression.
func (s *Schedule) read(expr string) error {
	all := tokens(expr)
	if len(all) < years {
		end := token{expr: expr, offset: len(expr)}
		return end.wrong(fields[len(all)].name, "there are six fields, or seven with the year, and here are only %d",
			len(all))
	}
	if len(all) > columns {
		return all[columns].wrong("", "there are at most seven fields, and the seventh is the year")
	}
	s.canonical = strings.Join(strings.Fields(capitals(expr)), " ")

	for column, into := range [...]*set{seconds: &s.seconds, minutes: &s.minutes, hours: &s.hours, months: &s.months} {
		if into == nil {
			continue
		}
		always, err := fields[column].list(all[column], into.add)
		if err != nil {
			return err
		}
		if column == hours {
			s.bothPasses = always
		}
	}
	if err := s.readDays(all); err != nil {
		return err
	}
	year := token{text: "*"}
	if len(all) == columns && all[years].text != "?" {
		year = all[years]
	}
	_, err := fields[years].list(year, s.years.add)
	return err
}

// readDays reads the two day fields. Exactly one of them must be "?", except that both may be "*" if there is a year.
func (s *Schedule) readDays(all []token) error {
	inMonth, inWeek := all[dayOfMonth], all[dayOfWeek]
	var err error
	switch {
	case inMonth.text == "?" && inWeek.text == "?":
		return inWeek.wrong(fields[dayOfWeek].name, "one of day of month and day of week is \"?\", not both")
	case inMonth.text == "?":
		s.days, err = readDayOfWeek(inWeek)
	case inWeek.text == "?":
		s.days, err = readDayOfMonth(inMonth)
	case inMonth.text == "*" && inWeek.text == "*" && len(all) == columns:
		// This is how the original's documents write "every day".
		s.days, err = readDayOfMonth(inMonth)
	default:
		if _, err = readDayOfMonth(inMonth); err != nil {
			return err
		}
		if _, err = readDayOfWeek(inWeek); err != nil {
			return err
		}
		return inWeek.wrong(fields[dayOfWeek].name, "one of day of month and day of week is \"?\"")
	}
	return err
}

// readDayOfMonth reads the field day of month, which is not "?".
func readDayOfMonth(t token) (dayRule, error) {
	f := fields[dayOfMonth]
	text, nearest := strings.CutSuffix(t.text, "W")
	offset, fromLast := strings.CutPrefix(text, "L-")
	isList := strings.Contains(text, ",")
	form := beforeLast
	if nearest {
		form = nearestBeforeLast
	}
	switch {
	case text == "L":
		return dayRule{form: form}, nil
	case fromLast && !isList:
		n, ok := number(offset)
		if !ok || n > 30 {
			return dayRule{}, f.unknown(t)
		}
		return dayRule{form: form, n: n}, nil
	case nearest && !isList:
		n, _, ok := f.value(text)
		if !ok {
			return dayRule{}, f.unknown(t)
		}
		return dayRule{form: nearestTo, day: n}, nil
	}
	return f.listDays(t, onDates, allDates)
}

// readDayOfWeek reads the field day of week, which is not "?".
func readDayOfWeek(t token) (dayRule, error) {
	f := fields[dayOfWeek]
	if t.text == "L" { // Saturday
		return dayRule{form: onDaysOfWeek, days: 1 << f.max}, nil
	}
	if day, ok := strings.CutSuffix(t.text, "L"); ok {
		if n, _, ok := f.value(day); ok {
			return dayRule{form: lastOfWeek, day: n}, nil
		}
	}
	if day, nth, ok := strings.Cut(t.text, "#"); ok && !strings.Contains(t.text, ",") {
		weekday, _, ok := f.value(day)
		n, isNumber := number(nth)
		if !ok || !isNumber || n < 1 || n > 5 {
			return dayRule{}, f.unknown(t)
		}
		return dayRule{form: nthOfWeek, day: weekday, n: n}, nil
	}
	return f.listDays(t, onDaysOfWeek, allWeekdays)
}

// listDays reads a list of days, and returns a rule of the given form, or of everyDay if the list contains all days.
func (f field) listDays(t token, form dayForm, all set) (dayRule, error) {
	r := dayRule{form: form}
	if _, err := f.list(t, r.days.add); err != nil {
		return dayRule{}, err
	}
	if r.days == all {
		r.form = everyDay
	}
	return r, nil
}

package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The columns of an expression, in order.
const (
	seconds = iota
	minutes
	hours
	dayOfMonth
	months
	dayOfWeek
	years
	columns
)

// field describes the values of one column.
type field struct {
	column int
	name   string
	// min and max are the first and last value of "*".
	min, max int
	// names are the names of the values, beginning with that of min; nil if the values have no names.
	names []string
}

var fields = [columns]field{
	{column: seconds, name: "seconds", max: 59},
	{column: minutes, name: "minutes", max: 59},
	{column: hours, name: "hours", max: 23},
	{column: dayOfMonth, name: "day of month", min: 1, max: 31},
	{column: months, name: "month", min: 1, max: 12, names: []string{
		"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
	}},
	{column: dayOfWeek, name: "day of week", min: 1, max: 7, names: []string{
		"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT",
	}},
	{column: years, name: "year", min: firstYear, max: lastYear},
}

// maxYear is the largest accepted year. Nothing fires in years after lastYear, as in those before firstYear.
const maxYear = 9999

// values describes the values of the field, for errors.
func (f field) values() string {
	if f.names == nil {
		return fmt.Sprintf("%d to %d", f.min, f.max)
	}
	return fmt.Sprintf("%d to %d or %s to %s", f.min, f.max, f.names[0], f.names[len(f.names)-1])
}

// number parses a text of digits. It returns maxYear+1 for all numbers above maxYear.
func number(s string) (n int, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > maxYear {
		n = maxYear + 1
	}
	return n, true
}

// value parses one number or name of the field. named reports that it is a name.
func (f field) value(s string) (n int, named, ok bool) {
	for i, name := range f.names {
		if s == name {
			return f.min + i, true, true
		}
	}
	n, ok = number(s)
	if f.column == years {
		// Quartz uses 99 internally for "any", even as a year.
		return n, false, ok && n <= maxYear && n != 99
	}
	return n, false, ok && f.min <= n && n <= f.max
}

// abbreviate returns the short name for the full name of a value, and any other text unchanged. It must not be used
// for the names in a range: Quartz reads a full name there, but drops the range.
func (f field) abbreviate(s string) string {
	for i, name := range f.names {
		full := time.Weekday(i).String()
		if f.column == months {
			full = time.Month(i + 1).String()
		}
		if strings.EqualFold(s, full) {
			return name
		}
	}
	return s
}

// span is one entry of a list: the values from start to end, by step.
type span struct {
	start, end, step int
	// open is set for "*" and "a/n", which name no end and extend to the end of the field.
	open bool
}

// forEach calls add with every value of the span. A range whose end is before its start wraps around. Step 0 means
// only the first value.
func (s span) forEach(f field, add func(n int)) {
	if s.step == 0 {
		add(s.start)
		return
	}
	size := f.max - f.min + 1
	end := s.end
	if end < s.start && !s.open {
		end += size
	}
	for n := s.start; n <= end; n += s.step {
		if n > f.max && f.column != years {
			add(n - size)
		} else {
			add(n)
		}
	}
}

// list calls add with every value of a field's comma-separated entries. always reports that there is a single entry,
// which contains all values and is open, such as "*" but not a range.
func (f field) list(t token, add func(n int)) (always bool, err error) {
	entries := t.entries()
	for _, entry := range entries {
		if entry.text == "" {
			return false, entry.wrong(f.name, "between commas stands a value: %s", f.values())
		}
		s, err := f.span(entry)
		if err != nil {
			return false, err
		}
		s.forEach(f, add)
		always = len(entries) == 1 && s.open && s.start == f.min && s.step == 1
	}
	return always, nil
}

// span parses "*", "a" or "a-b", each with or without a step.
func (f field) span(t token) (span, error) {
	base, stepText, stepped := strings.Cut(t.text, "/")
	s := span{step: 1}
	if stepped {
		n, ok := number(stepText)
		if !ok {
			return s, t.wrong(f.name, "behind \"/\" stands a whole number, the step")
		}
		s.step = n
	}

	if base == "*" || base == "" {
		s.start, s.end, s.open = f.min, f.max, true
		if s.step == 0 {
			s.step = 1
		}
		return s, f.checkStep(t, s.step)
	}

	first, last, ranged := strings.Cut(base, "-")
	if !ranged {
		first = f.abbreviate(first)
	}
	var named bool
	var ok bool
	if s.start, named, ok = f.value(first); !ok {
		return s, f.unknown(t)
	}
	s.end = s.start
	switch {
	case ranged:
		var endNamed bool
		if s.end, endNamed, ok = f.value(last); !ok {
			return s, f.unknown(t)
		}
		if named != endNamed {
			return s, t.wrong(f.name, "a range has two numbers or two names, not one of each")
		}
		if s.end < s.start && f.column == years {
			return s, t.wrong(f.name, "a range of years goes forward")
		}
	case stepped:
		s.end, s.open = f.max, true
	}
	if stepped && named {
		return s, t.wrong(f.name, "a step needs numbers before it, as in %d/2", s.start)
	}
	if stepped && !ranged {
		return s, f.checkStep(t, s.step)
	}
	// As in Quartz, the step of a range is not limited.
	return s, nil
}

// checkStep refuses a step that is too large. It is for steps after "*" or a single value.
func (f field) checkStep(t token, step int) error {
	limit := f.max
	if f.column == years {
		limit = maxYear
	}
	if step > limit {
		return t.wrong(f.name, "the step is at most %d", limit)
	}
	return nil
}

// unknown returns an error for an invalid entry, with the rule that the entry probably breaks.
func (f field) unknown(t token) error {
	text, rule := t.text, "values are "+f.values()
	before := strings.TrimRight(text, "LW")
	_, _, isValue := f.value(before)
	special := before != text && (before == "" || isValue) || strings.HasPrefix(text, "L-")
	switch {
	case strings.Contains(text, "?"):
		rule = "\"?\" stands by itself, and only as day of month, day of week or year"
	case strings.Contains(text, "#") && f.column == dayOfWeek:
		rule = "\"#\" stands in a single entry behind a day of week and before 1 to 5, as in 6#3"
	case strings.Contains(text, "#"):
		rule = "\"#\" is only for the day of week, as in 6#3"
	case special && f.column == dayOfMonth:
		rule = "\"L\" and \"W\" stand in a single entry: L, L-3, LW, L-3W or 15W, " +
			"with 0 to 30 behind \"L-\" and 1 to 31 before \"W\""
	case special && f.column == dayOfWeek:
		rule = "\"L\" stands in a single entry, as in L, 6L or FRIL"
	case special:
		rule = "\"L\" and \"W\" are only for the days"
	case strings.HasPrefix(text, "-"):
		rule = "a value isn't negative: " + rule
	case strings.HasSuffix(text, "-"):
		rule = "a range has an end: " + rule
	case strings.HasPrefix(text, "*"):
		rule = "\"*\" stands by itself or before a step, as in */5"
	}
	return t.wrong(f.name, "%s", rule)
}

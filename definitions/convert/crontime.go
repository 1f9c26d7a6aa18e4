package convert

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// cronField is one of the five columns of a crontab.
type cronField struct {
	name      string
	low, high int
	names     string // three letters each, starting with the name of low
}

var cronFields = [5]cronField{
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day of month", 1, 31, ""},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day of week", 0, 7, "sunmontuewedthufrisat"}, // 7 is Sunday too
}

// values are the numbers that a column allows, as bits.
type values uint64

func (v values) has(n int) bool { return v&(1<<n) != 0 }

// span returns all numbers from one to another, inclusive.
func span(from, to int) (v values) {
	for n := from; n <= to; n++ {
		v |= 1 << n
	}
	return v
}

// parse parses a column. star says whether it begins with '*', which determines how the columns for the day of month
// and day of week are combined.
func (f cronField) parse(text string) (v values, star bool, err error) {
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		one, err := f.parseEntry(part)
		if err != nil {
			return 0, false, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		v |= one
	}
	return v, strings.HasPrefix(text, "*"), nil
}

func (f cronField) parseEntry(text string) (v values, err error) {
	if strings.Contains(text, "~") {
		return 0, errors.New("a random time (~) has no counterpart; choose one")
	}
	base, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return 0, errors.New("a step must be a whole number, 1 or more")
		}
	}
	first, last, ranged := strings.Cut(base, "-")
	from, to := f.low, f.high
	if base != "*" {
		if from, err = f.number(first); err != nil {
			return 0, err
		}
		if to = from; ranged {
			if to, err = f.number(last); err != nil {
				return 0, err
			}
		}
		if stepped && !ranged {
			return 0, fmt.Errorf("a step must follow '*' or a range, as in %d-%d/%d", from, f.high, step)
		}
	}
	if from > to {
		return 0, errors.New("the end of a range must not be before its start; give two ranges, such as 22-23,0-2 for 22-2")
	}
	for n := from; n <= to; n += step {
		v |= 1 << n
	}
	return v, nil
}

func (f cronField) number(text string) (int, error) {
	if at := strings.Index(f.names, text); len(text) == 3 && at >= 0 && at%3 == 0 {
		return f.low + at/3, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.low || n > f.high {
		return 0, fmt.Errorf("%q must be from %d to %d", text, f.low, f.high)
	}
	return n, nil
}

// text formats the column in Quartz's dialect.
func (f cronField) text(v values, word func(n int) string) string {
	if v == span(f.low, f.high) {
		return "*"
	}
	if step := f.step(v); step > 1 && f.names == "" {
		first := bits.TrailingZeros64(uint64(v))
		if first == f.low {
			return "*/" + strconv.Itoa(step)
		}
		return fmt.Sprintf("%d/%d", first, step)
	}
	var parts []string
	for n := f.low; n <= f.high; n++ {
		if !v.has(n) {
			continue
		}
		end := n
		for end < f.high && v.has(end+1) {
			end++
		}
		switch end - n {
		case 0:
			parts = append(parts, word(n))
		case 1:
			parts = append(parts, word(n), word(end))
		default:
			parts = append(parts, word(n)+"-"+word(end))
		}
		n = end
	}
	return strings.Join(parts, ",")
}

// step returns the distance between three or more equidistant numbers that continue to the end of the column,
// otherwise 0.
func (f cronField) step(v values) int {
	if bits.OnesCount64(uint64(v)) < 3 {
		return 0
	}
	first := bits.TrailingZeros64(uint64(v))
	step := bits.TrailingZeros64(uint64(v)>>(first+1)) + 1
	for n := first; n <= f.high; n++ {
		if v.has(n) != ((n-first)%step == 0) {
			return 0
		}
	}
	return step
}

var aliases = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// cronTime says when an entry of a crontab fires.
type cronTime struct {
	minutes, hours, days, months, weekdays values
	// both says that the day must match both columns of days; otherwise one of them is enough.
	both bool
}

func parseCronTime(columns [5]string) (t cronTime, err error) {
	var stars [5]bool
	var failed []error
	for i, into := range []*values{&t.minutes, &t.hours, &t.days, &t.months, &t.weekdays} {
		*into, stars[i], err = cronFields[i].parse(columns[i])
		failed = append(failed, err)
	}
	if t.weekdays.has(7) {
		t.weekdays = t.weekdays&^(1<<7) | 1
	}
	t.both = stars[2] || stars[4]
	return t, errors.Join(failed...)
}

var errBothDays = errors.New("day of month and day of week must both match, which this scheduler's crons cannot express; " +
	"let the job fire on one of them and its command test the other")

// quartz returns the equivalent crons: one, or two if matching the day of month or the day of week is enough. On days
// that match both columns, the two crons fire together.
func (t cronTime) quartz() ([]string, error) {
	anyDay, anyWeekday := t.days == span(1, 31), t.weekdays == span(0, 6)
	switch {
	case anyDay && anyWeekday, !t.both && (anyDay || anyWeekday):
		return []string{t.with("*", "?")}, nil
	case t.both && anyWeekday:
		return []string{t.with(t.dayText(), "?")}, nil
	case t.both && anyDay:
		return []string{t.with("?", t.weekdayText())}, nil
	case t.both:
		for week := range 4 {
			if t.days == span(7*week+1, 7*week+7) && bits.OnesCount64(uint64(t.weekdays)) == 1 {
				return []string{t.with("?", fmt.Sprintf("%s#%d", t.weekdayText(), week+1))}, nil
			}
		}
		return nil, errBothDays
	}
	return []string{t.with(t.dayText(), "?"), t.with("?", t.weekdayText())}, nil
}

func (t cronTime) with(day, weekday string) string {
	return fmt.Sprintf("0 %s %s %s %s %s", cronFields[0].text(t.minutes, strconv.Itoa),
		cronFields[1].text(t.hours, strconv.Itoa),
		day, cronFields[3].text(t.months, strconv.Itoa), weekday)
}

func (t cronTime) dayText() string { return cronFields[2].text(t.days, strconv.Itoa) }

func (t cronTime) weekdayText() string {
	week := cronField{low: 0, high: 6, names: cronFields[4].names}
	return week.text(t.weekdays, func(n int) string { return strings.ToUpper(week.names[3*n : 3*n+3]) })
}

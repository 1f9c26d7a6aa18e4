package convert

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
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

// entryTime is what stands before the command of an entry.
type entryTime struct {
	alias   string // "@daily", or "@every" with its duration
	columns []string
}

// columnLike matches words that are columns of a time rather than commands.
var columnLike = regexp.MustCompile(`(?i)^(?:\*|\?|\d+|sun|mon|tue|wed|thu|fri|sat)(?:[-/,]?(?:\*|\d+|sun|mon|tue|wed|thu|fri|sat))*$`)

// cutTime splits an entry into its time and the rest. Other schedulers than cron have a sixth column, for seconds in
// front or for a year behind, or both.
func cutTime(text string) (t entryTime, rest string) {
	if strings.HasPrefix(text, "@") {
		t.alias, rest = cut(text)
		if strings.EqualFold(t.alias, "@every") {
			duration, command := cut(rest)
			return entryTime{alias: t.alias + " " + duration}, command
		}
		return t, rest
	}
	for rest = text; len(t.columns) < 7; {
		column, command := cut(rest)
		if command == "" && len(t.columns) >= 5 || len(t.columns) >= 5 && !columnLike.MatchString(column) {
			break
		}
		t.columns, rest = append(t.columns, column), command
	}
	if columnLike.MatchString(rest) {
		rest = "" // one more column, and no command
	}
	return t, rest
}

// crons returns the equivalent crons of this scheduler: one or two, or none if there is no such cron; why then says so.
// If there is one, why is what to know about it.
func (t entryTime) crons() (crons []string, why string, err error) {
	switch len(t.columns) {
	case 0:
		return t.aliasCrons()
	case 6:
		return t.sixColumns()
	case 7:
		return withSeconds(t.columns[0], t.columns[1:6], t.columns[6])
	default:
		return withSeconds("0", t.columns, "*")
	}
}

func (t entryTime) aliasCrons() (crons []string, why string, err error) {
	name := strings.ToLower(t.alias)
	if columns, known := aliases[name]; known {
		return withSeconds("0", strings.Fields(columns), "*")
	}
	if name == "@reboot" {
		return nil, "@reboot has no counterpart: jobs are not bound to a machine; if it starts a service, leave that to systemd", nil
	}
	every, err := time.ParseDuration(strings.TrimPrefix(name, "@every "))
	if err != nil {
		seconds, notNumber := strconv.Atoi(strings.TrimPrefix(name, "@")) // FreeBSD: seconds after the end of the last run
		if every, err = time.Duration(seconds)*time.Second, notNumber; err != nil {
			return nil, t.alias + " is not known here", nil
		}
	}
	expression, exact := rateCron(int(every / time.Second))
	if !exact || every%time.Second != 0 {
		return nil, fmt.Sprintf("%s: no cron fires every %s, as it divides neither a minute, an hour nor a day; choose a cron",
			t.alias, every), nil
	}
	return []string{expression}, fmt.Sprintf("%s became cron %q, which counts from the full minute, hour or day", t.alias,
		expression), nil
}

// sixColumns reads columns that are seconds and five, or five and a year, where only one of it is possible.
func (t entryTime) sixColumns() (crons []string, why string, err error) {
	seconds, _, secondsErr := withSeconds(t.columns[0], t.columns[1:], "*")
	years, _, yearErr := withSeconds("0", t.columns[:5], t.columns[5])
	switch {
	case secondsErr != nil && yearErr != nil:
		return nil, "", secondsErr
	case yearErr != nil:
		return seconds, "the first of its six columns was read as seconds", nil
	case secondsErr != nil:
		return years, "the last of its six columns was read as the year", nil
	}
	return nil, fmt.Sprintf("it has six columns; set cron to %q if the first one is for seconds, or to %q if the last one is for years",
		strings.Join(seconds, " and "), strings.Join(years, " and ")), nil
}

var secondField = cronField{"second", 0, 59, ""}

// withSeconds returns the crons for five columns with a column for seconds and one for years. why says it if there is
// no such cron.
func withSeconds(second string, columns []string, year string) (crons []string, why string, err error) {
	t, err := parseCronTime([5]string(columns))
	seconds, _, err2 := secondField.parse(second)
	years, err3 := parseYears(year)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, "", err
	}
	crons, err = t.quartz(secondField.text(seconds, strconv.Itoa), years)
	if errors.Is(err, errBothDays) {
		return nil, err.Error(), nil
	}
	return crons, "", err
}

// parseYears checks a column for years, which Quartz has in the same form. It returns "" for all years.
func parseYears(text string) (string, error) {
	if text == "*" || text == "?" {
		return "", nil
	}
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		first, last, ranged := strings.Cut(span, "-")
		from, err := strconv.Atoi(first)
		if first == "*" {
			from, err = firstYear, nil
		}
		to, err2 := from, error(nil)
		if ranged {
			to, err2 = strconv.Atoi(last)
		}
		by, err3 := 1, error(nil)
		if stepped {
			by, err3 = strconv.Atoi(step)
		}
		if errors.Join(err, err2, err3) != nil || from < firstYear || to < from || to > lastYear || by < 1 {
			return "", fmt.Errorf("year %q is not a list of years from %d to %d", text, firstYear, lastYear)
		}
	}
	return " " + text, nil
}

const firstYear, lastYear = 1970, 2099

// quartz returns the equivalent crons: one, or two if matching the day of month or the day of week is enough. On days
// that match both columns, the two crons fire together.
func (t cronTime) quartz(second, year string) ([]string, error) {
	with := func(day, weekday string) string { return second + " " + t.with(day, weekday) + year }
	anyDay, anyWeekday := t.days == span(1, 31), t.weekdays == span(0, 6)
	switch {
	case anyDay && anyWeekday, !t.both && (anyDay || anyWeekday):
		return []string{with("*", "?")}, nil
	case t.both && anyWeekday:
		return []string{with(t.dayText(), "?")}, nil
	case t.both && anyDay:
		return []string{with("?", t.weekdayText())}, nil
	case t.both:
		for week := range 4 {
			if t.days == span(7*week+1, 7*week+7) && bits.OnesCount64(uint64(t.weekdays)) == 1 {
				return []string{with("?", fmt.Sprintf("%s#%d", t.weekdayText(), week+1))}, nil
			}
		}
		return nil, errBothDays
	}
	return []string{with(t.dayText(), "?"), with("?", t.weekdayText())}, nil
}

func (t cronTime) with(day, weekday string) string {
	return fmt.Sprintf("%s %s %s %s %s", cronFields[0].text(t.minutes, strconv.Itoa),
		cronFields[1].text(t.hours, strconv.Itoa),
		day, cronFields[3].text(t.months, strconv.Itoa), weekday)
}

func (t cronTime) dayText() string { return cronFields[2].text(t.days, strconv.Itoa) }

func (t cronTime) weekdayText() string {
	week := cronField{low: 0, high: 6, names: cronFields[4].names}
	return week.text(t.weekdays, func(n int) string { return strings.ToUpper(week.names[3*n : 3*n+3]) })
}

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
	names     string // the names of the numbers from low on, each of three letters; "" if they have no names
}

var cronFields = [5]cronField{
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day of month", 1, 31, ""},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day of week", 0, 7, "sunmontuewedthufrisat"}, // 7 is Sunday too
}

// values is a set of numbers, as bits.
type values uint64

func (v values) has(n int) bool { return v&(1<<n) != 0 }

// span returns the numbers from from to to, inclusive.
func span(from, to int) (v values) {
	for n := from; n <= to; n++ {
		v |= 1 << n
	}
	return v
}

// parse parses a column. star reports whether it begins with '*'; for the columns of days, this decides how they are
// combined.
func (f cronField) parse(text string) (v values, star bool, err error) {
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		entry, err := f.parseEntry(part)
		if err != nil {
			return 0, false, fmt.Errorf("%s %q: %w", f.name, text, err)
		}
		v |= entry
	}
	return v, strings.HasPrefix(text, "*"), nil
}

// parseEntry parses one entry of a column's list.
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

// number parses a number or the name of one.
func (f cronField) number(text string) (int, error) {
	if i := strings.Index(f.names, text); len(text) == 3 && i >= 0 && i%3 == 0 {
		return f.low + i/3, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.low || n > f.high {
		return 0, fmt.Errorf("%q must be from %d to %d", text, f.low, f.high)
	}
	return n, nil
}

// text formats the column in Quartz's dialect, in which word formats single numbers.
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

// step returns the distance between the numbers if there are at least three, they are equidistant, and they continue
// to the end of the column; otherwise 0.
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

// aliases are names for times, with the columns that they stand for.
var aliases = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// cronTime says when an entry of a crontab fires.
type cronTime struct {
	minutes, hours, days, months, weekdays values
	// bothDays says that a day must match both days and weekdays; otherwise it is enough that it matches one of them.
	bothDays bool
}

// parseCronTime parses the five columns of a time.
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
	t.bothDays = stars[2] || stars[4]
	return t, errors.Join(failed...)
}

var errBothDays = errors.New("day of month and day of week must both match, which this scheduler's crons cannot express; " +
	"let the job fire on one of them and its command test the other")

// entryTime is the time of an entry: an alias, or five to seven columns.
type entryTime struct {
	alias   string // "@daily", or "@every" with its duration
	columns []string
}

// columnLike matches words that are probably columns of a time, not commands.
var columnLike = regexp.MustCompile(
	`(?i)^(?:\*|\?|\d+|sun|mon|tue|wed|thu|fri|sat)(?:[-/,]?(?:\*|\d+|sun|mon|tue|wed|thu|fri|sat))*$`)

// cutTime splits an entry into its time and the rest, which is "" if there is no command. It accepts further columns,
// because other schedulers than cron have a first column for seconds or a last column for the year, or both.
func cutTime(text string) (t entryTime, rest string) {
	if strings.HasPrefix(text, "@") {
		t.alias, rest = cutWord(text)
		if strings.EqualFold(t.alias, "@every") {
			duration, command := cutWord(rest)
			return entryTime{alias: t.alias + " " + duration}, command
		}
		return t, rest
	}
	for rest = text; len(t.columns) < 7; {
		column, command := cutWord(rest)
		isCommand := command == "" || !columnLike.MatchString(column)
		if len(t.columns) >= 5 && isCommand {
			break
		}
		t.columns, rest = append(t.columns, column), command
	}
	if columnLike.MatchString(rest) {
		rest = "" // one more column, and no command
	}
	return t, rest
}

// crons returns the equivalent crons of this scheduler: one or two, or none if the time cannot be expressed. In this
// case note says why; otherwise it says what the user should know about the crons, if anything. The error is for an
// invalid time.
func (t entryTime) crons() (crons []string, note string, err error) {
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

// aliasCrons is crons for an alias.
func (t entryTime) aliasCrons() (crons []string, note string, err error) {
	name := strings.ToLower(t.alias)
	if columns, known := aliases[name]; known {
		return withSeconds("0", strings.Fields(columns), "*")
	}
	if name == "@reboot" {
		return nil, "@reboot has no counterpart: jobs are not bound to a machine; if it starts a service, leave that to systemd", nil
	}
	interval, err := time.ParseDuration(strings.TrimPrefix(name, "@every "))
	if err != nil {
		// In FreeBSD, a number is the seconds after the end of the last run.
		seconds, err := strconv.Atoi(strings.TrimPrefix(name, "@"))
		if err != nil {
			return nil, t.alias + " is not known here", nil
		}
		interval = time.Duration(seconds) * time.Second
	}
	expression, exact := rateCron(int(interval / time.Second))
	if !exact || interval%time.Second != 0 {
		return nil, fmt.Sprintf("%s: no cron fires every %s, as it divides neither a minute, an hour nor a day; choose a cron",
			t.alias, interval), nil
	}
	return []string{expression}, fmt.Sprintf("%s became cron %q, which counts from the full minute, hour or day",
		t.alias, expression), nil
}

// sixColumns is crons for six columns. The first one may be for seconds, or the last one for the year. If both are
// possible, it returns no crons, and the note shows both.
func (t entryTime) sixColumns() (crons []string, note string, err error) {
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

// secondField is the column for seconds of other schedulers.
var secondField = cronField{"second", 0, 59, ""}

// withSeconds is crons for five columns with a column for seconds and one for years.
func withSeconds(second string, columns []string, year string) (crons []string, note string, err error) {
	t, timeErr := parseCronTime([5]string(columns))
	seconds, _, secondErr := secondField.parse(second)
	years, yearErr := parseYears(year)
	if err := errors.Join(timeErr, secondErr, yearErr); err != nil {
		return nil, "", err
	}
	crons, err = t.quartz(secondField.text(seconds, strconv.Itoa), years)
	if errors.Is(err, errBothDays) {
		return nil, err.Error(), nil
	}
	return crons, "", err
}

// parseYears checks a column for years, and returns it as the end of a cron, because Quartz has the same form. It
// returns "" for all years.
func parseYears(text string) (string, error) {
	if text == "*" || text == "?" {
		return "", nil
	}
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		first, last, ranged := strings.Cut(span, "-")
		from, fromErr := strconv.Atoi(first)
		if first == "*" {
			from, fromErr = firstYear, nil
		}
		to, toErr := from, error(nil)
		if ranged {
			to, toErr = strconv.Atoi(last)
		}
		interval, stepErr := 1, error(nil)
		if stepped {
			interval, stepErr = strconv.Atoi(step)
		}
		areNumbers := errors.Join(fromErr, toErr, stepErr) == nil
		if !areNumbers || from < firstYear || to < from || to > lastYear || interval < 1 {
			return "", fmt.Errorf("year %q is not a list of years from %d to %d", text, firstYear, lastYear)
		}
	}
	return " " + text, nil
}

// firstYear and lastYear are the limits of a year in a crontab.
const firstYear, lastYear = 1970, 2099

// quartz returns the equivalent crons: two if it is enough that a day matches the day of month or the day of week,
// else one. On days that match both, the two crons fire at the same times.
func (t cronTime) quartz(second, year string) ([]string, error) {
	expression := func(day, weekday string) string { return second + " " + t.text(day, weekday) + year }
	anyDay, anyWeekday := t.days == span(1, 31), t.weekdays == span(0, 6)
	switch {
	case anyDay && anyWeekday, !t.bothDays && (anyDay || anyWeekday):
		return []string{expression("*", "?")}, nil
	case t.bothDays && anyWeekday:
		return []string{expression(t.dayText(), "?")}, nil
	case t.bothDays && anyDay:
		return []string{expression("?", t.weekdayText())}, nil
	case t.bothDays:
		for week := range 4 {
			if t.days == span(7*week+1, 7*week+7) && bits.OnesCount64(uint64(t.weekdays)) == 1 {
				return []string{expression("?", fmt.Sprintf("%s#%d", t.weekdayText(), week+1))}, nil
			}
		}
		return nil, errBothDays
	}
	return []string{expression(t.dayText(), "?"), expression("?", t.weekdayText())}, nil
}

// text returns five columns of a cron, of which those of days are given.
func (t cronTime) text(day, weekday string) string {
	minutes, hours := cronFields[0].text(t.minutes, strconv.Itoa), cronFields[1].text(t.hours, strconv.Itoa)
	months := cronFields[3].text(t.months, strconv.Itoa)
	return fmt.Sprintf("%s %s %s %s %s", minutes, hours, day, months, weekday)
}

func (t cronTime) dayText() string { return cronFields[2].text(t.days, strconv.Itoa) }

func (t cronTime) weekdayText() string {
	week := cronField{low: 0, high: 6, names: cronFields[4].names}
	return week.text(t.weekdays, func(n int) string { return strings.ToUpper(week.names[3*n : 3*n+3]) })
}

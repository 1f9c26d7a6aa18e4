package cron_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	const (
		lone     = `"?" stands by itself, and only as day of month, day of week or year`
		nth      = `"#" stands in a single entry behind a day of week and before 1 to 5, as in 6#3`
		onlyWeek = `"#" is only for the day of week, as in 6#3`
		onlyDays = `"L" and "W" are only for the days`
		inMonth  = `"L" and "W" stand in a single entry: L, L-3, LW, L-3W or 15W, with 0 to 30 behind "L-" and 1 to 31 before "W"`
		inWeek   = `"L" stands in a single entry, as in L, 6L or FRIL`
		star     = `"*" stands by itself or before a step, as in */5`
		step     = `behind "/" stands a whole number, the step`
		toMinute = "values are 0 to 59"
		toHour   = "values are 0 to 23"
		toDay    = "values are 1 to 31"
		toMonth  = "values are 1 to 12 or JAN to DEC"
		toWeek   = "values are 1 to 7 or SUN to SAT"
		toYear   = "values are 1970 to 2126"
		oneDay   = `one of day of month and day of week is "?"`
		tooMany  = "there are at most seven fields, and the seventh is the year"
	)
	tests := []struct {
		expr  string
		pos   int
		field string
		token string
		rule  string
	}{
		// Too few and too many fields.
		{"", 1, "seconds", "", "there are six fields, or seven with the year, and here are only 0"},
		{" \t ", 4, "seconds", "", "there are six fields, or seven with the year, and here are only 0"},
		{"0 0 12 * *", 11, "day of week", "", "there are six fields, or seven with the year, and here are only 5"},
		{"0 0 12 * * ? 2026 x", 19, "", "x", tooMany},

		// Values that are out of range, negative, or not values.
		{"60 * * * * ?", 1, "seconds", "60", toMinute},
		{"0 60 * * * ?", 3, "minutes", "60", toMinute},
		{"0 1,61,2 * * * ?", 5, "minutes", "61", toMinute},
		{"0 0 24 * * ?", 5, "hours", "24", toHour},
		{"0 0 0 0 * ?", 7, "day of month", "0", toDay},
		{"0 0 0 32 * ?", 7, "day of month", "32", toDay},
		{"0 0 0 1 13 ?", 9, "month", "13", toMonth},
		{"0 0 0 ? * 0", 11, "day of week", "0", toWeek},
		{"0 0 0 ? * 8", 11, "day of week", "8", toWeek},
		{"0 0 0 ? * 99", 11, "day of week", "99", toWeek},
		{"0 0 0 1 1 ? 99", 13, "year", "99", toYear},
		{"0 0 0 1 1 ? 10000", 13, "year", "10000", toYear},
		{"99999999999999999999 0 0 1 1 ?", 1, "seconds", "99999999999999999999", toMinute},
		{"-1 0 0 1 1 ?", 1, "seconds", "-1", "a value isn't negative: " + toMinute},
		{"0 0 abc 1 1 ?", 5, "hours", "abc", toHour},
		{"5x 0 0 1 1 ?", 1, "seconds", "5x", toMinute},
		{"０ 0 0 1 1 ?", 1, "seconds", "０", toMinute},
		{"0 ü,5 0 1 1 ?", 3, "minutes", "ü", toMinute},
		{"ü 0 0 1 1 ? 1 1", 15, "", "1", tooMany},
		{"1.5 0 0 1 1 ?", 1, "seconds", "1.5", toMinute},

		// Names.
		{"0 0 0 1 Jam ?", 9, "month", "Jam", toMonth},
		{"0 0 0 1 MON ?", 9, "month", "MON", toMonth},
		{"0 0 0 ? * JUL", 11, "day of week", "JUL", toWeek},
		{"0 JAN 0 1 1 ?", 3, "minutes", "JAN", toMinute},
		{"0 0 0 1 JANUARY-MARCH ?", 9, "month", "JANUARY-MARCH", toMonth},
		{"0 0 0 ? * MON-6", 11, "day of week", "MON-6", "a range has two numbers or two names, not one of each"},
		{"0 0 0 ? * 2-FRI", 11, "day of week", "2-FRI", "a range has two numbers or two names, not one of each"},

		// Lists and ranges.
		{"1,,2 0 0 1 1 ?", 3, "seconds", "", "between commas stands a value: 0 to 59"},
		{",1 0 0 1 1 ?", 1, "seconds", "", "between commas stands a value: 0 to 59"},
		{"0 1, 0 1 1 ?", 5, "minutes", "", "between commas stands a value: 0 to 59"},
		{"1- 0 0 1 1 ?", 1, "seconds", "1-", "a range has an end: " + toMinute},
		{"1-2-3 0 0 1 1 ?", 1, "seconds", "1-2-3", toMinute},
		{"5-60 0 0 1 1 ?", 1, "seconds", "5-60", toMinute},
		{"0 0 0 1 1 ? 2030-2026", 13, "year", "2030-2026", "a range of years goes forward"},
		{"** 0 0 1 1 ?", 1, "seconds", "**", star},
		{"0 *5 0 1 1 ?", 3, "minutes", "*5", star},
		{"0 0 *-5 1 1 ?", 5, "hours", "*-5", star},

		// Steps.
		{"*/ 0 0 1 1 ?", 1, "seconds", "*/", step},
		{"/ 0 0 1 1 ?", 1, "seconds", "/", step},
		{"0 5/x 0 1 1 ?", 3, "minutes", "5/x", step},
		{"0 5/-1 0 1 1 ?", 3, "minutes", "5/-1", step},
		{"0 5/5/5 0 1 1 ?", 3, "minutes", "5/5/5", step},
		{"0/60 0 0 1 1 ?", 1, "seconds", "0/60", "the step is at most 59"},
		{"*/60 0 0 1 1 ?", 1, "seconds", "*/60", "the step is at most 59"},
		{"0 0 1/24 1 1 ?", 5, "hours", "1/24", "the step is at most 23"},
		{"0 0 0 1/32 1 ?", 7, "day of month", "1/32", "the step is at most 31"},
		{"0 0 0 1 1/13 ?", 9, "month", "1/13", "the step is at most 12"},
		{"0 0 0 ? * */8", 11, "day of week", "*/8", "the step is at most 7"},
		{"0 0 0 ? * MON-FRI/2", 11, "day of week", "MON-FRI/2", "a step needs numbers before it, as in 2/2"},

		// Both day fields, and "?" in other fields.
		{"0 0 0 ? * ?", 11, "day of week", "?", `one of day of month and day of week is "?", not both`},
		{"0 0 0 * * *", 11, "day of week", "*", oneDay},
		{"0 0 0 1 * MON", 11, "day of week", "MON", oneDay},
		{"0 0 0 1 * * 2026", 11, "day of week", "*", oneDay},
		{"0 0 0 L * * 2026", 11, "day of week", "*", oneDay},
		{"? 0 0 1 1 ?", 1, "seconds", "?", lone},
		{"0 0 0 1 ? ?", 9, "month", "?", lone},
		{"0 0 0 ?,3 * *", 7, "day of month", "?", lone},
		{"0 0 0 1 1 ??", 11, "day of week", "??", lone},
		{"0 0 0 1 1 ? ?,2026", 13, "year", "?", lone},

		// L, W and #.
		{"L 0 0 1 1 ?", 1, "seconds", "L", onlyDays},
		{"0 0 5W 1 1 ?", 5, "hours", "5W", onlyDays},
		{"0 0 0 1 L-3 ?", 9, "month", "L-3", onlyDays},
		{"0 0 0 1 1 ? LW", 13, "year", "LW", onlyDays},
		{"2#6 0 0 1 1 ?", 1, "seconds", "2#6", onlyWeek},
		{"0 0 0 2#1 1 ?", 7, "day of month", "2#1", onlyWeek},
		{"0 0 0 L-31 1 ?", 7, "day of month", "L-31", inMonth},
		{"0 0 0 L- 1 ?", 7, "day of month", "L-", inMonth},
		{"0 0 0 L-W 1 ?", 7, "day of month", "L-W", inMonth},
		{"0 0 0 W 1 ?", 7, "day of month", "W", inMonth},
		{"0 0 0 0W 1 ?", 7, "day of month", "0W", toDay},
		{"0 0 0 1W,15W 1 ?", 7, "day of month", "1W", inMonth},
		{"0 0 0 1,15W 1 ?", 9, "day of month", "15W", inMonth},
		{"0 0 0 1,L 1 ?", 9, "day of month", "L", inMonth},
		{"0 0 0 5L 1 ?", 7, "day of month", "5L", inMonth},
		{"0 0 0 ? * 8L", 11, "day of week", "8L", toWeek},
		{"0 0 0 ? * 5W", 11, "day of week", "5W", inWeek},
		{"0 0 0 ? * L-3", 11, "day of week", "L-3", inWeek},
		{"0 0 0 ? * MON,FRIL", 15, "day of week", "FRIL", inWeek},
		{"0 0 0 ? * 6#0", 11, "day of week", "6#0", nth},
		{"0 0 0 ? * 6#6", 11, "day of week", "6#6", nth},
		{"0 0 0 ? * 8#2", 11, "day of week", "8#2", nth},
		{"0 0 0 ? * #3", 11, "day of week", "#3", nth},
		{"0 0 0 ? * MON#", 11, "day of week", "MON#", nth},
		{"0 0 0 ? * 2#1,6#3", 11, "day of week", "2#1", nth},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			t.Parallel()
			s, err := cron.Parse(tt.expr, nil)
			what := strconv.Quote(tt.token) + " is wrong"
			if tt.token == "" {
				what = "something is missing"
			}
			if tt.field != "" {
				what += " in " + tt.field
			}
			want := fmt.Sprintf("cron %q, column %d: %s: %s", tt.expr, tt.pos, what, tt.rule)
			if err == nil || err.Error() != want {
				t.Errorf("Parse(%q) = %v, %v, want %s", tt.expr, s, err, want)
			}
		})
	}
}

func TestSyntaxErrorIsASentence(t *testing.T) {
	t.Parallel()
	tests := []struct{ expr, want string }{
		{"0 61 * * * ?", `cron "0 61 * * * ?", column 3: "61" is wrong in minutes: values are 0 to 59`},
		{"0 0 12 * *", `cron "0 0 12 * *", column 11: something is missing in day of week: there are six fields, or seven with the year, and here are only 5`},
		{"0 0 0 1 1 ? 2026 now", `cron "0 0 0 1 1 ? 2026 now", column 18: "now" is wrong: there are at most seven fields, and the seventh is the year`},
	}
	for _, tt := range tests {
		_, err := cron.Parse(tt.expr, nil)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q): %v, want %s", tt.expr, err, tt.want)
		}
	}
	_, err := cron.Parse(strings.Repeat("9", 100_000), nil)
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long expression gives an error that is long too, or none: %.200v", err)
	}
}

func TestBlanksAndNoZone(t *testing.T) {
	t.Parallel()
	s, err := cron.Parse("\t0  0 12 ? jan  mon-FRI\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	if got := s.Next(begin); got != begin.Add(12*time.Hour) {
		t.Errorf("after %v it fires at %v", begin, got)
	}
}

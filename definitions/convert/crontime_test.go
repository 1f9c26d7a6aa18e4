package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/jobs"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// reference reports when an entry of a crontab fires by the rules of crontab(5). Minute, hour and month must match. Of
// the two columns of days, both must match if one of them begins with '*'; otherwise one must. onDay ignores the time
// of day.
func reference(entry string) (fires, onDay func(at time.Time) bool) {
	columns := strings.Fields(entry)
	var allowed [5][60]bool
	for column, top := range []int{59, 23, 31, 12, 7} {
		for value := range top + 1 {
			allowed[column][value] = matches(columns[column], value, top)
		}
	}
	onDay = func(at time.Time) bool {
		day := allowed[2][at.Day()]
		weekday := allowed[4][at.Weekday()] || at.Weekday() == time.Sunday && allowed[4][7]
		if columns[2][0] == '*' || columns[4][0] == '*' {
			return allowed[3][at.Month()] && day && weekday
		}
		return allowed[3][at.Month()] && (day || weekday)
	}
	return func(at time.Time) bool { return allowed[0][at.Minute()] && allowed[1][at.Hour()] && onDay(at) }, onDay
}

// The names of the days of the week and of the months.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
var months = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// matches reports whether a column, whose highest value is top, contains a value.
func matches(column string, value, top int) bool {
	low := map[int]int{31: 1, 12: 1}[top]
	for _, part := range strings.Split(strings.ToLower(column), ",") {
		names := weekdays
		if top == 12 {
			names = months
		}
		number := func(text string) (n int) {
			if n = slices.Index(names, text); n < 0 || top != 12 && top != 7 {
				_, _ = fmt.Sscan(text, &n)
			}
			return n
		}
		span, stepText, _ := strings.Cut(part, "/")
		step := max(1, number(stepText))
		if stepText == "" {
			step = 1
		}
		from, to := low, top
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			from = number(first)
			if to = from; ranged {
				to = number(last)
			}
		}
		if value >= from && value <= to && (value-from)%step == 0 {
			return true
		}
	}
	return false
}

// crontab converts a crontab.
func crontab(t *testing.T, text string, options convert.Options) *convert.Result {
	t.Helper()
	options.Now = now
	return convert.Crontab("crontab", []byte(text), options)
}

// jobFires returns the next fires of all jobs together, without duplicates.
func jobFires(t *testing.T, all []*definitions.Definition, n int) (at []time.Time) {
	t.Helper()
	for _, d := range all {
		schedule, err := jobs.Schedule(d.Job, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		for next, i := schedule.Next(now), 0; i < n && !next.IsZero(); next, i = schedule.Next(next), i+1 {
			at = append(at, next)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	at = slices.CompactFunc(at, time.Time.Equal)
	return at[:min(n, len(at))]
}

func TestTheNext50FiresAreThoseOfTheCrontab(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"* * * * *", "*/15 * * * *", "*/7 * * * *", "*/50 3 * * *", "0 3 * * *", "30 2 1 * *", "0 0 1 1 *",
		"5-59/10 */6 * * *",
		"0 9-17 * * 1-5", "0 9 * * mon-fri", "0 0 * * 0", "0 0 * * 7", "0 0 * * sun", "0 0 * * 5-7", "0 0 * * 6,7",
		"0 0 * * 0-7", "0 0 * * */2", "0 0 * * */7",
		"0 0 1,15 * *", "0 0 */10 * *", "0 0 31 * *", "0 12 * jan,JUL *", "0 12 * */3 *", "0 12 * 2-4 Tue",
		"0 0 13 * 5", "0 0 1,15 * mon", "0 4 1-7 * 1", "0 4 8-14 6 2,4", "0 4 1-31 * 1", "0 4 10 * 0-6",
		"0 4 1-7 * */7", "0 0 */1 * 3", "1,2,3,10-12,58 0,23 * * *", "0-59/20 22-23,0-2 * * *",
	} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			result := crontab(t, entry+" run\n", convert.Options{})
			var want []time.Time
			fires, onDay := reference(entry)
			for at := now.Add(time.Minute); len(want) < 50 && at.Year() < 2200; at = at.Add(time.Minute) {
				if fires(at) {
					want = append(want, at)
				} else if !onDay(at) {
					at = at.Truncate(24 * time.Hour).Add(24*time.Hour - time.Minute)
				}
			}
			got := jobFires(t, result.Definitions, 50)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%s became\n%s\nwhich fires\n%v\nwant\n%v", entry, yaml(t, result), got, want)
			}
		})
	}
}

func TestTimesThatNoCronCanExpressAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"0 0 */2 * 1 run":    "day of month and day of week must both match",
		"0 0 1-5 * */2 run":  "day of month and day of week must both match",
		"0~30 * * * * run":   "a random time (~)",
		"0 22-2 * * * run":   "22-23,0-2",
		"5/15 * * * * run":   "a step must follow '*' or a range, as in 5-59/15",
		"60 * * * * run":     `"60" must be from 0 to 59`,
		"* * 0 * * run":      `"0" must be from 1 to 31`,
		"*/0 * * * * run":    "a step must be a whole number, 1 or more",
		"* * * * funday run": `"funday" must be from 0 to 7`,
		"* * * *":            "not an entry of a crontab",
		"@reboot run":        "jobs are not bound to a machine",
		"@fortnightly run":   "@fortnightly is not known here",
	} {
		result := crontab(t, "\n"+entry+"\n", convert.Options{})
		found := slices.ContainsFunc(result.Remarks, func(r convert.Remark) bool {
			return r.ToDo && r.At.Line == 2 && strings.Contains(r.Message, want)
		})
		if !found {
			t.Errorf("%s: %q is not in %v", entry, want, result.Remarks)
		}
		for _, d := range result.Definitions {
			if d.Job.Cron != "" {
				t.Errorf("%s became %q", entry, d.Job.Cron)
			}
		}
	}
}

// yaml returns the definitions of a result.
func yaml(t *testing.T, result *convert.Result) string {
	t.Helper()
	text, err := definitions.Encode(result.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

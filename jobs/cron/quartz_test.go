package cron_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Reasons why an expression that Quartz accepts is refused.
const (
	emptyEntry  = "an empty list entry, which Quartz ignores"
	eighthField = "more than seven fields, although Quartz ignores those behind the seventh"
	mark99      = "99, which is Quartz's internal code for a star"
	afterStar   = "garbage after a star, which Quartz ignores"
)

// refusedHere contains the expressions of the table that Parse refuses although Quartz accepts them, with the reasons.
var refusedHere = map[string]string{
	"0 31/28 4 LW * ? 1,,2":         emptyEntry,
	"1,,2 14-47 5,7 * 4 ?":          emptyEntry,
	"0 * 4,7,11 1,,2 OCT-nov ?":     emptyEntry,
	"0 37-57 2,6,9 1,,2 * ?":        emptyEntry,
	"0 0 * L-3W 1,,2 ?":             emptyEntry,
	"0 26 6,17 LW * ? * *":          eighthField,
	"0 0 4,9 ? OCT-mar 6#4 * *":     eighthField,
	"*/10 44-11 6 ? * TUE-THU * *":  eighthField,
	"0 22 0/8 ? * TUE#4 * *":        eighthField,
	"0 39 1/7 LW 2 ? * *":           eighthField,
	"0 0 1 L 7 ? * *":               eighthField,
	"0 0 17/10 L SEP-NOV ? * * *":   eighthField,
	"0 6/11 * ? * SAT-WED * *":      eighthField,
	"50-7 55 16-23 ? * 7L * *":      eighthField,
	"0 40 0-2 ? OCT-MAY 5L * *":     eighthField,
	"0 * 12,23 ? * 6#1 * *":         eighthField,
	"0 5,13,17,19 22 ? * 5/1 * *":   eighthField,
	"*/3 16,38,49 99 ? * *":         mark99,
	"0 15,38 8/10 ? APR,NOV,FEB 99": mark99,
	"99 0 * 25W * ? 2026":           mark99,
	"42-42/4 */24 99 ? * FRI,TUE":   mark99,
	"0 99 */9 ? * MON-SUN":          mark99,
	"21-35 0 ** LW may ? 2026/2":    afterStar,
	"0 ** 7-7/4 26W SEP-DEC ?":      afterStar,
	"*/8 11 11,15,17 ? DEC-AUG *-5": afterStar,
	"0 0 *-5 * * ?":                 afterStar,
	"0 */26 15-20 *-5 2-6 ?":        afterStar,
}

// quartzRow is one row of the table of Quartz's results.
type quartzRow struct {
	line      int
	expr      string
	zone      *time.Location
	from      int64
	want      []string // the fires, or "ERROR" and Quartz's message
	wantError bool
}

// quartzTable reads testdata/fires.tsv.
func quartzTable(t testing.TB) []quartzRow {
	t.Helper()
	text, err := os.ReadFile("testdata/fires.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []quartzRow
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(line, "\t")
		from, err := strconv.ParseInt(c[2], 10, 64)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		rows = append(rows, quartzRow{
			line: i + 1, expr: c[0], zone: zone(t, c[1]), from: from, want: c[3:], wantError: c[3] == "ERROR",
		})
	}
	return rows
}

// zone returns the zone with an IANA name.
func zone(t interface {
	Helper()
	Fatal(...any)
}, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestFiresMatchQuartz(t *testing.T) {
	t.Parallel()
	rows := quartzTable(t)
	if len(rows) != 1479 {
		t.Errorf("the table has %d rows, want 1479", len(rows))
	}
	refusedRows := make(map[string]bool)
	for _, row := range rows {
		t.Run(fmt.Sprintf("line %d", row.line), func(t *testing.T) {
			s, err := cron.Parse(row.expr, row.zone)
			reason, refused := refusedHere[row.expr]
			switch {
			case refused && err == nil:
				t.Fatalf("Parse(%q) accepts %s", row.expr, reason)
			case refused:
				refusedRows[row.expr] = true
				return
			case row.wantError && err == nil:
				t.Fatalf("Parse(%q) returns no error, Quartz returns %s", row.expr, row.want[1])
			case row.wantError:
				return
			case err != nil:
				t.Fatalf("Parse: %v", err)
			}
			var got []string
			for at := time.Unix(row.from, 0); len(got) < len(row.want); {
				if at = s.Next(at); at.IsZero() {
					got = append(got, "never")
					break
				}
				got = append(got, strconv.FormatInt(at.Unix(), 10))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%q in %s after %d (-Quartz +ours):\n%s", row.expr, row.zone, row.from, diff)
			}
		})
	}
	if len(refusedRows) != len(refusedHere) {
		t.Errorf("the table contains %d expressions of refusedHere, want all %d", len(refusedRows), len(refusedHere))
	}
}

// TestOriginalsDocuments checks expressions that ElasticJob-Cloud's documents contain, although its Quartz refuses
// them.
func TestOriginalsDocuments(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		expr string
		want time.Duration
	}{
		{"0/5 * * * * * ?", 5 * time.Second},
		{"0/5 * * * * ? ?", 5 * time.Second},
		{"0 0 12 ? * MON ?", 36 * time.Hour},
		{"0 0 12 * * * 2026", 12 * time.Hour},
		{"0 0 12 * * * *", 12 * time.Hour},
	}
	for _, tt := range tests {
		s, err := cron.Parse(tt.expr, nil)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.expr, err)
			continue
		}
		if got := s.Next(start); !got.Equal(start.Add(tt.want)) {
			t.Errorf("%q fires at %v, want %v", tt.expr, got, start.Add(tt.want))
		}
	}
}

// TestQuartzEdgeCases checks further results of Quartz, which were found by comparing random expressions.
func TestQuartzEdgeCases(t *testing.T) {
	t.Parallel()
	tests := []struct {
		expr, zone, after string
		want              []string
	}{
		// June has no 31st: Quartz goes on to July 1, and if that is a Saturday, the nearest weekday is June 30.
		{"0 0 0 31W 6 ?", "UTC", "2024-01-01T00:00:00Z", []string{"2028-06-30T00:00:00Z"}},
		{"0 0 0 ? 2 WED#5", "UTC", "2027-01-01T00:00:00Z", []string{"2040-02-29T00:00:00Z"}},
		{"0 0 0 ? JANUARY MONDAY", "UTC", "2027-01-01T00:00:00Z", []string{"2027-01-04T00:00:00Z"}},
		{"0 0 0 ? * L", "UTC", "2026-11-21T00:00:00Z", []string{"2026-11-28T00:00:00Z"}},
		{"/20 * * * * ?", "UTC", "2026-11-21T00:00:00Z", []string{"2026-11-21T00:00:20Z", "2026-11-21T00:00:40Z"}},
		{"0 0 0 1 5/0 ?", "UTC", "2026-11-21T00:00:00Z", []string{"2027-05-01T00:00:00Z", "2028-05-01T00:00:00Z"}},
		{"0 0 0 29 2 ? *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"0 0 0 1 1 ?", "UTC", "2124-12-31T00:00:00Z", []string{"2125-01-01T00:00:00Z", "2126-01-01T00:00:00Z", "never", "never"}},
		{"0 0 0 1 1 ? 3000", "UTC", "2024-12-31T00:00:00Z", []string{"never"}},
		{"0 0 0 1 1 ? 1", "UTC", "2024-12-31T00:00:00Z", []string{"never"}},
	}
	for _, tt := range tests {
		s, err := cron.Parse(tt.expr, zone(t, tt.zone))
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.expr, err)
			continue
		}
		if diff := cmp.Diff(tt.want, nextOf(t, s, tt.after, len(tt.want))); diff != "" {
			t.Errorf("%q after %s (-want +got):\n%s", tt.expr, tt.after, diff)
		}
	}
}

// nextOf returns the next n fires after a moment as texts; "never" after the last fire.
func nextOf(t testing.TB, s *cron.Schedule, after string, n int) []string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	var fires []string
	for len(fires) < n {
		next := s.Next(at)
		if next.IsZero() {
			fires = append(fires, "never")
			continue
		}
		at = next
		fires = append(fires, next.Format(time.RFC3339))
	}
	return fires
}

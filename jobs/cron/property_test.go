package cron_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// zoneNames are zones with usual clock changes, unusual ones, and none.
var zoneNames = []string{
	"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Cairo",
	"America/Sao_Paulo", "America/St_Johns", "Asia/Kolkata", "Antarctica/Troll", "Africa/Casablanca",
}

// simpleExpr is an expression whose fires a test can compute directly: every field is a list of values, or "*".
type simpleExpr struct {
	values [6]map[int]bool // by field; nil for "*" and "?"; the last field is the day of week
	text   string
}

// drawSimple returns a random expression.
func drawSimple(t *rapid.T) simpleExpr {
	limits := [6][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {1, 7}}
	var p simpleExpr
	var texts [6]string
	for i, limit := range limits {
		texts[i] = "*"
		if rapid.Bool().Draw(t, "any") {
			continue
		}
		p.values[i] = make(map[int]bool)
		var entries []string
		for _, n := range rapid.SliceOfN(rapid.IntRange(limit[0], limit[1]), 1, 4).Draw(t, "values") {
			p.values[i][n] = true
			entries = append(entries, fmt.Sprint(n))
		}
		texts[i] = strings.Join(entries, ",")
	}
	unused := rapid.SampledFrom([]int{3, 5}).Draw(t, "unused day field")
	texts[unused], p.values[unused] = "?", nil
	p.text = strings.Join(texts[:], " ")
	return p
}

// matches reports whether the wall time of at matches.
func (p simpleExpr) matches(at time.Time) bool {
	fields := [6]int{at.Second(), at.Minute(), at.Hour(), at.Day(), int(at.Month()), int(at.Weekday()) + 1}
	for i, values := range p.values {
		if values != nil && !values[fields[i]] {
			return false
		}
	}
	return true
}

// fires reports whether p fires at an instant. Its wall time must match. If the clock shows this wall time twice, p
// fires the second time only, unless its hours are "*": then it fires both times.
func (p simpleExpr) fires(at time.Time) bool {
	if !p.matches(at) {
		return false
	}
	if p.values[2] == nil {
		return true
	}
	const stamp = "2006-01-02 15:04:05"
	for _, back := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
		if at.Add(back).Format(stamp) == at.Format(stamp) {
			return false
		}
	}
	return true
}

// drawInstant returns a random instant, in many cases near a clock change of 2026.
func drawInstant(t *rapid.T, z *time.Location) time.Time {
	changes := rapid.SampledFrom([]int64{
		1772953200, 1793509200, 1774746000, 1792890000, 1776981600, 1793307600, 1775314800, 1791129600,
	})
	at := rapid.OneOf(
		rapid.Int64Range(1_000_000_000, 2_500_000_000),
		rapid.Custom(func(t *rapid.T) int64 {
			return changes.Draw(t, "change") + rapid.Int64Range(-9000, 9000).Draw(t, "offset")
		}),
	).Draw(t, "at")
	return time.Unix(at, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).In(z)
}

func mustParse(t interface{ Fatal(...any) }, expr string, z *time.Location) *cron.Schedule {
	s, err := cron.Parse(expr, z)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNextIsTheFirstInstantAfter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zoneNames).Draw(t, "zone"))
		p := drawSimple(t)
		s := mustParse(t, p.text, z)
		after := drawInstant(t, z)
		next := s.Next(after)
		end := after.Add(2 * time.Hour)
		for at := after.Truncate(time.Second).Add(time.Second); at.Before(end); at = at.Add(time.Second) {
			if p.fires(at) != at.Equal(next) {
				t.Fatalf("%q in %s after %v: Next is %v; fires(%v) = %t", p.text, z, after, next, at, p.fires(at))
			}
			if at.Equal(next) {
				break
			}
		}
		if next.IsZero() {
			return
		}
		if !next.After(after) || next.Nanosecond() != 0 || next.Location() != z {
			t.Fatalf("Next(%v) = %v, want a whole second after it in %s", after, next, z)
		}
		if !p.fires(next) {
			t.Fatalf("%q in %s doesn't fire at %v", p.text, z, next)
		}
		// Next returns the same instant for every moment between after and it.
		between := rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(t, "between")
		if again := s.Next(after.Add(time.Duration(between))); !again.Equal(next) {
			t.Fatalf("Next(%v) = %v, but a moment later it is %v", after, next, again)
		}
	})
}

func TestLatestMatchesNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(zoneNames).Draw(t, "zone"))
		expr := drawSimple(t).text
		s := mustParse(t, expr, z)
		after := drawInstant(t, z)
		until := after.Add(time.Duration(rapid.Int64Range(-1, int64(36*time.Hour)).Draw(t, "window")))
		if rapid.Bool().Draw(t, "long") {
			// About fifty fires, whatever the distance between them.
			until = after
			for range 50 {
				if next := s.Next(until); !next.IsZero() {
					until = next
				}
			}
		}
		n := rapid.IntRange(0, 60).Draw(t, "n")
		want := []time.Time{}
		for at := s.Next(after); !at.IsZero() && !at.After(until); at = s.Next(at) {
			want = append(want, at)
			if len(want) > n {
				want = want[1:]
			}
		}
		got := append([]time.Time{}, s.Latest(after, until, n)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: Latest(%v, %v, %d) (-want +got):\n%s", expr, after, until, n, diff)
		}
	})
}

func TestLatestDoesntWalkTheRange(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, time.December, 31, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name, expr  string
		first, last string
	}{
		{"every second", "* * * * * ?", "2026-12-30T23:58:21Z", "2026-12-31T00:00:00Z"},
		{"every second of one day long ago", "* * * 1 1 ? 1971", "1971-01-01T23:58:20Z", "1971-01-01T23:59:59Z"},
		{"every second of one day each year", "* * * 1 1 ?", "2026-01-01T23:58:20Z", "2026-01-01T23:59:59Z"},
	}
	for _, tt := range tests {
		s := mustParse(t, tt.expr, nil)
		got := s.Latest(time.Time{}, until, 100) // walking over 1.8e9 seconds would take minutes
		if len(got) != 100 || got[0].Format(time.RFC3339) != tt.first || got[99].Format(time.RFC3339) != tt.last {
			t.Errorf("%s: Latest gives %d from %v to %v, want 100 from %s to %s", tt.name, len(got), got[0],
				got[len(got)-1], tt.first, tt.last)
		}
	}
	if got := mustParse(t, "0 0 0 30 2 ?", nil).Latest(time.Time{}, until, 100); len(got) != 0 {
		t.Errorf("Latest of the 30th of February = %v, want none", got)
	}
}

func TestFarMoments(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "0 0 0 1 1 ?", nil)
	for _, early := range []time.Time{{}, time.Unix(-1<<60, 0), time.Date(1969, 12, 31, 23, 59, 59, 999, time.UTC)} {
		if got, want := s.Next(early), time.Unix(0, 0); !got.Equal(want) {
			t.Errorf("Next(%v) = %v, want %v", early, got, want)
		}
	}
	for _, late := range []time.Time{time.Unix(1<<60, 0), time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if got := s.Next(late); !got.IsZero() {
			t.Errorf("Next(%v) = %v, want never", late, got)
		}
	}
}

// TestEndOfFutureLeapYear checks the last days of a leap year in the future, for which Go returns wrong zone bounds.
func TestEndOfFutureLeapYear(t *testing.T) {
	t.Parallel()
	for _, name := range zoneNames {
		in := zone(t, name)
		s := mustParse(t, "0 0 2 * * ?", in)
		at := time.Date(2040, 12, 29, 12, 0, 0, 0, in)
		for day := 30; day <= 31; day++ {
			at = s.Next(at)
			if want := time.Date(2040, 12, day, 2, 0, 0, 0, in); !at.Equal(want) {
				t.Errorf("in %s it fires at %v, want %v", name, at, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, expr := range []string{
		"0/5 * * * * * ?", "0 0 12 ? * MON-FRI 2026-2030", "0 0 0 L-3W FEB ?", "1,,2 0 0 31W * ?", "0 30 2 ? 3 1#2",
		"*/7 22-3/0 5-2 29 2 ? */4", "0 0 0 ? * 6L", "\x00\xff", "0 0 0 30 2 ?",
	} {
		f.Add(expr, int64(1_793_509_200), uint8(1))
	}
	f.Fuzz(func(t *testing.T, expr string, seconds int64, zoneIndex uint8) {
		s, err := cron.Parse(expr, zone(t, zoneNames[int(zoneIndex)%len(zoneNames)]))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error has no text")
			}
			return
		}
		after := time.Unix(seconds, 0)
		next := s.Next(after)
		if !next.IsZero() && !next.After(after) {
			t.Errorf("%q: Next(%v) = %v, which isn't after it", expr, after, next)
		}
	})
}

package cron_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// perMinute returns the result of PerMinute as a list.
func perMinute(s *cron.Schedule, from time.Time, n int) []int {
	counts := make([]int, n)
	s.PerMinute(from, n, func(minute, fires int) { counts[minute] += fires })
	return counts
}

// byNext counts the same fires with repeated calls of Next.
func byNext(s *cron.Schedule, from time.Time, n int) []int {
	counts := make([]int, n)
	from = time.Unix(from.Unix()/60*60, 0)
	for at := s.Next(from.Add(-time.Second)); !at.IsZero(); at = s.Next(at) {
		minute := int(at.Sub(from) / time.Minute)
		if minute >= n {
			break
		}
		counts[minute]++
	}
	return counts
}

func TestPerMinuteMatchesNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := zone(t, rapid.SampledFrom(append([]string{"Africa/Monrovia", "Asia/Pyongyang"}, zoneNames...)).Draw(t,
			"zone"))
		expr := drawSimple(t).text
		s := mustParse(t, expr, z)
		from := drawInstant(t, z)
		n := rapid.IntRange(1, 200).Draw(t, "minutes")
		if got, want := perMinute(s, from, n), byNext(s, from, n); !slices.Equal(got, want) {
			t.Fatalf("%q in %s from %v:\n got %v\nwant %v", expr, z, from, got, want)
		}
	})
}

// TestPerMinuteAtOddTimes checks hours that clock changes skip or repeat, a zone whose minutes do not begin with those
// of UTC, and the first and last year.
func TestPerMinuteAtOddTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr, zone, from string
		fires            int // in three hours
	}{
		{"0 30 2 * * ?", "Europe/Berlin", "2026-03-29T00:00:00Z", 0},     // there is no 02:30
		{"0 30 2 * * ?", "Europe/Berlin", "2026-10-25T00:00:00Z", 1},     // there are two: only the second counts
		{"0 30 * * * ?", "Europe/Berlin", "2026-10-25T00:00:00Z", 3},     // every hour: both count
		{"0/10 * 2 * * ?", "Europe/Berlin", "2026-10-25T00:00:00Z", 360}, // only the second of the two hours
		// 00:44:30 behind UTC until 1972-01-07T00:44:30Z
		{"0 0/5 * * * ?", "Africa/Monrovia", "1972-01-06T23:00:00Z", 35},
		{"* * * * * ?", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", 10800}, // half an hour is repeated
		{"0 0 * * * ?", "UTC", "1969-12-31T22:00:00Z", 1},
		{"0 0 * * * ?", "UTC", "2126-12-31T22:00:00Z", 2},
	} {
		s := mustParse(t, c.expr, zone(t, c.zone))
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		counts, sum := perMinute(s, from, 180), 0
		for _, n := range counts {
			sum += n
		}
		if want := byNext(s, from, 180); sum != c.fires || !slices.Equal(counts, want) {
			t.Errorf("%s in %s: %d fires, not %d\n got %v\nwant %v", c.expr, c.zone, sum, c.fires, counts, want)
		}
	}
}

func BenchmarkPerMinute(b *testing.B) {
	for _, expr := range []string{"* * * * * ?", "0 0/5 * * * ?", "0 30 12 * * ?", "0 0 3 1 1 ?"} {
		b.Run(expr, func(b *testing.B) {
			s, sum := mustParse(b, expr, zone(b, "America/New_York")), 0
			b.ReportAllocs()
			for b.Loop() {
				s.PerMinute(noon, 60, func(_, fires int) { sum += fires })
			}
		})
	}
}
